package pages

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"sluice/flow"
	"sluice/static"
)

// Store is what the pages keep and show. Each noun's file says what it needs.
// What is missing is an Error of CodeNotFound.
type Store interface {
	sessionStore
	formStore
	peopleStore
	builderStore
	apiStore
	inspectorStore
	credentialMaker
	versionStore
	runningStore
	flowStore
	runStore
	runListStore
	usageStore
	limitStore
	credentialStore
	deliveryStore
	webhookStore
	keyStore
}

// Runner starts, follows and ends runs.
type Runner interface {
	StartRun(ctx context.Context, s flow.Start) (flow.Started, error)
	Rerun(ctx context.Context, r flow.Rerun) (flow.Started, error)
	CancelRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	WatchRun(runID string) flow.Watch
	WatchText(runID string) flow.Watch
	// TrialInputs are the inputs that a trial of the draft asks for; problems of
	// the draft are the Fields of an error.
	TrialInputs(ctx context.Context, ws, flowID, until string) ([]flow.Input, error)
}

// Config says what the pages stand on. Store, Library, Runner, Kinds, Models and
// Providers are required.
type Config struct {
	Store     Store
	Library   *flow.Library
	Runner    Runner
	Kinds     *flow.Registry
	Files     flow.FileStore
	MaxFile   int64 // bytes of an uploaded file; zero means the store's own limit
	Models    Models
	Providers Providers
	Links     *flow.FileLinks
	Version   string // of the program, for the footer; empty hides it
	PublicURL string // scheme and host under which people reach the pages
	Starters  []Starter
	// API answers a request to the HTTP API as if it bore the key, which need not
	// be in the store.
	API func(key *flow.Key, w http.ResponseWriter, r *http.Request)

	// Exposed says that others than this machine reach the server: then nothing
	// but set-up is answered before there is an owner.
	Exposed bool
	SignUp  bool // strangers may make an account with a workspace of their own

	// How long a session lasts without use and in total; default 7 and 30 days.
	SessionIdle, SessionMax time.Duration

	// Welcome gives a workspace its first flows, unless it had some, and tells
	// which to show first; empty when there is none.
	Welcome func(ctx context.Context, ws string) (flowID string, err error)

	Log *slog.Logger     // default discards
	Now func() time.Time // default time.Now
}

// Server is the dashboard. It is an http.Handler; Drain ends its streams.
type Server struct {
	Config
	echo     *echo.Echo
	routes   []route
	sessions *scs.SessionManager
	hasher   *hasher
	owned    atomic.Bool // somebody has an account
	ids      flow.IDs
	handler  http.Handler // echo behind what every request passes
	name     string       // of this instance, among those that tell each other things
	editing  editing
	streams  streams
	docs     func() (*shelf, error) // read when it is first asked for
	seals    *flow.FormSeals        // of what visitors of forms are given
	senders  *senders               // how often each sent a form of late
	patience time.Duration          // for the next piece of a form with files
	drained  chan struct{}
	drain    sync.Once
}

// New makes the dashboard.
func New(cfg Config) *Server {
	s := &Server{Config: cfg.withDefaults(), name: rand.Text(), drained: make(chan struct{}), hasher: newHasher(), senders: newSenders(), patience: 30 * time.Second}
	s.seals = s.newSeals()
	s.ids = flow.IDs{Now: s.Now, Random: rand.Reader}
	s.sessions = s.newSessions()
	s.docs = sync.OnceValues(s.newShelf)
	s.routes = s.table()
	s.echo = echo.New()
	s.echo.HTTPErrorHandler = s.fail
	for i := range s.routes {
		r := &s.routes[i]
		s.echo.Add(r.method, r.path, s.serve(r))
		if r.hasHead() {
			s.echo.Add(http.MethodHead, r.path, s.serve(r))
		}
	}
	s.handler = crossOrigin().Handler(s.sessions.LoadAndSave(s.guard(s.echo)))
	return s
}

func (c Config) withDefaults() Config {
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.SessionIdle = cmp.Or(c.SessionIdle, 7*24*time.Hour)
	c.SessionMax = cmp.Or(c.SessionMax, 30*24*time.Hour)
	return c
}

// Drain ends what streams. It may be called more than once.
func (s *Server) Drain() { s.drain.Do(func() { close(s.drained) }) }

// ServeHTTP answers assets at once: they are the same for everybody. All else
// passes the guard against forged requests and the session.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(r.URL.Path, static.Prefix) {
		static.Handler().ServeHTTP(w, r)
		return
	}
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	s.handler.ServeHTTP(&sealableWriter{ResponseWriter: w}, withPeer(r))
}

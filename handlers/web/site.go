package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"sluice/db"
	"sluice/flow"
	"sluice/handlers/passwords"
	"sluice/static"
)

// Runner starts, follows and ends runs. It is an interface so that tests of the
// API use a fake, and so that no handler depends on the job queue.
type Runner interface {
	// StartRun returns once the run is on disk; with Start.Wait it holds up to
	// that long and returns the run as it then is.
	StartRun(ctx context.Context, s flow.Start) (flow.Started, error)
	// Rerun starts a run of the document that another run ran.
	Rerun(ctx context.Context, r flow.Rerun) (flow.Started, error)
	// CancelRun cancels a run and returns it once it has ended.
	CancelRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	// WatchRun notifies of each write of a run.
	WatchRun(runID string) flow.Watch
	// WatchText is WatchRun with the text of the run's steps.
	WatchText(runID string) flow.Watch
}

// Config is what all rooms of the dashboard share. Store and Kinds are required.
type Config struct {
	Store     *db.Store
	Kinds     *flow.Registry
	Version   string // of the program, for the footer; empty hides it
	PublicURL string // scheme and host under which people reach the pages

	// Exposed tells that other machines reach the server: then nothing but set-up
	// is served before there is an owner.
	Exposed bool
	SignUp  bool // anybody may create an account with a workspace of their own

	// How long a session lasts without use and in total; default 7 and 30 days.
	SessionIdle, SessionMax time.Duration

	Log *slog.Logger     // default discards
	Now func() time.Time // default time.Now
}

// Site is the dashboard: the routes of its rooms and what their handlers share.
// Drain ends its streams.
type Site struct {
	Config
	Sessions *scs.SessionManager
	Hasher   *passwords.Hasher
	Streams  Streams
	IDs      flow.IDs
	Patience time.Duration // how long a form with files may pause
	Drained  chan struct{} // closed by Drain

	echo   *echo.Echo
	routes []Route
	drain  sync.Once
}

// New returns a site without routes.
func New(cfg Config) *Site {
	s := &Site{Config: cfg.withDefaults(), Drained: make(chan struct{}), Hasher: passwords.NewHasher(), Patience: 30 * time.Second, echo: echo.New()}
	s.IDs = flow.IDs{Now: s.Now, Random: rand.Reader}
	s.Sessions = s.newSessions()
	s.echo.HTTPErrorHandler = s.Fail
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

// Drain ends event streams. It may be called more than once.
func (s *Site) Drain() { s.drain.Do(func() { close(s.Drained) }) }

// Mount adds the routes of a room. Call it before serving.
func (s *Site) Mount(routes []Route) {
	for i := range routes {
		r := &routes[i]
		s.echo.Add(r.Method, r.Path, s.serve(r))
		if r.hasHead() {
			s.echo.Add(http.MethodHead, r.Path, s.serve(r))
		}
	}
	s.routes = append(s.routes, routes...)
}

// NewContext returns the context of a request that does not go through the
// router.
func (s *Site) NewContext(r *http.Request, w http.ResponseWriter) echo.Context {
	return s.echo.NewContext(r, w)
}

// Routes returns everything that was mounted.
func (s *Site) Routes() []Route { return s.routes }

// Handler serves the mounted routes and the assets. The guard runs inside the
// session, before the router; it may answer in its place.
func (s *Site) Handler(guard func(http.Handler) http.Handler) http.Handler {
	pages := crossOrigin().Handler(s.Sessions.LoadAndSave(guard(s.echo)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		if strings.HasPrefix(r.URL.Path, static.Prefix) { // the same for everybody, so without a session
			static.Handler().ServeHTTP(w, r)
			return
		}
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		pages.ServeHTTP(&sealableWriter{ResponseWriter: w}, withPeer(r))
	})
}

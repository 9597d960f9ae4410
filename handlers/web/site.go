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
	"sluice/flow/inflight"
	"sluice/handlers/passwords"
	"sluice/static"
)

// Runner starts, follows and ends runs. It is an interface so that tests of the
// API use a fake, and so that no handler depends on the job queue.
type Runner interface {
	// StartRun returns once the run is stored. With Start.Wait it waits that long
	// for the end of the run, and returns its current state.
	StartRun(ctx context.Context, s flow.Start) (flow.Started, error)
	// Rerun starts a run of the document that another run ran.
	Rerun(ctx context.Context, r flow.Rerun) (flow.Started, error)
	// CancelRun cancels a run and returns it once it has ended.
	CancelRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
	// SignalStop tells the worker of a run that a stop was requested; see flow.Run.StopRequested.
	SignalStop(runID flow.RunID)
	// FindSubStep returns a sub-step of a run with everything that its executor gets.
	FindSubStep(ctx context.Context, run *flow.Run, path string) (*flow.SubStep, error)
	// WatchRun notifies of each write to a run.
	WatchRun(runID flow.RunID) flow.Watch
	// WatchText is WatchRun with the output text of running steps.
	WatchText(runID flow.RunID) flow.Watch
}

// Config is shared by all packages of the dashboard. Store and Kinds are required.
type Config struct {
	Store     *db.Store
	Kinds     *flow.Registry
	Version   string // of Sluice, for the footer; "" hides it
	PublicURL string // scheme and host of the pages, without a trailing slash

	// Exposed reports that other machines can reach the server. Then only the
	// setup page is served until there is an owner.
	Exposed bool
	SignUp  bool // whether anyone may create an account with a workspace

	// PasswordsOff ends sessions that were started with a password, except those of the first owner.
	PasswordsOff bool
	// RequireFactor is the least role that needs a second factor besides a password; "" requires none.
	RequireFactor flow.MemberRole

	Mail Mailer // nil if the operator set no mail server

	// How long a session lasts without use and in total; default 7 and 30 days.
	SessionIdle, SessionMax time.Duration

	Memory *inflight.Budget // of large forms; nil is unlimited

	Log *slog.Logger     // default discards
	Now func() time.Time // default time.Now
}

// Mailer sends a text to one person. After a temporary failure it tries again in the background.
type Mailer interface {
	// Send returns the error of the first attempt, in words for the person who caused the mail.
	Send(ctx context.Context, to, subject, text string) error
	// Queue makes the first attempt in the background too. It reports false if too many wait.
	Queue(to, subject, text string) bool
}

// Site is the dashboard: the routes of all its packages and what their handlers share.
type Site struct {
	Config
	Sessions *scs.SessionManager
	Hasher   *passwords.Hasher
	Streams  Streams
	IDs      flow.IDs
	Patience time.Duration // maximum pause while a form with files is sent
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

// withDefaults sets defaults for empty fields and removes slashes at the end of PublicURL, to
// which paths are appended.
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

// Mount adds the routes of a package. Call it before serving.
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

// Routes returns all mounted routes.
func (s *Site) Routes() []Route { return s.routes }

// Handler returns a handler for the mounted routes and the assets. The guard wraps the
// router, inside the session; it may respond itself, as before setup.
func (s *Site) Handler(guard func(http.Handler) http.Handler) http.Handler {
	pages := crossOrigin().Handler(s.Sessions.LoadAndSave(guard(s.echo)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		if strings.HasPrefix(r.URL.Path, static.Prefix) { // public, so no session is loaded
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

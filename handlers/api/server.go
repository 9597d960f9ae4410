package api

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"sluice/flow"
)

// Runner starts, follows and ends runs.
type Runner interface {
	// StartRun returns once the run is on disk; with Start.Wait it holds up to
	// that long and returns the run as it then is.
	StartRun(ctx context.Context, s flow.Start) (flow.Started, error)
	Rerun(ctx context.Context, r flow.Rerun) (flow.Started, error)
	CancelRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	// AwaitRun returns the run when it has ended or the limit is over.
	AwaitRun(ctx context.Context, ws, flowID, runID string, limit time.Duration) (*flow.Run, error)
	// WatchRun follows a run: that it was written.
	WatchRun(runID string) flow.Watch
	// WatchText follows a run and the text of its steps.
	WatchText(runID string) flow.Watch
	// Draining tells that this process shuts down.
	Draining() bool
	// Accepts tells whether runs and files are taken; one process among several
	// takes them while it shuts down.
	Accepts() bool
}

// Store reads what the API shows. What is missing is an Error of CodeNotFound.
type Store interface {
	// Ping returns an error within a second if the database does not answer.
	Ping(ctx context.Context) error

	FindKeyByHash(ctx context.Context, hash string) (*flow.Key, error)
	RecentKey(ctx context.Context, hash string) (*flow.Key, error)
	TouchKeys(ctx context.Context, uses []flow.KeyUse) error

	FindFlow(ctx context.Context, ws, id string) (*flow.Flow, error)
	ListFlows(ctx context.Context, ws, afterID string, limit int) ([]flow.Flow, error)
	// ListFlowHeads lists all flows, archived ones too, without their drafts.
	ListFlowHeads(ctx context.Context, ws string) ([]flow.Flow, error)
	FindVersion(ctx context.Context, ws, flowID string, n int64) (*flow.Version, error)
	FindDocument(ctx context.Context, ws, hash string) ([]byte, error)

	FindRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	FindSteps(ctx context.Context, ws, runID string) ([]flow.Step, error)
	ListRuns(ctx context.Context, f flow.RunFilter) ([]flow.Run, error)
	EraseRun(ctx context.Context, ws, flowID, runID string, code flow.Code) error

	ListDeliveries(ctx context.Context, ws, flowID, beforeID string, limit int) ([]flow.DeliveryRecord, error)
	DeliveryFlow(ctx context.Context, ws, deliveryID string) (flowID string, err error)
	Redeliver(ctx context.Context, ws, deliveryID string) (*flow.Delivery, error)
	WebhookSecret(ctx context.Context, o flow.WebhookOwner) (flow.WebhookSecret, error)
	KeyWebhookSecret(ctx context.Context, ws, keyID string) (string, error)

	// TakeRate counts over all instances; nil where there is one.
	TakeRate(ctx context.Context, name string, perMinute int64) (*flow.Rate, error)
	// Broadcast reaches Hear of every other instance.
	Broadcast(ctx context.Context, topic, text string) error
}

// Config says what the server stands on. Store, Files, Links, Runner and Kinds
// are needed.
type Config struct {
	Store     Store
	Files     Files
	Links     *flow.FileLinks // to files, for whoever has no key
	Runner    Runner
	Kinds     *flow.Registry
	PublicURL string // scheme and host that answers name; never taken from the Host header
	Version   string // of this build, shown in the OpenAPI document
	// LocalToken lets the command line on the same machine in: a request
	// bearing it acts as a key of the default workspace with every scope.
	LocalToken string
	// AwaitsOwner tells that there is no owner yet, where that closes the API:
	// to a network that could be quicker than they are. Nil where it does not.
	AwaitsOwner func(ctx context.Context) (bool, error)
	MaxInFlight int // requests worked on at once; default 4096
	MaxHeld     int // requests that wait or stream at once; default 8192

	MaxFile int64 // bytes that an upload may have, if Files takes as many; default 512 MiB

	Log *slog.Logger     // default discards
	Now func() time.Time // default time.Now
}

// Server is the HTTP API. It is an http.Handler; Close ends it.
type Server struct {
	Config
	echo     *echo.Echo
	routes   []route
	gate     gate
	rates    *rates
	refusals *rates // of invalid keys, by address
	uses     *uses
	outlines *outlines
	agents   *agents
	api      []byte // the OpenAPI document of the whole API

	streamKeys streamKeys

	invalidKeys int64 // requests with an invalid key that an address may send a minute

	arrival time.Duration // until a body must be complete
	ping    time.Duration // between comments that keep an event stream open
	pace    time.Duration // least time between two looks at a streamed run
	breath  time.Duration // least time between two sendings of text on a stream
	recheck time.Duration // age up to which a look at a key is good enough for sending text
	leaving atomic.Bool
	drained chan struct{}
	drain   sync.Once
}

// New makes a server and starts recording the use of keys.
func New(cfg Config) *Server {
	s := &Server{
		Config: cfg.withDefaults(), drained: make(chan struct{}),
		arrival: 30 * time.Second, ping: 15 * time.Second, pace: 20 * time.Millisecond, breath: 40 * time.Millisecond, recheck: time.Second,
	}
	s.gate = gate{maxBusy: int64(s.MaxInFlight), maxHeld: int64(s.MaxHeld)}
	s.rates, s.refusals, s.invalidKeys = newRates(), newRates(), invalidKeysPerMinute
	s.uses = newUses(s.Store, s.Log)
	s.streamKeys.read = s.Store.FindKeyByHash
	s.outlines = newOutlines(s.Store, s.Kinds)
	s.agents = s.newAgents()
	s.routes = s.table()
	s.api = s.apiDocument()
	s.echo = echo.New()
	s.echo.HTTPErrorHandler = s.fail
	for i := range s.routes {
		r := &s.routes[i]
		s.echo.Add(r.method, r.path, s.serve(r))
	}
	return s
}

func (c Config) withDefaults() Config {
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 4096
	}
	if c.MaxHeld == 0 {
		c.MaxHeld = 8192
	}
	if c.MaxFile == 0 {
		c.MaxFile = 512 << 20
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Leave makes /readyz report that this process shuts down. Everything else is
// served as before.
func (s *Server) Leave() { s.leaving.Store(true) }

// Drain lets go of everything that waits: event streams end, held answers go
// out with the run as it is. It may be called more than once.
func (s *Server) Drain() { s.drain.Do(func() { close(s.drained) }) }

// Close drains and records the last use of keys.
func (s *Server) Close() error {
	s.Drain()
	return s.uses.close()
}

// RunEnded is what the per-run webhook tells: the type of the message and the
// run object as its data. It is kept with the delivery, so its files have no
// links yet.
func (s *Server) RunEnded(run *flow.Run) (typ string, data []byte) {
	o := newRunObject(s.PublicURL, run)
	return "run." + string(run.State), flow.EncodeJSON(&o)
}

// ServeHTTP routes a request that came through a web.Edge.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

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
	"sluice/flow/fairness"
	"sluice/flow/filelinks"
	"sluice/flow/inflight"
	"sluice/flow/knowledge"
	"sluice/flow/library"
	"sluice/handlers/api/uses"
	"sluice/handlers/web"
)

// Runner starts, follows and ends runs.
type Runner interface {
	web.Runner
	// AwaitRun waits until the run has ended or the limit has passed, and returns
	// its current state.
	AwaitRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID, limit time.Duration) (*flow.Run, error)
	// ChildUsage returns the usage of the child runs of a run so far.
	ChildUsage(ctx context.Context, run *flow.Run) (flow.Usage, error)
	// Draining reports whether this process is shutting down.
	Draining() bool
	// Accepts reports whether new runs and files are accepted. A process that
	// shuts down still accepts them if another instance can execute them.
	Accepts() bool
}

// Store is the part of *db.Store that the API uses. Tests have one in memory. Methods
// return an Error with CodeNotFound for what does not exist.
type Store interface {
	// Ping returns an error within a second if the database does not answer.
	Ping(ctx context.Context) error
	library.DeliveryStore
	library.RunStore
	library.WebhookSecretStore

	FindKeyByHash(ctx context.Context, hash string) (*flow.Key, error)
	RecentKey(ctx context.Context, hash string) (*flow.Key, error)
	TouchKeys(ctx context.Context, uses []flow.KeyUse) error

	SetConcurrency(ctx context.Context, step flow.CallingStep, concurrency int, paused bool) (*flow.Children, error)
	FindChildren(ctx context.Context, step flow.CallingStep) (*flow.Children, error)
	ListChildren(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Children, error)
	ReadChildren(ctx context.Context, ws flow.WorkspaceID, step flow.CallingStep, from, to int) ([]flow.ChildResult, error)

	FindFlow(ctx context.Context, ws flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error)
	// FindFlowID returns the ID of the flow with a slug, current or former.
	FindFlowID(ctx context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, error)
	// FindSlug is FindFlowID that also reports whether the slug is a former one.
	FindSlug(ctx context.Context, ws flow.WorkspaceID, slug string) (flowID flow.FlowID, former bool, err error)
	// AddAliasUses adds the counts of requests that named a flow by a former slug.
	AddAliasUses(ctx context.Context, uses []flow.AliasUse) error
	ListFlows(ctx context.Context, ws flow.WorkspaceID, afterID flow.FlowID, limit int) ([]flow.Flow, error)
	// ListFlowHeads lists all flows, archived ones too, without their drafts.
	ListFlowHeads(ctx context.Context, ws flow.WorkspaceID) ([]flow.Flow, error)
	FindVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64) (*flow.Version, error)
	FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error)

	// FindStepOutputs returns the outputs of one step, or nil.
	FindStepOutputs(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string) (map[string]any, error)
	// FindRunHead is FindRun without large inputs, outputs and metadata; whole reports that the run has them.
	FindRunHead(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (run *flow.Run, whole bool, err error)
	FindSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error)
	// FindNodeSteps is FindSteps without sub-steps.
	FindNodeSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error)
	// FindStepHeads returns the steps whose path begins with a prefix, without their content.
	FindStepHeads(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, prefix string) ([]flow.Step, error)
	FindStep(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string) (*flow.Step, error)
	FindChangedSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, after int64) ([]flow.Step, error)
	// UsedUpBudget returns the daily budget that keeps steps of a run from starting, or nil.
	UsedUpBudget(ctx context.Context, r *flow.Run) (*flow.Budget, error)
	WaitingKinds(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (map[string]bool, error)
	ListRuns(ctx context.Context, f flow.RunFilter) ([]flow.Run, error)
	ListApprovals(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Approval, error)

	ListDeliveries(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, beforeID string, limit int) ([]flow.DeliveryRecord, error)
	DeliveryFlow(ctx context.Context, ws flow.WorkspaceID, deliveryID string) (flowID flow.FlowID, err error)

	// ListBases lists the knowledge bases of a workspace, by slug.
	ListBases(ctx context.Context, ws flow.WorkspaceID) ([]knowledge.Base, error)
	// TakeRate counts a request over all instances. It returns nil if there is only
	// one.
	TakeRate(ctx context.Context, name string, perMinute int64) (*fairness.Rate, error)
	// Broadcast sends a message to all other instances.
	Broadcast(ctx context.Context, topic, text string) error
}

// Config configures the API. Store, Files, Links, Runner, Kinds and Library are required.
type Config struct {
	Store   Store
	Files   Files
	Links   *filelinks.Signer // signs download links, which need no key
	Runner  Runner
	Kinds   *flow.Registry
	Library *library.Library // changes flows
	// DescribeKinds returns the declarations of the kinds of nodes, as a value for JSON.
	DescribeKinds func() any
	PublicURL     string // scheme and host in responses; never taken from the Host header
	Version       string // of Sluice, shown in the OpenAPI document
	// LocalToken authenticates the command line on the same machine, which acts for the
	// operator: as a key with every scope of any workspace, and on routes that exist only for it.
	LocalToken string
	// LocalInfo is the response of GET /v1/local, by which the command line recognizes the server.
	LocalInfo any
	// AwaitsOwner reports whether there is no owner yet, in which case the API is
	// closed. It is nil if only this machine can reach the server.
	AwaitsOwner func(ctx context.Context) (bool, error)
	MaxInFlight int // busy requests; default 4096
	MaxHeld     int // requests that wait, stream or transfer files; default 8192

	Tables  Tables // reads the tables of batches
	MaxFile int64  // bytes of an upload; default 512 MiB

	Memory *inflight.Budget // of large bodies; nil is unlimited

	Log *slog.Logger     // default discards
	Now func() time.Time // default time.Now
}

// Server is the HTTP API, an http.Handler. Call Close at the end.
type Server struct {
	Config
	deliveries library.Deliveries
	files      library.Files
	runs       library.Runs
	secrets    library.WebhookSecrets

	echo     *echo.Echo
	routes   []*Route
	gate     gate
	rates    *rates
	refusals *rates // of requests with invalid keys, by address
	uses     *uses.Counter
	Outlines *Outlines
	api      func() []byte // OpenAPI document of the whole API

	streamKeys streamKeys

	invalidKeys int64 // see invalidKeysPerMinute

	bodyTimeout  time.Duration     // maximum pause of an upload, see conns.SlowBody
	PingInterval time.Duration     // between comments that keep an event stream open
	ReadInterval time.Duration     // minimum time between two reads of a streamed run
	textInterval time.Duration     // minimum time between two batches of text on a stream
	keyMaxAge    time.Duration     // maximum age of a cached key when text is sent
	MCP          func(*Call) error // handles POST /mcp; package mcp sets it

	foreign    map[string]ErrorFormat // by path
	extensions []Extension            // see Extend

	leaving atomic.Bool
	drained chan struct{}
	drain   sync.Once
}

// New returns a server, which starts recording the use of keys.
func New(cfg Config) *Server {
	s := &Server{
		Config: cfg.withDefaults(), foreign: map[string]ErrorFormat{}, drained: make(chan struct{}),
		bodyTimeout: 30 * time.Second, PingInterval: 15 * time.Second, ReadInterval: 20 * time.Millisecond, textInterval: 40 * time.Millisecond, keyMaxAge: time.Second,
	}
	s.deliveries, s.secrets = library.Deliveries{Store: s.Store}, library.WebhookSecrets{Store: s.Store}
	s.runs = library.Runs{Store: s.Store, Runner: s.Runner}
	s.files.Store = struct {
		library.Recorder
		Files
	}{s.Store, s.Files}
	s.gate = gate{maxBusy: int64(s.MaxInFlight), maxHeld: int64(s.MaxHeld)}
	s.rates, s.refusals, s.invalidKeys = newRates(), newRates(), invalidKeysPerMinute
	s.uses = uses.New(s.Store, s.Log)
	s.streamKeys.read = s.Store.FindKeyByHash
	s.Outlines = newOutlines(s.Store, s.Kinds)
	s.api = sync.OnceValue(s.apiDocument) // at the first request, with all extensions
	s.echo = echo.New()
	s.echo.HTTPErrorHandler = s.fail
	s.Extend(Extension{Routes: s.table()})
	return s
}

// withDefaults returns the configuration with defaults in place of zero values.
func (c Config) withDefaults() Config {
	c.PublicURL = strings.TrimRight(c.PublicURL, "/")
	if c.DescribeKinds == nil {
		c.DescribeKinds = func() any { return []any{} }
	}
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

// Leave makes /readyz report that this process is shutting down. Other requests are still
// served.
func (s *Server) Leave() { s.leaving.Store(true) }

// Drain ends event streams, and requests that wait respond with the current run. It may be
// called more than once.
func (s *Server) Drain() { s.drain.Do(func() { close(s.drained) }) }

// ShuttingDown reports whether requests that wait must end.
func (s *Server) ShuttingDown() bool {
	select {
	case <-s.drained:
		return true
	default:
		return s.Runner.Draining()
	}
}

// Close drains and records the last use of keys.
func (s *Server) Close() error {
	s.Drain()
	return s.uses.Close()
}

// RunEnded returns the type and the data of the webhook message for an ended run. It is
// stored with the delivery, so files have no download links yet.
func (s *Server) RunEnded(run *flow.Run) (typ string, data []byte) {
	o := newRunObject(s.PublicURL, run)
	return "run." + string(run.State), flow.EncodeJSON(&o)
}

// ServeHTTP routes a request that came through a web.Edge.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sluice/cmd/sluice/catalog"
	"sluice/cmd/sluice/memory"
	"sluice/cmd/sluice/metrics"
	"sluice/cmd/sluice/upstream"
	"sluice/db"
	"sluice/documents"
	"sluice/flow"
	"sluice/flow/busy"
	"sluice/flow/filelinks"
	"sluice/flow/hooks"
	"sluice/flow/inflight"
	"sluice/flow/library"
	"sluice/flow/triggers"
	"sluice/handlers"
	"sluice/handlers/web"
	"sluice/handlers/web/conns"
	"sluice/javascript"
	"sluice/jobs"
	"sluice/nodes"
	"sluice/nodes/agents"
	"sluice/nodes/bases"
	"sluice/nodes/expression"
	"sluice/nodes/reference"
	"sluice/nodes/servertools"
	"sluice/outbound"
	"sluice/providers/builtin"
	"sluice/providers/hosted"
	"sluice/telemetry"
)

// How long a shutdown may take after SLUICE_DRAIN_DELAY. Steps and requests may
// finish; then runs return to the queue and connections are closed. Together with
// the 1.5 s that aborted steps get, and as much for the last writes, the process
// ends within 35 s.
const (
	drainTimeout = 25 * time.Second // for steps, and for requests in the meantime
	closeTimeout = 5 * time.Second  // at least, for requests after the steps have stopped
)

// app is a running Sluice: store, engine and HTTP server, wired together. A process
// usually has one; "sluice flow run FILE" starts one on a temporary database.
//
// Dependencies point in one direction: the HTTP handlers call the Runner and the
// library, both call the store, and nothing calls back except through functions
// that wire sets, such as store.RunEnded. Parts therefore stop in the opposite order
// of their start.
type app struct {
	cfg       *Config
	log       *slog.Logger
	store     *db.Store
	secrets   *db.Store              // has the credentials and prices: usually store
	runner    *jobs.Runner           // executes runs and webhook deliveries
	library   *library.Library       // imports, edits and publishes flows
	server    *conns.Server          // accepts connections for web
	web       *handlers.Server       // dashboard, API, MCP and forms
	models    *upstream.Clients      // clients of model providers
	servers   *upstream.LocalServers // model servers found on this machine
	code      *javascript.Runner
	documents *documents.Reader
	metrics   *metrics.Metrics
	tracer    *telemetry.Tracer // nil without traces
	peers     *instances        // nil without connections to other instances
	url       string            // base URL for clients: SLUICE_PUBLIC_URL, or local
	local     string            // base URL for programs on this machine
	exposed   bool              // other machines can connect
	token     string            // authenticates the command line on this machine; see db.EngineInfo
	failed    chan error        // receives the error of a part that stopped; ends the process

	memory memory.Plan
	values *inflight.Budget // memory of values in flight
	ending chan struct{}    // closed at the beginning of the shutdown

	idle     bool   // serves commands of this process only and executes nothing; see openApp
	cacheDir string // for data that can be rebuilt; empty for the user's cache directory
	instance string // identifies this process among those that share a database
}

// appOptions are the differences of a server whose data directory is temporary.
type appOptions struct {
	secrets   *db.Store // has the credentials and prices; nil for the server's own store
	userCache bool      // compareOrUpdate caches in the cache directory of the user
}

// startApp opens the store, takes its engine lock, serves, and recovers the
// runs that a crash interrupted. It returns once the server accepts requests.
func startApp(ctx context.Context, cfg *Config, log *slog.Logger, o appOptions) (*app, error) {
	a := newApp(cfg, log)
	a.log = log.With("instance", a.instance)
	a.secrets = o.secrets
	if o.userCache {
		a.cacheDir = ""
	}
	store, err := cfg.openStore(ctx, a.log, storeOptions{instance: a.instance})
	if err != nil {
		return nil, err
	}
	a.store = store
	if a.secrets == nil {
		a.secrets = store
	}
	if err := a.start(ctx); err != nil {
		if a.servers != nil {
			a.servers.Stop()
		}
		if a.server != nil {
			err = errors.Join(err, a.server.Close())
		}
		a.peers.close()
		a.tracer.Close()
		return nil, errors.Join(store.Advise(err), store.Close())
	}
	return a, nil
}

// newApp returns an app without parts.
func newApp(cfg *Config, log *slog.Logger) *app {
	a := &app{cfg: cfg, log: log, cacheDir: filepath.Join(cfg.DataDir, "cache"), instance: instanceName(), token: rand.Text() + rand.Text(), failed: make(chan error, 4), ending: make(chan struct{})}
	a.memory = cfg.plan()
	a.values = a.memory.Budget(cfg.DataDir)
	return a
}

// openApp wires the API on a store, which it closes in the end, for the commands of this process.
// It executes no runs, so it works beside servers on the same database. Requests arrive through
// the returned function.
func openApp(ctx context.Context, cfg *Config, log *slog.Logger, store *db.Store) (*app, func(ctx context.Context) (net.Conn, error), error) {
	a := newApp(cfg, log)
	a.idle, a.store, a.secrets = true, store, store
	_, port, _ := net.SplitHostPort(cfg.Addr)
	a.addresses(port)
	if err := a.wire(ctx, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	listener := newPipeListener()
	a.server = web.NewHTTPServer(a.web)
	go func() { _ = a.server.Serve(listener) }() // until close
	return a, listener.dial, nil
}

// start listens, wires everything and starts the parts in the order in which they
// depend on each other. The HTTP server comes before the Runner, so that health checks
// get a response while a recovery takes long.
func (a *app) start(ctx context.Context) error {
	listener, err := net.Listen("tcp", a.cfg.Addr)
	if err != nil {
		return fmt.Errorf("%s cannot be listened on: %w. Is another program using it? Set SLUICE_ADDR to another address", a.cfg.Addr, err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	a.addresses(port)
	if err := a.wire(ctx, listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	proxies, err := web.ParseProxies(a.cfg.Proxies, a.cfg.ClientHeader)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	a.server = web.NewHTTPServer(proxies.Behind(a.web))
	a.server.OnShutdown(a.web.Drain)
	go func() {
		if err := a.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			a.failed <- fmt.Errorf("the HTTP server stopped: %w", err)
		}
	}()
	if err := a.metrics.Serve(a.cfg.MetricsAddr, a.failed); err != nil {
		return err
	}
	a.servers.Start()
	a.peers.serve(a.runner.StreamText, a.failed)
	return a.runner.Start(ctx) // after the server, so that a health check never waits for a recovery
}

// addresses sets the URLs of the server. If it listens on all addresses of the
// machine, local programs use the loopback address.
func (a *app) addresses(port string) {
	host, _, _ := net.SplitHostPort(a.cfg.Addr)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	a.local = "http://" + net.JoinHostPort(host, port)
	a.url = a.local
	if a.cfg.PublicURL != "" {
		a.url = a.cfg.PublicURL
	}
}

// becomeInstance takes the engine lock and listens for other instances. On SQLite it fails if
// another server uses the data directory, before anything has been changed.
func (a *app) becomeInstance() (err error) {
	if err := a.store.LockEngine(db.EngineInfo{PID: os.Getpid(), Addr: a.local, Token: a.token}); err != nil {
		return err
	}
	a.peers, err = a.listenForPeers(a.instance)
	return err
}

// wire creates all parts and connects them. An idle app is no instance, and leaves the jobs that
// its requests insert to the instances.
func (a *app) wire(ctx context.Context, bound net.Addr) error {
	var err error
	if a.models, err = newUpstreams(ctx, a.cfg); err != nil {
		return err
	}
	a.servers = upstream.FindLocal(a.models, bound, a.cfg.LocalModels == "off")
	// Kinds get clients and processes as dependencies, so that commands can
	// describe and check nodes without any of it: nodes.New(nodes.Deps{}).
	directory := hosted.NewDirectory(a.models.Host)
	a.code = javascript.New()
	a.documents = documents.New(documents.Config{CacheDir: a.cacheDir, Working: outbound.Report})
	model := builtin.New()
	kinds := nodes.New(nodes.Deps{
		Code: a.code, CodeOff: a.cfg.Code == "off",
		HTTP: a.models.HTTP, Documents: a.documents, Model: model, Providers: a.models.Providers, Local: a.servers, Host: a.models.Host, Models: directory,
		ToolServers: servertools.New(a.models.Servers), Knowledge: &a.store.Bases, Tests: a.store, MaxFile: int64(a.cfg.MaxFile),
	})
	a.library = &library.Library{Store: a.store, Kinds: kinds, IDs: a.store.IDs(), RefuseUnbound: a.cfg.refuseUnbound(), CheckArguments: agents.CheckArguments, Rights: a.store, Reach: a.store}
	var busyMarks *busy.Marks
	if !a.idle {
		if err := a.becomeInstance(); err != nil {
			return err
		}
		busyMarks = a.store.BusyMarks()
	}
	queue, err := jobs.NewQueue(jobs.QueueConfig{
		SQLite: a.store.SQLite(), Write: a.store.WriteQueue, Postgres: db.Pool(a.store), Workers: a.memory.Workers, Instance: a.instance, Log: a.log,
	})
	if err != nil {
		return err
	}
	if !a.idle {
		a.store.UseQueue(queue) // from now on, writes that start runs insert their jobs
	}
	a.metrics = metrics.New(a.store, a.cfg.MetricsLabels == "flow")
	links, err := a.fileLinks(ctx)
	if err != nil {
		return err
	}
	if err := a.models.HTTP.SetOwn(a.url, links.Key); err != nil {
		return err
	}
	book, err := a.cfg.priceBook(a.secrets, a.store.Now)
	if err != nil {
		return err
	}
	mailer, err := a.cfg.mailer(a.log)
	if err != nil {
		return err
	}
	if err := a.startTracer(); err != nil {
		return err
	}
	// The runner executes; the web server below only calls it and never touches the queue.
	a.runner = jobs.New(jobs.Config{
		ProviderOf: nodes.ProviderOf,
		Store:      a.store, Queue: queue, Kinds: kinds, Secrets: a.models.Resolver(a.secrets), Prices: book,
		Files: a.store, Links: links, CheckURL: a.models.HTTP.CheckURL,
		Fetcher:  &nodes.Fetcher{HTTP: a.models.HTTP, Max: min(int64(a.cfg.MaxFetch), int64(a.cfg.MaxFile))},
		HTTP:     a.models.HTTP.HTTPClient(outbound.ClientOptions{}),
		Instance: a.instance, Workers: a.memory.Workers, Memory: a.values, Ending: a.ending, Shared: a.store.IsPostgres(),
		InstanceTimeout: a.store.InstanceTimeout(),
		Follow:          a.peers.follow(),
		Busy:            busyMarks, Calls: outbound.WithCalls,
		Widened: func(ctx context.Context, run *flow.Run) (map[string][]string, error) {
			return library.WidenedTools(ctx, a.library, run.WorkspaceID, run.FlowID, run.Version)
		},
		Evaluate: expression.Evaluate,
		StartTest: func(ctx context.Context, t *triggers.Trigger, o *flow.Occurrence, claim string) (flow.Started, error) {
			return library.StartScheduled(ctx, a.library, t, o, claim)
		},
		Mail: ofAlarms(mailer), PublicURL: a.url,
		Log: a.log, Observe: a.metrics.Observe, Tracer: a.jobsTracer(),
	})
	providers, err := a.cfg.identityProviders(a.models.HTTP, a.store.Now)
	if err != nil {
		return err
	}
	first, err := starters()
	if err != nil {
		return err
	}
	a.exposed = exposed(bound)
	a.web = handlers.New(handlers.Config{
		Store: a.store, Links: links, Runner: a.runner, Kinds: kinds, Tables: a.documents, Library: a.library, DescribeKinds: sync.OnceValue(func() any { return reference.Describe(kinds) }),
		Evaluate: expression.Evaluate, Filter: bases.Filter, Past: jobs.PastOf(a.runner),
		Embed: func(ctx context.Context, ws flow.WorkspaceID, text string) ([]float32, error) {
			return bases.EmbedQuery(ctx, model, ws, text)
		},
		FlowSchema: func() any { return reference.Schema(kinds, a.url+"/v1/schema/flow.json") },
		Models:     catalog.NewModels(a.models, a.servers, a.store, directory), Providers: catalog.NewCredentials(a.models, a.store), Starters: first, Prices: book, PriceList: book.List,
		Catalog:   catalog.NewDirectory(a.models, a.servers, a.store, directory),
		PublicURL: a.url, Version: version(), LocalToken: a.token, LocalInfo: a.cfg.instanceInfo(), Exposed: a.exposed, SignUp: a.cfg.Signup == "open", Mail: ofPeople(mailer),
		SignIn: providers, PasswordsOff: a.cfg.Passwords == "off", RequireFactor: a.cfg.requireFactor(),
		SessionIdle: time.Duration(a.cfg.SessionIdle), SessionMax: time.Duration(a.cfg.SessionMax), Welcome: a.addStarters,
		Scope:   func(variables map[string]any) hooks.Eval { return expression.NewScope(variables).Eval },
		Compile: func(source string, names ...string) error { _, err := expression.Compile(source, names...); return err },
		MaxFile: int64(a.cfg.MaxFile), Memory: a.values, Log: a.log, Now: a.store.Now,
	})
	// The store must not know handlers, so it calls them through these functions.
	a.store.RunEnded, a.store.FlowEdited, a.store.OnBroadcast = a.web.RunEnded, a.web.FlowEdited, a.web.OnBroadcast
	a.observe(kinds)
	if !a.idle {
		_, err = a.addStarters(ctx, flow.DefaultWorkspace)
	}
	return err
}

// fileLinks returns a signer of download links. Its key is in the store, so
// links stay valid after a restart and at every instance. The signature is all that a
// link needs: webhook receivers and browsers have no API key.
func (a *app) fileLinks(ctx context.Context) (*filelinks.Signer, error) {
	key, err := a.store.FileKey(ctx)
	return &filelinks.Signer{Base: strings.TrimRight(a.url, "/"), Key: key}, err
}

// exposed reports whether other machines can reach an address. Before an owner exists,
// an exposed server answers only the set-up; see handlers.Config.
func exposed(bound net.Addr) bool {
	tcp, ok := bound.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// instanceName returns a name that is unique among processes: host, process ID and a
// random part, since containers may share both. It changes with every start, so a new
// process never inherits the work of an earlier one without a recovery.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "sluice"
	}
	return fmt.Sprintf("%.40s-%d-%s", host, os.Getpid(), rand.Text()[:8])
}

// announceShutdown makes /readyz report that this instance shuts down, and keeps
// serving for SLUICE_DRAIN_DELAY so that they can notice. Without the delay they
// would send requests to a closed port, which clients see as errors of a deployment.
func (a *app) announceShutdown() {
	a.web.Leave()
	a.server.Leave()
	close(a.ending)
	time.Sleep(a.cfg.DrainDelay)
}

// stop drains and closes. First the Runner lets running steps finish, for at most
// drainTimeout, and returns the rest of the work to the queue, where another
// instance or the next start continues it. Meanwhile the HTTP server responds to
// requests that arrived earlier, such as those waiting for a run; it gets at least
// closeTimeout after that. The store closes last, because all others write to it.
func (a *app) stop() error {
	start := time.Now()
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := a.runner.Drain(drain)
	closing, cancel := context.WithTimeout(context.Background(), max(closeTimeout, drainTimeout-time.Since(start)))
	defer cancel()
	if e := a.server.Shutdown(closing); e != nil {
		e = a.server.Close()
		err = errors.Join(err, e)
	}
	return errors.Join(err, a.close())
}

// close closes all parts but the HTTP server and the Runner.
func (a *app) close() error {
	_ = a.web.Close() // the last use of keys is not worth an error
	a.code.Close()
	a.metrics.Close()
	a.peers.close()
	a.servers.Stop()
	a.models.HTTP.Close()
	a.tracer.Close() // before the store, which it reads
	return a.store.Close()
}

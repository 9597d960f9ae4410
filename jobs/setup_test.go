package jobs_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/value"
	"sluice/jobs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// clock is a clock that a test sets.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// gate controls a step of a test: the step reports that it has started, emits the texts
// it is given, and ends when it is released.
type gate struct {
	started chan string // receives the step's execution key
	emit    chan string
	release chan error // the step's error, or nil
}

func newGate() *gate {
	return &gate{started: make(chan string, 100), emit: make(chan string), release: make(chan error, 100)}
}

func (g *gate) run(ctx context.Context, in *flow.In) (flow.Out, error) {
	g.started <- in.Key
	for {
		select {
		case text := <-g.emit:
			in.Emit(text)
		case err := <-g.release:
			return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}}, err
		case <-ctx.Done():
			return flow.Out{}, ctx.Err()
		}
	}
}

// fixture is a Runner with test kinds on a real database, and so one process.
type fixture struct {
	t      *testing.T
	store  *db.Store
	runner *jobs.Runner
	clock  *clock // nil if the store uses a clock of its own
	gate   *gate
	kinds  *flow.Registry
	flowID flow.FlowID
	poll   time.Duration // interval of the queue; by default an hour, so that only notifications wake it
}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, cfg db.Config)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, dbtest.SQLiteConfig(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, dbtest.PostgresConfig(t)) })
}

// newFixture makes a fixture whose Runner is not started, and publishes document.
func newFixture(t *testing.T, cfg db.Config, document string) *fixture {
	t.Helper()
	fx := &fixture{t: t, clock: &clock{t: time.Now()}}
	fx.openStore(cfg)
	fx.newRunner()
	fx.publish(document)
	return fx
}

// secondProcess makes another process on the same database, with its own gate and
// without a Runner.
func (fx *fixture) secondProcess(cfg db.Config) *fixture {
	fx.t.Helper()
	other := &fixture{t: fx.t, clock: fx.clock, flowID: fx.flowID}
	other.openStore(cfg)
	return other
}

func (fx *fixture) openStore(cfg db.Config) {
	fx.t.Helper()
	if cfg.Capacity = 16; cfg.MachineNow != nil {
		fx.clock = nil
	} else {
		cfg.Now = fx.clock.now
	}
	store, err := db.Open(context.Background(), cfg)
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.t.Cleanup(func() { store.Close() })
	fx.gate = newGate()
	fx.store, fx.kinds = store, kinds(fx.gate)
}

// newRunner replaces the Runner, as a restart of the process does.
func (fx *fixture) newRunner() { fx.newRunnerOn(fx.store) }

// newRunnerOn makes a Runner on a store that may inject faults.
func (fx *fixture) newRunnerOn(store jobs.Store) { fx.newRunnerWith(store, func(*jobs.Config) {}) }

// newRunnerWith makes a Runner with changes to its configuration.
func (fx *fixture) newRunnerWith(store jobs.Store, set func(*jobs.Config)) {
	fx.t.Helper()
	instance := "test-" + rand.Text()
	queue, err := jobs.NewQueue(jobs.QueueConfig{
		SQLite: fx.store.SQLite(), Write: fx.store.WriteQueue, Postgres: db.Pool(fx.store), Workers: 16,
		Instance: instance, Poll: cmp.Or(fx.poll, time.Hour), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.store.UseQueue(queue)
	noRedirect := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	cfg := jobs.Config{
		Store: store, Queue: queue, Kinds: fx.kinds, Secrets: &flow.Resolver{Store: fx.store}, Files: fx.store, HTTP: noRedirect, Links: links, Instance: instance, Workers: 16,
		Shared: fx.store.IsPostgres(), Log: slog.New(slog.DiscardHandler),
		Jitter: func() float64 { return 0 }, DeliveryTimeout: 5 * time.Minute, // so that a slow machine ends no attempt
	}
	if fx.clock != nil {
		cfg.Now = fx.clock.now
	}
	set(&cfg)
	fx.runner = jobs.New(cfg)
	fx.store.RunEnded = func(run *flow.Run) (string, []byte) { return "run." + string(run.State), []byte(`{}`) }
}

func (fx *fixture) start() *fixture {
	fx.t.Helper()
	if err := fx.runner.Start(context.Background()); err != nil {
		fx.t.Fatal(err)
	}
	runner := fx.runner
	fx.t.Cleanup(func() { drain(runner, 5*time.Second) })
	return fx
}

// drain drains a Runner and aborts steps that run longer than timeout.
func drain(r *jobs.Runner, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return r.Drain(ctx)
}

func (fx *fixture) publish(document string) {
	fx.t.Helper()
	library := &library.Library{Store: fx.store, Kinds: fx.kinds, IDs: flow.NewIDs()}
	f, err := library.Import(context.Background(), flow.DefaultWorkspace, "", []byte(document))
	if err == nil {
		_, _, err = library.Publish(context.Background(), flow.DefaultWorkspace, f.ID, "test")
	}
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.flowID = f.ID
}

// startRun starts a run of the published flow.
func (fx *fixture) startRun(set ...func(*flow.Start)) *flow.Run {
	fx.t.Helper()
	s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Trigger: flow.TriggerAPI, Given: value.FromMap(map[string]any{"x": "hello"})}
	for _, f := range set {
		f(&s)
	}
	started, err := fx.runner.StartRun(context.Background(), s)
	if err != nil {
		fx.t.Fatal(err)
	}
	return started.Run
}

// awaitEnd waits for the end of a run.
func (fx *fixture) awaitEnd(run *flow.Run) *flow.Run {
	fx.t.Helper()
	return fx.awaitRun(run, func(r *flow.Run) bool { return r.State.Ended() })
}

// awaitRun waits until a condition holds for a run.
func (fx *fixture) awaitRun(run *flow.Run, holds func(*flow.Run) bool) *flow.Run {
	fx.t.Helper()
	watch := fx.runner.WatchRun(run.ID)
	defer watch.Stop()
	deadline := time.After(waitTimeout)
	for {
		now, err := fx.store.FindRun(context.Background(), run.WorkspaceID, run.FlowID, run.ID)
		if err != nil {
			fx.t.Fatal(err)
		}
		if holds(now) {
			return now
		}
		select {
		case <-watch.Changes:
		case <-time.After(50 * time.Millisecond): // written by a process whose notifications this Runner does not receive
		case <-deadline:
			fx.t.Fatalf("the run is still %s: %+v", now.State, now.Error)
		}
	}
}

// waitTimeout is how long tests wait for what must happen eventually.
const waitTimeout = 2 * time.Minute

// waitUntil waits until a condition holds.
func (fx *fixture) waitUntil(what string, holds func() bool) {
	fx.t.Helper()
	for deadline := time.Now().Add(waitTimeout); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			fx.t.Fatalf("timed out waiting until %s", what)
		}
	}
}

// queryInt returns the single number of a query.
func (fx *fixture) queryInt(query string) (n int) {
	fx.t.Helper()
	var err error
	if pool := db.Pool(fx.store); pool != nil {
		err = pool.QueryRow(context.Background(), query).Scan(&n)
	} else {
		err = fx.store.SQLite().QueryRow(query).Scan(&n)
	}
	if err != nil {
		fx.t.Fatal(err)
	}
	return n
}

// exec changes stored data behind the store's back.
func (fx *fixture) exec(statement string) {
	fx.t.Helper()
	var err error
	if fx.store.IsPostgres() {
		_, err = db.Pool(fx.store).Exec(context.Background(), statement)
	} else {
		_, err = fx.store.SQLite().Exec(statement)
	}
	if err != nil {
		fx.t.Fatal(err)
	}
}

// kinds are an input, an output, a step that waits at the gate, one that copies a file,
// and one that sends a webhook.
func kinds(g *gate) *flow.Registry {
	value := []flow.Port{{Name: "value", Type: flow.TypeAny, Required: true}}
	pass := func(_ context.Context, in *flow.In) (flow.Out, error) {
		return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
	}
	name := []flow.Field{
		{Name: "name", Type: flow.FieldText, Typed: true, Required: true}, {Name: "type", Type: flow.FieldValueType, Typed: true},
		{Name: "default", Type: flow.FieldJSON, Typed: true}, {Name: "accept", Type: flow.FieldList, Typed: true},
	}
	k := func(kind flow.Kind) flow.Kind {
		kind.Title, kind.Group, kind.Summary, kind.Outputs = kind.Name, "test", "For tests.", []flow.Port{{Name: "value", Type: flow.TypeAny}}
		return kind
	}
	return flow.NewRegistry(
		k(flow.Kind{Name: "input", Role: flow.RoleInput, Fields: name, Run: pass}),
		k(flow.Kind{Name: "output", Role: flow.RoleOutput, Fields: name, Inputs: value, Run: pass}),
		k(flow.Kind{Name: "gate", Class: flow.Outside, Inputs: []flow.Port{{Name: "value", Type: flow.TypeAny}}, Run: g.run}),
		k(flow.Kind{Name: "copy", Class: flow.Outside, Inputs: value, Run: func(ctx context.Context, in *flow.In) (flow.Out, error) {
			f, content, err := in.OpenFile(ctx, in.Ports["value"])
			if err != nil {
				return flow.Out{}, err
			}
			defer content.Close()
			copied, err := in.SaveFile(ctx, "copy of "+f.Name, f.MIME, content)
			return flow.Out{Outputs: map[string]any{"value": copied}}, err
		}}),
		k(flow.Kind{Name: "send", Inputs: value, Fields: []flow.Field{{Name: "url", Type: flow.FieldText, Required: true}, {Name: "secret", Type: flow.FieldSecret}, {Name: "times", Type: flow.FieldNumber, Default: 1}},
			Run: func(_ context.Context, in *flow.In) (flow.Out, error) {
				d := flow.NewDelivery{Node: in.Node, URL: in.Text("url"), Body: flow.EncodeJSON(in.Ports["value"]), Header: "X-Signature", Signature: "custom", Secret: in.Config["secret"]}
				n, _ := strconv.Atoi(flow.Text(in.Config["times"]))
				return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}, Deliveries: slices.Repeat([]flow.NewDelivery{d}, max(n, 1))}, nil
			}}),
	)
}

const passThroughFlow = `{"schema":"sluice.flow/v1","name":"Pass","nodes":[
 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"o","kind":"output","config":{"name":"y"}}],
 "edges":[{"from":"a.value","to":"o.value"}]}`

// gateOnlyFlow records nothing before its gate.
const gateOnlyFlow = `{"schema":"sluice.flow/v1","name":"Gate","nodes":[
 {"id":"g","kind":"gate","config":{}},{"id":"o","kind":"output","config":{"name":"y"}}],
 "edges":[{"from":"g.value","to":"o.value"}]}`

const gatedFlow = `{"schema":"sluice.flow/v1","name":"Gate","nodes":[
 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"g","kind":"gate","config":{}},{"id":"o","kind":"output","config":{"name":"y"}}],
 "edges":[{"from":"a.value","to":"g.value"},{"from":"g.value","to":"o.value"}]}`

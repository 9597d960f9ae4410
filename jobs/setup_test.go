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
	"sluice/jobs"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// clock is a time that a test sets.
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

// gate is a kind's work that begins, tells so, passes on what it is given to
// say, and ends when it is let.
type gate struct {
	started chan string
	emit    chan string
	release chan error
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

// world is a Runner with kinds of its own on a real database.
type fixture struct {
	t      *testing.T
	store  *db.Store
	runner *jobs.Runner
	clock  *clock // nil if the store has a clock of its own
	gate   *gate
	kinds  *flow.Registry
	flowID string
	poll   time.Duration // of the queue; by default notifications must do
}

// onBoth runs a test on SQLite and on PostgreSQL.
func onBoth(t *testing.T, test func(t *testing.T, cfg db.Config)) {
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); test(t, dbtest.SQLiteConfig(t)) })
	t.Run("postgres", func(t *testing.T) { t.Parallel(); test(t, dbtest.PostgresConfig(t)) })
}

// open makes a world that is not started; document is published in it.
func newFixture(t *testing.T, cfg db.Config, document string) *fixture {
	t.Helper()
	fx := &fixture{t: t, clock: &clock{t: time.Now()}}
	fx.openStore(cfg)
	fx.newRunner()
	fx.publish(document)
	return fx
}

// beside is another process on the same database, with a gate of its own. It is
// not wired yet.
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

func (fx *fixture) newRunner() { fx.newRunnerOn(fx.store) }

// wireTo makes a Runner on a store that may have faults of its own.
func (fx *fixture) newRunnerOn(store jobs.Store) { fx.newRunnerWith(store, func(*jobs.Config) {}) }

// wireAs makes a Runner that is set up otherwise.
func (fx *fixture) newRunnerWith(store jobs.Store, set func(*jobs.Config)) {
	fx.t.Helper()
	instance := "test-" + rand.Text()
	queue, err := jobs.NewQueue(jobs.QueueConfig{
		SQLite: fx.store.SQLite(), Write: fx.store.WriteQueue, Postgres: fx.store.Pool(), Workers: 16,
		Instance: instance, Poll: cmp.Or(fx.poll, time.Hour), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.store.UseQueue(queue)
	noRedirect := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	cfg := jobs.Config{
		Store: store, Queue: queue, Kinds: fx.kinds, Secrets: &flow.Resolver{Store: fx.store}, Files: fx.store, HTTP: noRedirect, Links: links, Instance: instance, Workers: 16,
		Shared: fx.store.Pool() != nil, Log: slog.New(slog.DiscardHandler),
		Jitter: func() float64 { return 0 },
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

func drain(r *jobs.Runner, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.Drain(ctx)
}

func (fx *fixture) publish(document string) {
	fx.t.Helper()
	library := &flow.Library{Store: fx.store, Kinds: fx.kinds, IDs: flow.NewIDs()}
	f, err := library.Import(context.Background(), flow.DefaultWorkspace, "", []byte(document))
	if err == nil {
		_, _, err = library.Publish(context.Background(), flow.DefaultWorkspace, f.ID, "test")
	}
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.flowID = f.ID
}

// begin starts a run.
func (fx *fixture) startRun(set ...func(*flow.Start)) *flow.Run {
	fx.t.Helper()
	s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: fx.flowID, Trigger: flow.TriggerAPI, Given: map[string]any{"x": "hello"}}
	for _, f := range set {
		f(&s)
	}
	started, err := fx.runner.StartRun(context.Background(), s)
	if err != nil {
		fx.t.Fatal(err)
	}
	return started.Run
}

// ended waits for a run's end.
func (fx *fixture) awaitEnd(run *flow.Run) *flow.Run {
	fx.t.Helper()
	return fx.awaitRun(run, func(r *flow.Run) bool { return r.State.Ended() })
}

// until follows a run until a condition holds.
func (fx *fixture) awaitRun(run *flow.Run, holds func(*flow.Run) bool) *flow.Run {
	fx.t.Helper()
	watch := fx.runner.WatchRun(run.ID)
	defer watch.Stop()
	late := time.After(20 * time.Second)
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
		case <-time.After(50 * time.Millisecond): // written by somebody whom this runner does not hear
		case <-late:
			fx.t.Fatalf("the run is still %s after 20 s: %+v", now.State, now.Error)
		}
	}
}

// kinds are an input, an output, a step that waits at the gate, one that copies
// a file, and one that sends a message.
func kinds(g *gate) *flow.Registry {
	value := []flow.Port{{Name: "value", Type: flow.TypeAny, Required: true}}
	pass := func(_ context.Context, in *flow.In) (flow.Out, error) {
		return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
	}
	name := []flow.Field{
		{Name: "name", Type: flow.FieldText, Typed: true, Required: true}, {Name: "type", Type: flow.FieldKind, Typed: true},
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

// gateFirst has nothing to record before its gate.
const gateOnlyFlow = `{"schema":"sluice.flow/v1","name":"Gate","nodes":[
 {"id":"g","kind":"gate","config":{}},{"id":"o","kind":"output","config":{"name":"y"}}],
 "edges":[{"from":"g.value","to":"o.value"}]}`

const gatedFlow = `{"schema":"sluice.flow/v1","name":"Gate","nodes":[
 {"id":"a","kind":"input","config":{"name":"x"}},{"id":"g","kind":"gate","config":{}},{"id":"o","kind":"output","config":{"name":"y"}}],
 "edges":[{"from":"a.value","to":"g.value"},{"from":"g.value","to":"o.value"}]}`

package engine

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

var (
	simSeeds = flag.Int("seeds", 0, "how many seeds TestSimulation tries (or SLUICE_SEEDS); 0 means 500")
	simSeed  = flag.Int("seed", -1, "the one seed that TestSimulation plays, with a trace")
)

const defaultSeeds = 500

// TestSimulation executes random flows under a seeded scheduler that crashes, hands over,
// cancels, delays and repeats at random, with a fake disk and a fake clock. It checks the
// invariants of a run after every action.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *simSeed >= 0 {
		trace := &tracer{}
		err := simulate(uint64(*simSeed), trace)
		t.Logf("%s", trace)
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	simulateSeeds(t, 0, min(numberOfSeeds(), defaultSeeds))
}

// TestSimulation_of_more_seeds tries the seeds after those of TestSimulation.
func TestSimulation_of_more_seeds(t *testing.T) {
	t.Parallel()
	if seeds := numberOfSeeds(); seeds > defaultSeeds && *simSeed < 0 {
		need.Time(t)
		simulateSeeds(t, defaultSeeds, seeds)
	}
}

// simulateSeeds tries the seeds in a range.
func simulateSeeds(t *testing.T, from, until int) {
	t.Helper()
	var next, failures atomic.Int64
	next.Store(int64(from))
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for seed := next.Add(1) - 1; seed < int64(until) && failures.Load() < 5; seed = next.Add(1) - 1 {
				if err := simulate(uint64(seed), nil); err != nil {
					failures.Add(1)
					t.Errorf("seed %d: %v\nreplay: go test ./flow/engine -run 'TestSimulation$' -seed %d", seed, err, seed)
				}
			}
		})
	}
	workers.Wait()
	if given, certain := simOutputs.given.Load(), simOutputs.certain.Load(); certain == 0 || certain == given {
		t.Errorf("%d outputs had a value, and %d were known to have one", given, certain)
	}
}

func numberOfSeeds() int {
	if *simSeeds > 0 {
		return *simSeeds
	}
	if n, err := strconv.Atoi(os.Getenv("SLUICE_SEEDS")); err == nil {
		return n
	}
	return defaultSeeds
}

// chaos is the rate of each fault, per thousand actions.
type chaos struct {
	crash, machineCrash, handOver, hold, cancel, fullDisk, early int
	deadline                                                     bool // the run has a short time limit
	poor                                                         int  // the action after which the budget is used up; 0: never
}

// comparable reports whether the run must end like a run without faults.
func (c chaos) comparable() bool { return c.cancel == 0 && !c.deadline && c.poor == 0 }

func drawChaos(rng *rand.Rand) chaos {
	some := func(most int) int { return rng.IntN(2) * rng.IntN(most) }
	c := chaos{crash: some(100), machineCrash: some(100), handOver: some(60), hold: some(60), fullDisk: some(200), early: some(800)}
	switch rng.IntN(8) {
	case 0:
		c.cancel = 1 + rng.IntN(100)
	case 1:
		c.deadline = true
	case 2:
		c.poor = 1 + rng.IntN(80)
	}
	return c
}

// simulate plays one seed: a run without faults, the same run with faults, and sometimes a rerun.
func simulate(seed uint64, trace *tracer) (err error) {
	rng := rand.New(rand.NewPCG(seed, 1))
	d := randomDocument(rng)
	g, err := Compile(d, flowtest.Kinds)
	if err != nil {
		return fmt.Errorf("the drawing is not valid: %w\n%s", err, d.Encode())
	}
	trace.say("%s", d.Encode())
	inputs := map[string]any{}
	for _, in := range contract.Inputs(d, flowtest.Kinds) {
		inputs[in.Name] = []string{"yes", "no"}[rng.IntN(2)]
	}
	calm, err := play(g, inputs, nil, nil, chaos{}, rng, trace)
	if err != nil {
		return fmt.Errorf("without faults: %w", err)
	}
	c := drawChaos(rng)
	trace.say("%+v", c)
	wild, err := play(g, inputs, nil, nil, c, rng, trace)
	if err != nil {
		return err
	}
	if c.comparable() {
		if err := sameEnd(g, calm, wild); err != nil {
			return err
		}
	}
	switch rng.IntN(8) {
	case 0, 1:
		return rerun(g, inputs, wild, rng, trace)
	case 2, 3:
		return trial(d, inputs, calm, rng, trace)
	}
	return nil
}

// trial simulates a test run of a part of the document, with some nodes pinned to their previous
// outputs, and with its own faults.
func trial(d *flow.Document, inputs map[string]any, before *world, rng *rand.Rand, trace *tracer) error {
	until := ""
	if n := &d.Nodes[rng.IntN(len(d.Nodes))]; rng.IntN(3) > 0 {
		until, d = n.ID, document.Upstream(d, n.ID, flowtest.Kinds)
	}
	g, err := Compile(d, flowtest.Kinds)
	if err != nil {
		return fmt.Errorf("the part up to %q is not valid: %w", until, err)
	}
	var pins []flow.Pin
	for i := range d.Nodes {
		if outputs := outputsOf(before.disk.rows[d.Nodes[i].ID]); outputs != nil && rng.IntN(4) == 0 {
			pins = append(pins, flow.Pin{Node: d.Nodes[i].ID, Outputs: outputs})
		}
	}
	ahead := g.InitialSteps(pins, until, before.now)
	trace.say("trial up to %q with %d pins, %d steps ahead", until, len(pins), len(ahead))
	calm, err := play(g, inputs, nil, ahead, chaos{}, rng, nil)
	if err != nil {
		return fmt.Errorf("trial without faults: %w", err)
	}
	c := drawChaos(rng)
	wild, err := play(g, inputs, nil, ahead, c, rng, trace)
	if err != nil {
		return err
	}
	if err := wild.checkAhead(ahead); err != nil || !c.comparable() {
		return err
	}
	return sameEnd(g, calm, wild)
}

// rerun simulates a rerun of an ended run with its own faults.
func rerun(g *Graph, inputs map[string]any, parent *world, rng *rand.Rand, trace *tracer) error {
	from := ""
	if rng.IntN(2) == 0 {
		from = g.nodes[rng.IntN(len(g.nodes))].ID
	}
	_, steps := parent.disk.claim()
	slices.SortFunc(steps, func(a, b flow.Step) int { return strings.Compare(a.Path, b.Path) })
	if len(steps) > 0 && rng.IntN(3) == 0 {
		from = steps[rng.IntN(len(steps))].Path
	}
	reuse := NewReuse(g, steps, from)
	trace.say("rerun from %q", from)
	calm, err := play(g, inputs, reuse, nil, chaos{}, rng, nil)
	if err != nil {
		return fmt.Errorf("rerun without faults: %w", err)
	}
	c := drawChaos(rng)
	wild, err := play(g, inputs, reuse, nil, c, rng, trace)
	if err != nil || !c.comparable() {
		return err
	}
	return sameEnd(g, calm, wild)
}

// sameEnd compares two ended runs of the same document and inputs. For failed runs it compares
// only state and error, because the rest depends on the order of steps.
func sameEnd(g *Graph, calm, wild *world) error {
	a, b := &calm.disk.run, &wild.disk.run
	for i := range g.nodes {
		if n := &g.nodes[i]; n.kind.Expand != nil && n.TimeoutS > 0 {
			return nil // faults take time
		}
	}
	if a.State != b.State {
		return fmt.Errorf("ended %s, without faults %s", b.State, a.State)
	}
	if a.State == flow.RunFailed {
		if a.Error.Code != b.Error.Code || a.Error.Node != b.Error.Node || a.Error.Message != b.Error.Message {
			return fmt.Errorf("failed with %+v, without faults %+v", b.Error, a.Error)
		}
		return nil
	}
	if x, y := flow.EncodeJSON(a.Outputs), flow.EncodeJSON(b.Outputs); string(x) != string(y) {
		return fmt.Errorf("outputs %s, without faults %s", y, x)
	}
	for i := range g.nodes {
		x, y := calm.disk.rows[g.nodes[i].ID], wild.disk.rows[g.nodes[i].ID]
		if x.step.State != y.step.State || string(x.outputs) != string(y.outputs) || x.step.InputHash != y.step.InputHash ||
			string(x.input) != string(y.input) || string(x.failed) != string(y.failed) || x.step.Failures != y.step.Failures {
			return fmt.Errorf("step %s ended as %+v, without faults %+v", g.nodes[i].ID, y.decode(), x.decode())
		}
	}
	for path, x := range calm.disk.rows {
		y := wild.disk.rows[path]
		if calm.isMoot(path) && y.step.State.Ended() {
			continue
		}
		if x.step.State != y.step.State || string(x.outputs) != string(y.outputs) || x.step.InputHash != y.step.InputHash || string(x.failed) != string(y.failed) {
			return fmt.Errorf("step %s ended as %+v, without faults %+v", path, y.decode(), x.decode())
		}
	}
	if len(calm.disk.rows) != len(wild.disk.rows) {
		return fmt.Errorf("%d steps, without faults %d", len(wild.disk.rows), len(calm.disk.rows))
	}
	if x, y := calm.disk.deliveries(), wild.disk.deliveries(); fmt.Sprint(x) != fmt.Sprint(y) {
		return fmt.Errorf("deliveries %v, without faults %v", y, x)
	}
	return nil
}

// carryOut simulates the work of a node, which fails as often as its config says.
func (w *world) carryOut(p *Plan, a Action) (flow.Out, error) {
	n := a.def
	if w.refused[a.Node] {
		return flow.Out{}, &flow.Error{Code: flow.CodeBudgetExceeded, Message: "Nothing is left."}
	}
	fails, _ := flow.Float(n.Config["fails"])
	if p.nodes[a.Node].step.Failures < int(fails) {
		return flow.Out{Usage: flowtest.OneCall}, &flow.Error{Code: flow.CodeProviderUnavailable, Message: "The provider is away.", Retryable: true}
	}
	w.bindWaits(a.In)
	if w.aborted[a.Node] && w.rng.IntN(4) > 0 {
		if n.Kind == "spawn" && w.rng.IntN(2) == 0 { // it was told too late
			_, _ = n.kind.Run(flowtest.WithClock(w.now), a.In)
		}
		return flow.Out{Usage: flowtest.OneCall}, context.Canceled
	}
	return n.kind.Run(flowtest.WithClock(w.now), a.In)
}

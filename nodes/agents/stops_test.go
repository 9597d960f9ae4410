package agents_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/engine"
	"sluice/flow/sorting"
	"sluice/providers/scripted"
)

// stopsTurns is the number of turns with calls of the agents of TestAgent_survives_stops.
const stopsTurns = 5

// turnCost is what a turn of them costs: 10 tokens for 1,000 nano-dollars each.
const turnCost = 10_000

// flatPrice is the price of all models.
type flatPrice struct{}

// FindPrice implements flow.PriceStore.
func (flatPrice) FindPrice(_ context.Context, _ flow.WorkspaceID, model string) (flow.Price, bool, error) {
	return flow.Price{Model: model, Input: flow.USD, Output: flow.USD}, true, nil
}

// interruption is what happens to an execution at one of its writes.
type interruption struct {
	how  string // "kill": the write is not stored; "late": stored, but the worker does not learn that; "stop", "cancel", ""
	at   int
	turn bool // counts only writes with the start of a call
}

// stoppedRun is a run with its rows, as the store has them, through all of its executions.
type stoppedRun struct {
	mu        sync.Mutex
	run       flow.Run
	rows      map[string]flow.Step
	writes    int
	interrupt interruption
	stop      chan struct{}
	cancel    chan struct{}
	fenced    bool
}

// WriteRun implements flow.Journal.
func (s *stoppedRun) WriteRun(_ context.Context, w flow.RunWrite) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fenced {
		return flow.ErrFenced
	}
	due := !s.interrupt.turn
	for _, step := range w.Steps {
		due = due || strings.Count(step.Path, flow.SubSeparator) == 2 && step.State == flow.StepRunning
	}
	if due {
		s.writes++
	}
	is := due && s.writes == s.interrupt.at
	if s.fenced = is && (s.interrupt.how == "kill" || s.interrupt.how == "late"); is && s.interrupt.how == "kill" {
		return flow.ErrFenced
	}
	s.run = *w.Run
	for _, step := range w.Steps {
		s.rows[step.Path] = step
	}
	switch {
	case s.fenced:
		return flow.ErrFenced
	case is && s.interrupt.how == "stop":
		close(s.stop)
	case is && s.interrupt.how == "cancel":
		close(s.cancel)
	}
	return nil
}

// stepsOf lists rows by path.
func stepsOf(rows map[string]flow.Step) (steps []flow.Step) {
	for _, path := range sorting.Keys(rows) {
		steps = append(steps, rows[path])
	}
	return steps
}

// TestAgent_survives_stops kills, stops, cancels and continues agents at random moments until they end. No recorded write
// is made again, none is lost, the outcome of each that could be lost is unknown, and all requests to the model are booked.
func TestAgent_survives_stops(t *testing.T) {
	t.Parallel()
	t.Cleanup(func() { // the seeds must reach what is checked
		if stopsSeen.unknown.Load() == 0 || stopsSeen.lost.Load() == 0 || stopsSeen.reruns.Load() == 0 {
			t.Errorf("%d unknown outcomes, %d lost requests, %d reruns", stopsSeen.unknown.Load(), stopsSeen.lost.Load(), stopsSeen.reruns.Load())
		}
		t.Logf("%d unknown outcomes, %d lost requests, %d reruns", stopsSeen.unknown.Load(), stopsSeen.lost.Load(), stopsSeen.reruns.Load())
	})
	for seed := range uint64(60) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			surviveStops(t, rand.New(rand.NewPCG(seed, 3)))
		})
	}
}

// stopsSeen counts what all seeds met.
var stopsSeen struct{ unknown, lost, reruns atomic.Int64 }

func surviveStops(t *testing.T, random *rand.Rand) {
	w := newWorldOf(t, func(r *scripted.Request) scripted.Answer {
		if r.Turn >= stopsTurns {
			return scripted.Answer{Text: "All done."}
		}
		n := fmt.Sprintf(`{"n": "%d"}`, r.Turn)
		return scripted.Answer{Calls: []scripted.Call{{ID: fmt.Sprint("a", r.Turn), Name: "read", Arguments: n}, {ID: fmt.Sprint("b", r.Turn), Name: "write", Arguments: n}}}
	})
	g, err := engine.Compile(w.document(t, `
		n agent {"model": "fake/m", "prompt": "Go.", "max_usd": 1000}
		read http_request {"url": "SHOP/read/{{n}}"} {"tool": {"description": "Reads."}}
		write http_request {"method": "POST", "url": "SHOP/write/{{n}}"} {"tool": {"description": "Writes.", "approval": "never"}}
		read.tool -> n.tools
		write.tool -> n.tools`), w.kinds)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	begin := func(id int) flow.Run {
		return flow.Run{ID: flow.RunID(fmt.Sprint("run_", id)), WorkspaceID: flow.DefaultWorkspace, State: flow.RunRunning, Attempt: 1, Inputs: &flow.Object{}, Timeout: time.Hour, CreatedAt: now, StartedAt: now, DeadlineAt: now.Add(time.Hour)}
	}
	var runs []*stoppedRun
	history := ""
	s := &stoppedRun{run: begin(0), rows: map[string]flow.Step{}}
	runs = append(runs, s)
	var reuse *engine.Reuse
	for k := 0; ; k++ {
		s.writes, s.fenced, s.stop, s.cancel, s.interrupt = 0, false, make(chan struct{}), make(chan struct{}), interruption{}
		if k < 6 {
			s.interrupt = interruption{[]string{"kill", "kill", "late", "stop", "cancel", ""}[random.IntN(6)], 1 + random.IntN(8), random.IntN(2) == 0}
		}
		history += fmt.Sprintf("%s at %d; ", s.interrupt.how, s.interrupt.at)
		run := s.run
		e := &engine.Engine{Journal: s, Now: time.Now, Boundary: boundary, Report: func(err error) { t.Logf("reported: %v", err) }, Secrets: &flow.Resolver{Store: w}, Prices: flatPrice{}, Approvals: w.people}
		_, err := e.Execute(t.Context(), engine.NewPlan(g, &run, stepsOf(s.rows), reuse), engine.Signals{Stop: s.stop, Cancel: s.cancel})
		if err != nil && !s.fenced {
			t.Fatalf("%s: %v", history, err)
		}
		if s.run.State == flow.RunSucceeded {
			break
		}
		if s.run.State == flow.RunCanceled { // a rerun continues after the turns that have ended
			before := maps.Clone(s.rows)
			s = &stoppedRun{run: begin(len(runs)), rows: map[string]flow.Step{}}
			s.run.ParentRunID = runs[len(runs)-1].run.ID
			runs, reuse = append(runs, s), engine.NewReuse(g, stepsOf(before), "")
			continue
		}
		if s.run.State.Ended() {
			t.Fatalf("%s: the run %s: %v", history, s.run.State, s.run.Error)
		}
		s.run.Attempt++
	}
	checkStops(t, w, runs, history)
}

// checkStops checks all runs of an agent. The last one succeeded.
func checkStops(t *testing.T, w *world, runs []*stoppedRun, history string) {
	t.Helper()
	made, maybe, booked, lost := map[string]int{}, map[string]int{}, flow.NanoUSD(0), int64(0)
	for _, path := range w.shop.paths {
		made[path]++
	}
	writeOf := func(path string) string {
		turn, number, is := flow.CallOf(path)
		if n, err := strconv.Atoi(strings.TrimPrefix(turn, "n.")); is && number == 2 && err == nil {
			return fmt.Sprint("/write/", n-1)
		}
		return ""
	}
	for _, r := range runs {
		for path, row := range r.rows {
			if row.State == flow.StepReused {
				continue
			}
			booked += row.Usage.CostNanoUSD
			lost += int64(row.Usage.UnpricedSteps)
			if write := writeOf(path); write != "" && row.State != flow.StepSucceeded && !row.StartedAt.IsZero() {
				maybe[write]++
			}
		}
	}
	for _, n := range maybe {
		stopsSeen.unknown.Add(int64(n))
	}
	stopsSeen.lost.Add(lost)
	stopsSeen.reruns.Add(int64(len(runs) - 1))
	last := runs[len(runs)-1].rows
	if text := last["n"].Outputs["text"]; text != "All done." {
		t.Errorf("%s: the answer is %v", history, text)
	}
	for turn := range stopsTurns {
		write, row := fmt.Sprint("/write/", turn), last[fmt.Sprintf("n.%d.2", turn+1)]
		known := row.State == flow.StepSucceeded || row.State == flow.StepReused
		if made[write] > 1+maybe[write] || known && made[write] == 0 {
			t.Errorf("%s: %s was made %d times, %d times with an unknown outcome", history, write, made[write], maybe[write])
		}
		if !known && (row.Error == nil || row.Error.Code != flow.CodeOutcomeUnknown) {
			t.Errorf("%s: %s is %s: %v", history, row.Path, row.State, row.Error)
		}
	}
	billed := flow.NanoUSD(turnCost * len(w.model.Requests()))
	if booked > billed || booked+flow.NanoUSD(turnCost*lost) < billed {
		t.Errorf("%s: the model billed %d, booked are %d and %d lost requests", history, billed, booked, lost)
	}
	keys := map[string]bool{}
	for i, path := range w.shop.paths {
		if key := path + " " + w.shop.keys[i]; strings.HasPrefix(path, "/write") && keys[key] {
			t.Errorf("%s: %s was sent twice", history, key)
		} else {
			keys[key] = true
		}
	}
}

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/flow/value"
)

func graphOf(t testing.TB, lines string, extra ...flow.Kind) *Graph {
	t.Helper()
	d, problems := document.ParseDocument(flowtest.Document(lines))
	if len(problems) > 0 {
		t.Fatalf("document: %v", problems)
	}
	g, err := Compile(d, flowtest.KindsAnd(extra...))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// fixture is an engine with a fake disk and one run.
type fixture struct {
	t      testing.TB
	g      *Graph
	engine *Engine

	mu       sync.Mutex
	disk     *fakeDisk
	reports  []string
	busy     int  // number of writes that fail, as with a busy database
	fenced   bool // another worker has claimed the run
	canceled bool // the cancellation was requested, and the worker does not know
	writes   int
	durable  bool // the last write was synced
}

func newFixture(t testing.TB, lines string, extra ...flow.Kind) *fixture {
	s := &fixture{t: t, g: graphOf(t, lines, extra...)}
	s.disk = newDisk(flow.Run{ID: "run_1", State: flow.RunQueued, Inputs: value.FromMap(map[string]any{"x": "hello"}), Timeout: flow.RunTimeout})
	s.engine = &Engine{Journal: s, Now: time.Now, Report: s.report, Secrets: &flow.Resolver{Store: fakeCredentials{}}}
	return s
}

// fakeCredentials has a credential for every name.
type fakeCredentials struct{ list []flow.Credential }

func (v fakeCredentials) ListCredentials(context.Context, flow.WorkspaceID) ([]flow.Credential, error) {
	return v.list, nil
}

func (fakeCredentials) OpenCredential(_ context.Context, _ flow.WorkspaceID, name string) (flow.Credential, string, error) {
	return flow.Credential{Name: name}, "secret of " + name, nil
}

func (s *fixture) report(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reports = append(s.reports, err.Error())
}

// WriteRun implements Journal.
func (s *fixture) WriteRun(_ context.Context, w flow.RunWrite) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fenced {
		return flow.ErrFenced
	}
	if s.busy--; s.busy >= 0 {
		return errors.New("the database is busy")
	}
	if s.canceled && w.End && w.Run.State != flow.RunCanceled {
		return flow.ErrCancelRequested
	}
	s.writes++
	s.durable = w.Durable
	return s.disk.write(&w)
}

// execute runs the run on a new worker.
func (s *fixture) execute(ctx context.Context, sig Signals) (Outcome, error) {
	s.mu.Lock()
	run, steps := s.disk.claim()
	s.mu.Unlock()
	return s.engine.Execute(ctx, NewPlan(s.g, run, steps, nil), sig)
}

// finish executes the run to its end and returns it.
func (s *fixture) finish() *flow.Run {
	s.t.Helper()
	outcome, err := s.execute(context.Background(), Signals{})
	if err != nil || outcome != Ended {
		s.t.Fatalf("outcome %d, error %v", outcome, err)
	}
	return &s.disk.run
}

func (s *fixture) step(id string) flow.Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.disk.rows[id]
	if !ok {
		return flow.Step{}
	}
	return r.decode()
}

// states lists "node state" for every recorded step, in graph order.
func (s *fixture) states() string {
	var b bytes.Buffer
	for i := range s.g.nodes {
		if step := s.step(s.g.nodes[i].ID); step.Path != "" {
			fmt.Fprintf(&b, "%s %s, ", step.Path, step.State)
		}
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func (s *fixture) wantStates(want string) {
	s.t.Helper()
	if got := s.states(); got != want {
		s.t.Errorf("steps:\n got %s\nwant %s", got, want)
	}
}

func (s *fixture) wantEnd(state flow.RunState, code flow.Code) {
	s.t.Helper()
	run := &s.disk.run
	if got := codeOf(run.Error); run.State != state || got != code {
		s.t.Errorf("the run is %s (%v), want %s %s", run.State, run.Error, state, code)
	}
}

func codeOf(e *flow.Error) flow.Code {
	if e == nil {
		return ""
	}
	return e.Code
}

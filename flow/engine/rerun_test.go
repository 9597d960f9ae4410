package engine

import (
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
	"sluice/flow/value"
)

// rerunFlow has two branches that join, an output for each and a webhook.
const rerunFlow = `
	x input {"name": "x"}
	y input {"name": "y"}
	a call
	b call
	c note_down
	oa output {"name": "a"}
	oc output {"name": "c"}
	h hook {"url": "https://example.com", "outputs": ["a"]}
	x.value -> a.values
	y.value -> b.values
	a.text -> c.values
	b.text -> c.values
	a.text -> oa.value
	c.text -> oc.value
	`

func TestRerun_reuses_unchanged_steps(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		flow   string // of the parent
		now    string // of the rerun, when it is another
		from   string
		inputs map[string]any
		states string
		sent   int
	}{
		{
			name: "of a successful run reuses everything, costs nothing and sends nothing", flow: rerunFlow,
			states: "x reused, y reused, a reused, b reused, oa reused, c reused, h reused, oc reused",
		}, {
			name: "from a node runs it and all downstream of it again", flow: rerunFlow, from: "b",
			states: "x reused, y reused, a reused, b succeeded, oa reused, c succeeded, h reused, oc succeeded",
		}, {
			name: "from a node whose output is sent sends it again", flow: rerunFlow, from: "oa", sent: 1,
			states: "x reused, y reused, a reused, b reused, oa succeeded, c reused, h succeeded, oc reused",
		}, {
			name: "runs everything downstream of a changed input again", flow: rerunFlow, inputs: map[string]any{"x": "other", "y": "two"}, sent: 1,
			states: "x succeeded, y reused, a succeeded, b reused, oa succeeded, c succeeded, h succeeded, oc succeeded",
		}, {
			name: "from an unknown node forces nothing", flow: rerunFlow, from: "nobody",
			states: "x reused, y reused, a reused, b reused, oa reused, c reused, h reused, oc reused",
		}, {
			name:   "runs failed steps again",
			flow:   "x input {\"name\": \"x\"}\n a flaky {} {\"on_error\": {\"continue\": {\"text\": \"t\"}}}\n b call\n x.value -> a.values\n a.text -> b.values",
			states: "x reused, a failed, b reused",
		}, {
			name: "runs a changed node again, and what depends on it only if its input changes",
			flow: "a fill {\"template\": \"one\"}\n b gate {\"take\": \"yes\"}\n c call\n a.text -> b.value\n b.yes -> c.values",
			now:  "a fill {\"template\": \"one\", \"style\": \"loud\"}\n b gate {\"take\": \"yes\"}\n c call\n a.text -> b.value\n b.yes -> c.values",

			states: "a succeeded, b reused, c reused",
		}, {
			name: "runs a node of another kind again",
			flow: "a call\n b think\n", now: "a think\n b think\n",
			states: "a succeeded, b reused",
		}, {
			name:   "skips what is skipped",
			flow:   "x input {\"name\": \"x\"}\n g gate {\"take\": \"no\"}\n a call\n x.value -> g.value\n g.yes -> a.values",
			states: "x reused, g reused, a skipped",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				parent := newPlanFixture(t, tt.flow)
				parent.disk.first.Inputs = value.FromMap(map[string]any{"x": "one", "y": "two"})
				parent.disk.run = parent.disk.first
				parent.finish()
				if tt.now == "" {
					tt.now = tt.flow
				}
				child := newPlanFixture(t, tt.now)
				child.disk.first.Inputs = value.FromMap(tt.inputs)
				if tt.inputs == nil {
					child.disk.first.Inputs = parent.disk.first.Inputs
				}
				child.disk.run = child.disk.first
				_, steps := parent.disk.claim()
				run, _ := child.disk.claim()
				reuse := NewReuse(child.g, steps, tt.from)
				if outcome, err := child.engine.Execute(t.Context(), NewPlan(child.g, run, nil, reuse), Signals{}); outcome != Ended || err != nil {
					t.Fatal(outcome, err)
				}
				if child.wantStates(tt.states); !strings.Contains(tt.states, "succeeded") && !strings.Contains(tt.states, "failed") && child.writes != 1 {
					t.Errorf("%d writes", child.writes)
				}
				if n := len(child.disk.deliveries()); n != tt.sent {
					t.Errorf("%d deliveries, want %d", n, tt.sent)
				}
				if tt.inputs == nil && tt.now == tt.flow {
					wantJSON(t, child.disk.run.Outputs, string(flow.EncodeJSON(parent.disk.run.Outputs)))
				}
				for i := range child.g.nodes {
					if s := child.step(child.g.nodes[i].ID); s.State == flow.StepReused && s.Usage != (flow.Usage{}) {
						t.Errorf("%s is reused and cost %+v", s.Path, s.Usage)
					}
				}
			})
		})
	}
}

// restored returns a plan with recorded steps, as after a crash.
func restored(t *testing.T, lines string, run flow.Run, steps ...flow.Step) *Plan {
	t.Helper()
	g := graphOf(t, lines)
	for i := range steps {
		steps[i].Node = steps[i].Path
	}
	run.ID, run.Timeout = "run_1", flow.RunTimeout
	return NewPlan(g, &run, steps, nil)
}

func TestNewPlan_restores_recorded_steps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	const two = "a call\n b call\n a.text -> b.values"
	done := flow.Step{Path: "a", State: flow.StepSucceeded, Outputs: map[string]any{"text": "t"}}
	refused := &flow.Error{Code: flow.CodeProviderAuth, Message: "refused", Node: "a"}
	tests := []struct {
		name  string
		run   flow.Run
		steps []flow.Step
		want  ActionType
		state flow.RunState
		code  flow.Code
	}{
		{"a recorded step does not run again", flow.Run{State: flow.RunRunning}, []flow.Step{done}, ActRecord, flow.RunRunning, ""},
		{"a run whose steps all ended only ends", flow.Run{State: flow.RunRunning}, []flow.Step{done, {Path: "b", State: flow.StepSucceeded}}, ActRecord, flow.RunSucceeded, ""},
		{"a recorded failure still fails the run", flow.Run{State: flow.RunRunning}, []flow.Step{{Path: "a", State: flow.StepFailed, Error: refused}}, ActRecord, flow.RunFailed, flow.CodeProviderAuth},
		{"a canceled run ends as canceled", flow.Run{State: flow.RunRunning, CancelRequested: true}, []flow.Step{done}, ActRecord, flow.RunCanceled, ""},
		{"canceled while queued", flow.Run{State: flow.RunQueued, CancelRequested: true}, nil, ActRecord, flow.RunCanceled, ""},
		{"canceled while waiting", flow.Run{State: flow.RunWaiting, CancelRequested: true}, []flow.Step{{Path: "a", State: flow.StepWaiting, WaitUntil: now.Add(time.Hour)}}, ActRecord, flow.RunCanceled, ""},
		{"a run that is woken too early waits again", flow.Run{State: flow.RunWaiting, WaitingSince: now.Add(-time.Minute)}, []flow.Step{{Path: "a", State: flow.StepWaiting, WaitUntil: now.Add(time.Hour)}}, ActRecord, flow.RunWaiting, ""},
		{"a short pause is waited for", flow.Run{State: flow.RunRunning}, []flow.Step{{Path: "a", State: flow.StepRetrying, WaitUntil: now.Add(time.Second)}}, ActWait, flow.RunRunning, ""},
		{"a pause that is over continues", flow.Run{State: flow.RunWaiting}, []flow.Step{{Path: "a", State: flow.StepWaiting, WaitUntil: now.Add(-time.Second)}}, ActRecord, flow.RunRunning, ""},
		{"an ended run has nothing to do", flow.Run{State: flow.RunCanceled}, []flow.Step{{Path: "a", State: flow.StepCanceled}}, ActEnd, flow.RunCanceled, ""},
		{"a run past its deadline fails", flow.Run{State: flow.RunRunning, DeadlineAt: now}, []flow.Step{done}, ActRecord, flow.RunFailed, flow.CodeRunTimeout},
		{"a run past its deadline succeeds if all steps have ended", flow.Run{State: flow.RunRunning, DeadlineAt: now}, []flow.Step{done, {Path: "b", State: flow.StepSucceeded}}, ActRecord, flow.RunSucceeded, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := restored(t, two, tt.run, tt.steps...)
			a := p.Next(now)
			if a.Type != tt.want || p.Run().State != tt.state || codeOf(p.Run().Error) != tt.code {
				t.Errorf("action %d, run %s %v; want %d, %s %s", a.Type, p.Run().State, p.Run().Error, tt.want, tt.state, tt.code)
			}
			if tt.state == flow.RunWaiting && p.Run().WaitingSince != now.Add(-time.Minute) {
				t.Errorf("the wait began again at %s", p.Run().WaitingSince)
			}
		})
	}
}

func TestNewPlan_restarts_interrupted_step_with_new_attempt(t *testing.T) {
	t.Parallel()
	p := restored(t, "a call", flow.Run{State: flow.RunRunning, Seq: 7}, flow.Step{Path: "a", State: flow.StepRunning, Attempt: 3, Saved: flow.Number(1), Usage: flowtest.OneCall})
	a := p.Next(time.Time{}.Add(time.Hour))
	if a.Type != ActRecord || len(a.Write.Steps) != 1 || a.Write.Steps[0].Attempt != 4 || a.Write.Steps[0].Seq != 8 {
		t.Fatalf("%+v", a.Write)
	}
	p.Recorded()
	if a = p.Next(time.Time{}.Add(time.Hour)); a.Type != ActStart || a.In.Attempt != 4 || a.In.State != flow.Number(1) || a.In.Key != "run_1:a" {
		t.Errorf("%+v", a.In)
	}
}

func TestPlan_hold_prevents_announced_steps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := restored(t, "a call", flow.Run{State: flow.RunQueued})
	if a := p.Next(now); a.Type != ActRecord {
		t.Fatal(a)
	}
	p.Hold()
	p.Recorded()
	if a := p.Next(now); a.Type != ActWait || !p.Held() {
		t.Errorf("%+v, held %v", a, p.Held())
	}
}

func TestPlan_cancel_during_pending_write(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := restored(t, "a call", flow.Run{State: flow.RunRunning}, flow.Step{Path: "a", State: flow.StepWaiting, WaitUntil: now.Add(time.Hour)})
	if a := p.Next(now); a.Type != ActRecord || a.Write.Run.State != flow.RunWaiting || a.Write.WakeAt != now.Add(time.Hour) {
		t.Fatal(a)
	}
	p.Cancel()
	p.Recorded()
	if a := p.Next(now); a.Type != ActRecord || a.Write.Run.State != flow.RunCanceled || a.Write.Steps[0].State != flow.StepCanceled {
		t.Errorf("%+v", a)
	}
}

func TestPlan_suspension_without_time_continues_immediately(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := restored(t, "a note_down", flow.Run{State: flow.RunRunning})
	for range 2 {
		if a := p.Next(now); a.Type != ActInline {
			t.Fatalf("%+v", a)
		}
		p.Finish(0, flow.Out{Suspend: &flow.Suspension{}}, nil, now)
	}
}

func TestPlan_of_empty_graph_only_ends(t *testing.T) {
	t.Parallel()
	p := NewPlan(EmptyGraph(), &flow.Run{ID: "run_1", State: flow.RunRunning, Usage: flowtest.OneCall}, nil, nil)
	p.Fail(flow.Errorf(flow.CodeInternal, "unreadable"))
	if a := p.Next(time.Now()); a.Type != ActRecord || !a.Write.End || a.Write.Run.State != flow.RunFailed || a.Write.Run.Usage != flowtest.OneCall {
		t.Errorf("%+v", a.Write)
	}
}

func TestBackoff_doubles_up_to_a_day(t *testing.T) {
	t.Parallel()
	tests := []struct {
		backoff  float64
		failures int
		after    time.Duration
		want     time.Duration
	}{
		{2, 1, 0, 2 * time.Second}, {2, 2, 0, 4 * time.Second}, {2, 5, 0, 32 * time.Second},
		{2, 1, time.Minute, time.Minute}, {90, 1, time.Minute, 90 * time.Second},
		{3600, 20, 0, 24 * time.Hour}, {0, 3, 0, 0}, {0, 1, 1000 * time.Hour, 24 * time.Hour},
	}
	for _, tt := range tests {
		if got := backoff(&flow.Retry{BackoffS: tt.backoff}, tt.failures, tt.after); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}

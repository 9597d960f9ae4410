package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

// fakeService does external work for steps, which continues without them.
type fakeService struct {
	mu        sync.Mutex
	begun     int
	abandoned []any
	tell      func(ctx context.Context) error // called on cleanup, if set
}

func (d *fakeService) cleanedUp() []any {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.abandoned
}

// ship returns a kind that begins one job at the service and waits takes_s seconds for it. It
// saves the number of the job and resumes it after a crash or a failure.
func (d *fakeService) ship() flow.Kind {
	k := flowtest.WorkKind("ship", flow.Outside)
	k.Fields = append(k.Fields, flow.Field{Name: "fail", Type: flow.FieldText, Typed: true})
	k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) {
		if in.State == nil {
			if err := d.begin(ctx, in); err != nil {
				return flow.Out{}, err
			}
		}
		if pause, _ := flow.Float(in.Config["pause_s"]); pause > 0 {
			return flow.Out{Suspend: &flow.Suspension{Until: time.Now().Add(flowtest.Seconds(pause)), State: in.State}}, nil
		}
		takes, _ := flow.Float(in.Config["takes_s"])
		select {
		case <-time.After(flowtest.Seconds(takes)):
		case <-ctx.Done():
			return flow.Out{}, ctx.Err()
		}
		if how := in.Text("fail"); how != "" {
			if how == "forgotten" {
				if err := in.Save(ctx, nil); err != nil {
					return flow.Out{}, err
				}
			}
			return flow.Out{}, &flow.Error{Code: flow.CodeProviderUnavailable, Message: "The fakeService is closed.", Retryable: true}
		}
		return flow.Out{Outputs: map[string]any{"text": flow.Text(in.State)}}, nil
	}
	k.Cleanup = func(ctx context.Context, in *flow.In) error {
		d.mu.Lock()
		d.abandoned = append(d.abandoned, in.State)
		d.mu.Unlock()
		if d.tell != nil {
			return d.tell(ctx)
		}
		return nil
	}
	return k
}

func (d *fakeService) begin(ctx context.Context, in *flow.In) error {
	d.mu.Lock()
	d.begun++
	number := flow.Number(d.begun)
	d.mu.Unlock()
	in.State = number
	return in.Save(ctx, number)
}

func TestSave_hands_state_to_next_attempt(t *testing.T) {
	tests := []struct {
		name, flow   string
		begun, saves int
	}{
		{"is kept until the step succeeds", `a ship {"takes_s": 9}`, 1, 1},
		{"is handed to the next attempt", `a ship {"takes_s": 9} {"timeout_s": 5, "retry": {"attempts": 3, "backoff_s": 1}}`, 1, 1},
		{"is handed to the next attempt that fails", `a ship {"fail": "yes"} {"retry": {"attempts": 3}}`, 1, 1},
		{"may be deleted, so that the next attempt starts over", `a ship {"fail": "forgotten"} {"retry": {"attempts": 3}}`, 3, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				d := &fakeService{}
				s := newFixture(t, tt.flow, d.ship())
				if s.finish(); d.begun != tt.begun {
					t.Errorf("%d begun, want %d", d.begun, tt.begun)
				}
				if saved := s.disk.saves("a"); saved != tt.saves {
					t.Errorf("%d changes of the state on disk, want %d", saved, tt.saves)
				}
			})
		})
	}
}

// saves counts how often the state of a step changed on disk, except at its end.
func (d *fakeDisk) saves(path string) int {
	n, last := 0, "null"
	for _, w := range d.log {
		for _, r := range w.rows {
			if now := string(r.saved); r.step.Path == path && now != last && !r.step.State.Ended() {
				n, last = n+1, now
			}
		}
	}
	return n
}

func TestSave_returns_after_state_is_on_disk(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		var s *fixture
		d := &fakeService{}
		k := d.ship()
		k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) {
			s.mu.Lock()
			s.busy = 3 // the database is busy for a while
			s.mu.Unlock()
			if err := d.begin(ctx, in); err != nil {
				return flow.Out{}, err
			}
			if row := s.step("a"); flow.Text(row.Saved) != "1" || row.State != flow.StepRunning || s.disk.synced != len(s.disk.log) {
				t.Errorf("saved and not on disk: %+v", row)
			}
			return flow.Out{}, nil
		}
		s = newFixture(t, "a ship", k)
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		wantTime(t, passed(), 350*time.Millisecond)
	})
}

// TestSave_resumes_state_after_crash kills the worker and continues on another.
func TestSave_resumes_state_after_crash(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		d := &fakeService{}
		s := newFixture(t, `a ship {"takes_s": 9}`, d.ship())
		ctx, kill := context.WithTimeout(t.Context(), 5*time.Second)
		defer kill()
		if outcome, _ := s.execute(ctx, Signals{}); outcome != HandedBack {
			t.Fatal(outcome)
		}
		s.finish()
		if s.wantEnd(flow.RunSucceeded, ""); d.begun != 1 || len(d.cleanedUp()) != 0 || flow.Text(s.step("a").Outputs["text"]) != "1" {
			t.Errorf("%d begun, %v abandoned, %v", d.begun, d.cleanedUp(), s.step("a").Outputs)
		}
		wantTime(t, passed(), 14*time.Second)
	})
}

// TestSave_reports_whether_state_may_be_on_disk checks that a step whose worker releases the run
// learns whether its state is certainly not on disk.
func TestSave_reports_whether_state_may_be_on_disk(t *testing.T) {
	tests := []struct {
		name  string
		stand func(s *fixture, kill func()) // makes the write fail
		sure  bool
	}{
		{"another worker has claimed the run", func(s *fixture, _ func()) { s.fenced = true }, true},
		{"the worker is killed before the state is passed", func(_ *fixture, kill func()) { kill() }, true},
		{"the worker is killed while the disk is full", func(s *fixture, kill func()) { s.busy = 1000; time.AfterFunc(time.Minute, kill) }, false},
		{"another worker has claimed the run after the disk was full", func(s *fixture, _ func()) {
			s.busy = 1000
			time.AfterFunc(time.Minute, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.busy, s.fenced = 0, true
			})
		}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				var s *fixture
				var failure error
				ctx, kill := context.WithCancel(t.Context())
				defer kill()
				k := (&fakeService{}).ship()
				k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) {
					s.mu.Lock()
					tt.stand(s, kill)
					s.mu.Unlock()
					synctest.Wait()
					failure = in.Save(ctx, "x")
					return flow.Out{}, failure
				}
				s = newFixture(t, "a ship", k)
				if outcome, _ := s.execute(ctx, Signals{}); outcome != HandedBack || failure == nil || errors.Is(failure, flow.ErrNotSaved) != tt.sure {
					t.Errorf("outcome %d, the step was told %v", outcome, failure)
				}
			})
		})
	}
}

func TestSave_rejects_inline_step(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		k := flowtest.WorkKind("quick", flow.Inline)
		k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) { return flow.Out{}, in.Save(ctx, "x") }
		s := newFixture(t, "a quick", k)
		s.finish()
		s.wantEnd(flow.RunFailed, flow.CodeInternal)
	})
}

// TestCleanup_runs_once_for_abandoned_step checks that every step with a saved state that will
// not continue is cleaned up once, and that a step that may continue never is.
func TestCleanup_runs_once_for_abandoned_step(t *testing.T) {
	tests := []struct {
		name, flow string
		cancel     bool // after three seconds
		timeout    time.Duration
		end        flow.RunState
		told       int
	}{
		{"when the run is canceled", `a ship {"takes_s": 50}`, true, 0, flow.RunCanceled, 1},
		{"when the step takes too long", `a ship {"takes_s": 50} {"timeout_s": 2}`, false, 0, flow.RunFailed, 1},
		{"when its failure is routed", `a ship {"fail": "yes"} {"on_error": "route"}`, false, 0, flow.RunSucceeded, 1},
		{"when all attempts have failed, once", `a ship {"fail": "yes"} {"retry": {"attempts": 4, "backoff_s": 1}}`, false, 0, flow.RunFailed, 1},
		{"when the run takes too long", `a ship {"takes_s": 50}`, false, 5 * time.Second, flow.RunFailed, 1},
		{"when another step fails", "a ship {\"takes_s\": 50}\n b call {\"takes_s\": 9} {\"timeout_s\": 2}", false, 0, flow.RunFailed, 1},
		{"when the run is canceled between two attempts", `a ship {"fail": "yes"} {"retry": {"attempts": 4, "backoff_s": 20}}`, true, 0, flow.RunCanceled, 1},
		{"once for each step", "a ship {\"takes_s\": 50}\n b ship {\"takes_s\": 50}", true, 0, flow.RunCanceled, 2},
		{"not when it succeeds", `a ship {"takes_s": 1}`, false, 0, flow.RunSucceeded, 0},
		{"not when the state was deleted", `a ship {"fail": "forgotten"}`, false, 0, flow.RunFailed, 0},
		{"not when nothing was saved", `a call {"takes_s": 50}`, true, 0, flow.RunCanceled, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				d := &fakeService{}
				s := newFixture(t, tt.flow, d.ship())
				if tt.timeout > 0 {
					s.disk.first.Timeout, s.disk.run.Timeout = tt.timeout, tt.timeout
				}
				sig := Signals{}
				if tt.cancel {
					sig.Cancel = after(3 * time.Second)
				}
				if outcome, err := s.execute(t.Context(), sig); outcome != Ended || err != nil {
					t.Fatal(outcome, err)
				}
				if s.disk.run.State != tt.end || len(d.cleanedUp()) != tt.told {
					t.Errorf("the run is %s, %d told of", s.disk.run.State, len(d.cleanedUp()))
				}
				if a := s.step("a"); a.Saved != nil {
					t.Errorf("the state is kept: %+v", a)
				}
			})
		})
	}
}

func TestCleanup_runs_for_waiting_step(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		d := &fakeService{}
		s := newFixture(t, `a ship {"pause_s": 600}`, d.ship())
		if outcome, err := s.execute(t.Context(), Signals{}); outcome != Suspended || err != nil {
			t.Fatal(outcome, err)
		}
		s.disk.canceled = true
		s.finish()
		if s.wantEnd(flow.RunCanceled, ""); len(d.cleanedUp()) != 1 || flow.Text(d.cleanedUp()[0]) != "1" || d.begun != 1 {
			t.Errorf("told of %v, %d begun", d.cleanedUp(), d.begun)
		}
		wantTime(t, passed(), 0)
	})
}

func TestCleanup_does_not_run_at_shutdown(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		d := &fakeService{}
		s := newFixture(t, `a ship {"takes_s": 50}`, d.ship())
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if outcome, _ := s.execute(ctx, Signals{Hold: after(0)}); outcome != HandedBack || len(d.cleanedUp()) != 0 {
			t.Errorf("outcome %d, told of %v", outcome, d.cleanedUp())
		}
	})
}

// TestCleanup_failure_does_not_block_run checks that a failed cleanup keeps neither the run from
// ending nor other steps from being canceled.
func TestCleanup_failure_does_not_block_run(t *testing.T) {
	tests := []struct {
		name   string
		tell   func(ctx context.Context) error
		takes  time.Duration
		report string
	}{
		{"it fails", func(context.Context) error { return errors.New("nobody answers") }, 0, "clean up step run_1:a: nobody answers"},
		{"it panics", func(context.Context) error { panic("oops") }, 0, "panic: oops"},
		{"it hangs", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, cleanupTimeout, "deadline"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
				d := &fakeService{tell: tt.tell}
				var stopped time.Duration
				other := flowtest.WorkKind("other", flow.Outside)
				other.Run = func(ctx context.Context, _ *flow.In) (flow.Out, error) {
					<-ctx.Done()
					stopped = passed()
					return flow.Out{}, ctx.Err()
				}
				s := newFixture(t, "a ship {\"fail\": \"yes\", \"takes_s\": 3}\n b other", d.ship(), other)
				s.finish()
				s.wantEnd(flow.RunFailed, flow.CodeProviderUnavailable)
				wantTime(t, passed(), 3*time.Second+tt.takes)
				wantTime(t, stopped, 3*time.Second)
				if len(s.reports) != 1 || !strings.Contains(s.reports[0], tt.report) {
					t.Errorf("reported: %q", s.reports)
				}
			})
		})
	}
}

func TestEngine_redacts_secrets_in_streamed_text_and_outputs(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		var emitted []string
		k := flowtest.WorkKind("leak", flow.Outside)
		k.Fields = []flow.Field{{Name: "secret", Title: "Secret", Type: flow.FieldSecret}}
		k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) {
			access, err := in.Access(ctx, "acme", in.Config["secret"])
			in.Emit("at first " + access.Secret)
			return flow.Out{Outputs: map[string]any{"text": "with " + access.Secret}}, err
		}
		s := newFixture(t, `a leak {"secret": {"credential": "acme"}}`, k)
		s.engine.Emit = func(runID flow.RunID, path string, attempt int, text string) {
			if runID != "run_1" || path != "a" || attempt != 1 {
				t.Errorf("emitted by %s %s %d", runID, path, attempt)
			}
			emitted = append(emitted, text)
		}
		s.finish()
		if got := s.step("a").Outputs["text"]; got != "with "+flow.Redacted || len(emitted) != 1 || emitted[0] != "at first "+flow.Redacted {
			t.Errorf("gave %q, emitted %q", got, emitted)
		}
	})
}

// shapedKind returns a kind with a field and an output for every name in its config. Without
// names it accepts any input with its prefix.
func shapedKind() flow.Kind {
	k := flowtest.WorkKind("shaped", flow.Outside)
	k.Fields = []flow.Field{{Name: "names", Title: "Names", Type: flow.FieldList, Typed: true}}
	k.DynamicSchema = func(n *flow.Node) flow.DynamicSchema {
		list, known := n.Config["names"].([]any)
		if !known {
			return flow.DynamicSchema{Open: "in."}
		}
		var s flow.DynamicSchema
		for _, name := range list {
			s.Fields = append(s.Fields, flow.Field{Name: "in." + flow.Text(name), Type: flow.FieldText, Template: true})
			s.Outputs = append(s.Outputs, flow.Port{Name: flow.Text(name), Type: flow.TypeAny})
		}
		return s
	}
	k.Run = func(_ context.Context, in *flow.In) (flow.Out, error) {
		return flow.Out{Outputs: map[string]any{"text": string(flow.EncodeJSON([]any{in.Config, in.Ports})), "x": in.Config["in.x"]}}, nil
	}
	return k
}

func TestEngine_supports_dynamic_ports(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, `
			i input {"name": "x"}
			a shaped {"names": ["x", "y", "error", "text"], "in.y": "say {{word}}"}
			b shaped
			o output {"name": "o"}
			i.value -> a.in.x
			i.value -> a.word
			a.x -> b.in.anything.at.all
			a.x -> o.value`, shapedKind())
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		if got := s.disk.run.Outputs.Get("o"); got != "hello" {
			t.Errorf("gave %v", got)
		}
		want := `[{"in.x":"hello","in.y":"say hello","names":["x","y","error","text"]},{"in.x":"hello","word":"hello"}]`
		if got := s.step("a").Outputs["text"]; got != want {
			t.Errorf("was given %s, want %s", got, want)
		}
		if got := s.step("b").Outputs["text"]; got != `[{},{"in.anything.at.all":"hello"}]` {
			t.Errorf("was given %s", got)
		}
	})
}

func TestCompile_validates_dynamic_ports(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, flow, code string }{
		{"a field that the config does not declare", `a shaped {"names": ["x"], "in.y": "1"}`, "unknown_field"},
		{"an edge to a port that it does not declare", "i input {\"name\": \"x\"}\n a shaped {\"names\": [\"x\"]}\n i.value -> a.in.y", "dangling"},
		{"an edge from a port that it does not declare", "a shaped {\"names\": [\"x\"]}\n b call\n a.y -> b.text", "dangling"},
		{"an open port without a name", "i input {\"name\": \"x\"}\n a shaped\n i.value -> a.in.", "dangling"},
		{"two edges to an open port", "i input {\"name\": \"x\"}\n a shaped\n i.value -> a.in.x\n i.value -> a.in.x", "duplicate"},
		{"the config cannot declare the error port", "a shaped {\"names\": [\"error\"]}\n b call\n a.error -> b.values", "dangling"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, problems := document.ParseDocument(flowtest.Document(tt.flow))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			if got := document.Validate(d, flowtest.KindsAnd(shapedKind())); len(got) != 1 || got[0].Code != tt.code {
				t.Errorf("got %v, want one %s", got, tt.code)
			}
		})
	}
}

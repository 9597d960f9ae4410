package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
)

func TestEngine_hold_releases_run_after_running_steps(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `
			a call {"takes_s": 10}
			b call {"takes_s": 10}
			p call {"pauses": 1, "pause_s": 20}
			a.text -> b.values`)
		outcome, err := s.execute(t.Context(), Signals{Hold: after(3 * time.Second)})
		if outcome != HandedBack || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 10*time.Second)
		s.wantStates("a succeeded, p running")
		s.finish()
		wantTime(t, passed(), 20*time.Second)
		s.wantEnd(flow.RunSucceeded, "")
		if a := s.step("a"); a.Attempt != 1 {
			t.Errorf("a recorded step ran %d times", a.Attempt)
		}
	})
}

// TestEngine_stops_computing_when_the_process_ends checks that a step that computes gets a moment, that one which
// has side effects finishes, and that the next worker repeats only the former.
func TestEngine_stops_computing_when_the_process_ends(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `
			a call {"takes_s": 10}
			b think {"takes_s": 50}
			c call {"takes_s": 3}
			d think {"takes_s": 50}
			e call {}
			c.text -> d.values
			a.text -> e.values`)
		outcome, err := s.execute(t.Context(), Signals{Ending: after(3500 * time.Millisecond)})
		if outcome != HandedBack || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 10*time.Second)
		s.wantStates("a succeeded, b running, c succeeded, d running")
		s.finish()
		wantTime(t, passed(), 60*time.Second)
		s.wantEnd(flow.RunSucceeded, "")
		for id, attempts := range map[string]int{"a": 1, "b": 2, "c": 1, "d": 2, "e": 1} {
			if got := s.step(id).Attempt; got != attempts {
				t.Errorf("%s has %d attempts, want %d", id, got, attempts)
			}
		}
	})
}

func TestEngine_stops_repeatable_steps_when_the_process_ends(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		repeatable := flowtest.WorkKind("repeat", flow.Outside)
		repeatable.Repeatable = true
		s := newFixture(t, `a repeat {"takes_s": 50}`, repeatable)
		if outcome, err := s.execute(t.Context(), Signals{Ending: after(0)}); outcome != HandedBack || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), moment)
		s.wantStates("a running")
	})
}

func TestEngine_goes_on_with_short_steps_when_the_process_ends(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, `
			a call {"takes_s": 3}
			b think {}
			a.text -> b.values`)
		if outcome, err := s.execute(t.Context(), Signals{Ending: after(time.Second)}); outcome != Ended || err != nil {
			t.Errorf("a run without long computing: %v, %v", outcome, err)
		}
	})
}

func TestEngine_cancels_computing_when_the_process_ends(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `a think {"takes_s": 50}`)
		if outcome, err := s.execute(t.Context(), Signals{Ending: after(3 * time.Second), Cancel: after(3 * time.Second)}); outcome != Ended && outcome != HandedBack || err != nil {
			t.Errorf("a canceled run: %v, %v", outcome, err)
		}
		wantTime(t, passed(), 3*time.Second)
	})
}

func TestEngine_hold_releases_paused_run(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `a call {"pauses": 1, "pause_s": 20}`)
		if outcome, err := s.execute(t.Context(), Signals{Hold: after(3 * time.Second)}); outcome != HandedBack || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 3*time.Second)
	})
}

func TestEngine_records_nothing_after_context_ends(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, "a call {\"takes_s\": 50}\n b think {\"takes_s\": 50}")
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		outcome, err := s.execute(ctx, Signals{})
		if outcome != HandedBack || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 3*time.Second)
		s.wantStates("a running, b running")
		if s.writes != 1 {
			t.Errorf("%d writes, want the one before the steps began", s.writes)
		}
	})
}

func TestEngine_context_ends_inline_chain(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		ctx, stop := context.WithCancel(t.Context())
		s, ran := chain(t, 1000, 500, stop)
		if outcome, err := s.execute(ctx, Signals{}); outcome != HandedBack || err == nil {
			t.Fatal(outcome, err)
		}
		if *ran != 500 || s.writes != 0 {
			t.Errorf("%d steps, %d writes", *ran, s.writes)
		}
	})
}

func TestEngine_cancels_inline_chain(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		cancel := make(chan struct{})
		s, ran := chain(t, 1000, 500, func() { close(cancel) })
		if outcome, err := s.execute(t.Context(), Signals{Cancel: cancel}); outcome != Ended || err != nil {
			t.Fatal(outcome, err)
		}
		s.wantEnd(flow.RunCanceled, "")
		if *ran != 500 || s.writes != 1 {
			t.Errorf("%d steps, %d writes", *ran, s.writes)
		}
	})
}

// chain is a run of n inline steps; one of them calls do.
func chain(t *testing.T, length, at int, do func()) (*fixture, *int) {
	ran := new(int)
	k := flowtest.WorkKind("link", flow.Inline)
	k.Run = func(context.Context, *flow.In) (flow.Out, error) {
		if *ran++; *ran == at {
			do()
		}
		return flow.Out{Outputs: map[string]any{"text": "on"}}, nil
	}
	var lines strings.Builder
	for i := range length {
		fmt.Fprintf(&lines, "n%d link\n", i)
		if i > 0 {
			fmt.Fprintf(&lines, "n%d.text -> n%d.values\n", i-1, i)
		}
	}
	return newFixture(t, lines.String(), k), ran
}

func TestEngine_suspends_run_during_long_pauses(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `
			a call {"pauses": 1, "pause_s": 30}
			b call {"pauses": 2, "pause_s": 3600}
			a.text -> b.values`)
		for i, at := range []time.Duration{30 * time.Second, 30*time.Second + time.Hour} {
			if outcome, err := s.execute(t.Context(), Signals{}); outcome != Suspended || err != nil {
				t.Fatal(i, outcome, err)
			}
			wantTime(t, passed(), at)
			if s.disk.run.State != flow.RunWaiting || time.Until(s.disk.wakeAt()) != time.Hour {
				t.Errorf("%s until %s", s.disk.run.State, s.disk.wakeAt())
			}
			time.Sleep(time.Hour)
		}
		s.finish()
		s.wantEnd(flow.RunSucceeded, "") // although it took twice its time limit
	})
}

// TestEngine_passes_shared_clock_to_steps runs a step on a machine whose clock is an hour
// behind the clock that the instances share.
func TestEngine_passes_shared_clock_to_steps(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		told := time.Time{}
		k := flowtest.WorkKind("asking", flow.Outside)
		k.Run = func(_ context.Context, in *flow.In) (flow.Out, error) {
			told = in.Now()
			return flow.Out{Outputs: map[string]any{"text": "now"}}, nil
		}
		s := newFixture(t, "a asking {}", k)
		s.engine.Now = func() time.Time { return time.Now().Add(time.Hour) }
		s.finish()
		wantTime(t, time.Until(told), time.Hour)
	})
}

func TestEngine_stops_when_fenced(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, "a call {\"takes_s\": 5}\n b call {\"takes_s\": 50}")
		time.AfterFunc(time.Second, func() {
			s.mu.Lock()
			s.fenced = true
			s.mu.Unlock()
		})
		outcome, err := s.execute(t.Context(), Signals{})
		if outcome != HandedBack || !errors.Is(err, flow.ErrFenced) {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 5*time.Second)
		s.wantStates("a running, b running")
	})
}

func TestEngine_waits_for_aborted_steps(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		var done sync.WaitGroup
		k := flowtest.WorkKind("stubborn", flow.Outside)
		k.Run = func(ctx context.Context, _ *flow.In) (flow.Out, error) {
			done.Add(1)
			defer done.Done()
			<-ctx.Done()
			time.Sleep(2 * time.Second) // cleaning up
			return flow.Out{}, ctx.Err()
		}
		s := newFixture(t, "a stubborn", k)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, _ = s.execute(ctx, Signals{})
		wantTime(t, passed(), 3*time.Second)
		done.Wait()
	})
}

// TestEngine_batches_writes counts writes, because each waits for the disk.
func TestEngine_batches_writes(t *testing.T) {
	tests := []struct {
		name, flow string
		writes     int
	}{
		{"inline steps are recorded with the end of the run", "x input {\"name\": \"x\"}\n o output {\"name\": \"o\"}\n x.value -> o.value", 1},
		{"a final effect is recorded with the end of the run", "a call", 2},
		{"an effect is recorded before its dependents start", "a call\n o output {\"name\": \"o\"}\n a.text -> o.value", 3},
		{"a computation is recorded with the start of its dependents", "a think\n b think\n a.text -> b.values", 3},
		{"a failure is recorded with the end of the run", "a flaky\n b call\n a.text -> b.values", 2},
		{"a computation is recorded while other steps run", "a think {\"takes_s\": 1}\n b think {\"takes_s\": 3}", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				s := newPlanFixture(t, tt.flow)
				if s.finish(); s.writes != tt.writes {
					t.Errorf("%d writes, want %d", s.writes, tt.writes)
				}
			})
		})
	}
}

// TestEngine_ends_run_after_start_despite_slow_clock executes a run on a machine whose clock is
// an hour behind that of the machine that started it.
func TestEngine_ends_run_after_start_despite_slow_clock(t *testing.T) {
	t.Parallel()
	s := newFixture(t, "a input {\"name\":\"x\"}\no output {\"name\":\"y\"}\na.value -> o.value")
	ahead := time.Now().Add(time.Hour)
	s.disk.run.CreatedAt, s.disk.run.StartedAt, s.disk.run.State = ahead, ahead, flow.RunRunning
	s.disk.run.DeadlineAt = ahead.Add(flow.RunTimeout)
	run := s.finish()
	if run.State != flow.RunSucceeded || run.EndedAt.Before(run.StartedAt) {
		t.Errorf("the run is %s; it began %s and ended %s", run.State, run.StartedAt, run.EndedAt)
	}
	for _, id := range []string{"a", "o"} {
		if st := s.step(id); st.StartedAt.Before(ahead) || st.EndedAt.Before(st.StartedAt) {
			t.Errorf("step %s began %s and ended %s", id, st.StartedAt, st.EndedAt)
		}
	}
}

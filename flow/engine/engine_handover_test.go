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

func TestEngineHold(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `
			a call {"takes_s": 10}
			b call {"takes_s": 10}
			p call {"pauses": 1, "pause_s": 20}
			a.text -> b.values`)
		outcome, err := s.carry(t.Context(), Signals{Hold: after(3 * time.Second)})
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

func TestEngineHoldOfAnIdleRun(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `a call {"pauses": 1, "pause_s": 20}`)
		if outcome, err := s.carry(t.Context(), Signals{Hold: after(3 * time.Second)}); outcome != HandedBack || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 3*time.Second)
	})
}

func TestEngineContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, "a call {\"takes_s\": 50}\n b think {\"takes_s\": 50}")
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		outcome, err := s.carry(ctx, Signals{})
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

func TestEngineContextEndsAnInlineChain(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		ctx, stop := context.WithCancel(t.Context())
		s, ran := chain(t, 1000, 500, stop)
		if outcome, err := s.carry(ctx, Signals{}); outcome != HandedBack || err == nil {
			t.Fatal(outcome, err)
		}
		if *ran != 500 || s.writes != 0 {
			t.Errorf("%d steps, %d writes", *ran, s.writes)
		}
	})
}

func TestEngineCancelsAnInlineChain(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		cancel := make(chan struct{})
		s, ran := chain(t, 1000, 500, func() { close(cancel) })
		if outcome, err := s.carry(t.Context(), Signals{Cancel: cancel}); outcome != Ended || err != nil {
			t.Fatal(outcome, err)
		}
		s.wantEnd(flow.RunCanceled, "")
		if *ran != 500 || s.writes != 1 {
			t.Errorf("%d steps, %d writes", *ran, s.writes)
		}
	})
}

// chain is a run of n inline steps; one of them calls do.
func chain(t *testing.T, length, at int, do func()) (*station, *int) {
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
	return newStation(t, lines.String(), k), ran
}

func TestEngineSuspends(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `
			a call {"pauses": 1, "pause_s": 30}
			b call {"pauses": 2, "pause_s": 3600}
			a.text -> b.values`)
		for i, at := range []time.Duration{30 * time.Second, 30*time.Second + time.Hour} {
			if outcome, err := s.carry(t.Context(), Signals{}); outcome != Suspended || err != nil {
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

// TestEngineTellsTheSharedTime runs a step on a machine whose clock is an hour
// behind the time that the instances share.
func TestEngineTellsTheSharedTime(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		told := time.Time{}
		k := flowtest.WorkKind("asking", flow.Outside)
		k.Run = func(_ context.Context, in *flow.In) (flow.Out, error) {
			told = in.Now()
			return flow.Out{Outputs: map[string]any{"text": "now"}}, nil
		}
		s := newStation(t, "a asking {}", k)
		s.engine.Now = func() time.Time { return time.Now().Add(time.Hour) }
		s.finish()
		wantTime(t, time.Until(told), time.Hour)
	})
}

func TestEngineFenced(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, "a call {\"takes_s\": 5}\n b call {\"takes_s\": 50}")
		time.AfterFunc(time.Second, func() {
			s.mu.Lock()
			s.fenced = true
			s.mu.Unlock()
		})
		outcome, err := s.carry(t.Context(), Signals{})
		if outcome != HandedBack || !errors.Is(err, flow.ErrFenced) {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 5*time.Second)
		s.wantStates("a running, b running")
	})
}

func TestEngineWaitsForItsSteps(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		var done sync.WaitGroup
		k := flowtest.WorkKind("stubborn", flow.Outside)
		k.Run = func(ctx context.Context, _ *flow.In) (flow.Out, error) {
			done.Add(1)
			defer done.Done()
			<-ctx.Done()
			time.Sleep(2 * time.Second) // cleaning up
			return flow.Out{}, ctx.Err()
		}
		s := newStation(t, "a stubborn", k)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, _ = s.carry(ctx, Signals{})
		wantTime(t, passed(), 3*time.Second)
		done.Wait()
	})
}

// TestEngineWrites counts them: each is a wait for the disk.
func TestEngineWrites(t *testing.T) {
	tests := []struct {
		name, flow string
		writes     int
	}{
		{"inline steps are recorded with the end", "x input {\"name\": \"x\"}\n o output {\"name\": \"o\"}\n x.value -> o.value", 1},
		{"a last effect is recorded with the end", "a call", 2},
		{"an effect is recorded before what depends on it", "a call\n o output {\"name\": \"o\"}\n a.text -> o.value", 3},
		{"a computation is recorded with what it leads to", "a think\n b think\n a.text -> b.values", 3},
		{"a failure is recorded with the end", "a flaky\n b call\n a.text -> b.values", 2},
		{"but not later than others go on", "a think {\"takes_s\": 1}\n b think {\"takes_s\": 3}", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ func() time.Duration) {
				s := planStation(t, tt.flow)
				if s.finish(); s.writes != tt.writes {
					t.Errorf("%d writes, want %d", s.writes, tt.writes)
				}
			})
		})
	}
}

// TestRunEndsAfterItBegan hands a run over to a machine whose clock is an hour
// behind the one that accepted and began it.
func TestRunEndsAfterItBegan(t *testing.T) {
	t.Parallel()
	s := newStation(t, "a input {\"name\":\"x\"}\no output {\"name\":\"y\"}\na.value -> o.value")
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

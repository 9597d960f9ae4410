package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
	"sluice/flow/worktime"
)

// inFakeTime runs a test with a fake clock. passed returns the time since the start.
func inFakeTime(t *testing.T, f func(t *testing.T, passed func() time.Duration)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f(t, func() time.Duration { return time.Since(begin) })
	})
}

func wantTime(t *testing.T, got, want time.Duration) {
	t.Helper()
	if got != want {
		t.Errorf("took %s, want %s", got, want)
	}
}

// after returns a channel that is closed after d.
func after(d time.Duration) chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

func TestEngine_runs_up_to_16_steps_in_parallel(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		var now, most atomic.Int64
		k := flowtest.WorkKind("count", flow.Outside)
		k.Run = func(context.Context, *flow.In) (flow.Out, error) {
			for n, before := now.Add(1), most.Load(); n > before && !most.CompareAndSwap(before, n); before = most.Load() {
			}
			time.Sleep(10 * time.Second)
			now.Add(-1)
			return flow.Out{}, nil
		}
		var lines strings.Builder
		for i := range flow.StepParallel + 4 {
			fmt.Fprintf(&lines, "n%d count\n", i)
		}
		s := newFixture(t, lines.String(), k)
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		wantTime(t, passed(), 20*time.Second)
		if most.Load() != flow.StepParallel {
			t.Errorf("%d at once, want %d", most.Load(), flow.StepParallel)
		}
	})
}

func TestEngine_cancel_aborts_running_step(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, "a call {\"takes_s\": 50}\n b call\n a.text -> b.values")
		cancel := after(3 * time.Second)
		if outcome, err := s.execute(t.Context(), Signals{Cancel: cancel}); outcome != Ended || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 3*time.Second)
		s.wantEnd(flow.RunCanceled, "")
		s.wantStates("a canceled")
	})
}

func TestEngine_failure_cancels_other_steps(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `
			slow call {"takes_s": 50}
			bad  call {"takes_s": 100} {"timeout_s": 2}
			deep call
			slow.text -> deep.values`)
		s.finish()
		wantTime(t, passed(), 2*time.Second)
		s.wantEnd(flow.RunFailed, flow.CodeStepTimeout)
		s.wantStates("slow canceled, bad failed")
	})
}

func TestEngine_invalid_input_cancels_other_steps(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `
			slow call {"takes_s": 50}
			list ask  {"take": "yes"}
			bad  call
			x input {"name": "x"}
			x.value -> list.value
			list.yes -> bad.text`)
		s.disk.first.Inputs.Set("x", []any{"a list"})
		s.finish()
		wantTime(t, passed(), 0)
		s.wantEnd(flow.RunFailed, flow.CodeInputInvalid)
		s.wantStates("slow canceled, x succeeded, list succeeded, bad failed")
	})
}

func TestEngine_retries_step_after_timeout(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `a call {"takes_s": 50} {"timeout_s": 5, "retry": {"attempts": 2, "backoff_s": 3}}`)
		s.finish()
		wantTime(t, passed(), 13*time.Second)
		s.wantEnd(flow.RunFailed, flow.CodeStepTimeout)
		if a := s.step("a"); a.Attempt != 2 || a.Error.Code != flow.CodeStepTimeout || a.Error.Node != "a" {
			t.Errorf("%+v", a)
		}
	})
}

func TestEngine_applies_default_timeouts(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		k := flowtest.WorkKind("model", flow.Outside)
		k.Timeout = flow.ModelTimeout
		s := newFixture(t, `a model {"takes_s": 5000} {"on_error": "route"}`, k)
		s.finish()
		wantTime(t, passed(), flow.ModelTimeout)
		s = newFixture(t, `a call {"takes_s": 5000} {"on_error": "route"}`)
		s.finish()
		wantTime(t, passed(), flow.ModelTimeout+flow.StepTimeout)
	})
}

func TestEngine_does_not_count_waiting_for_a_processor(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		k := flowtest.WorkKind("queued", flow.Compute)
		work := k.Run
		k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) {
			resume := worktime.Wait(ctx)
			time.Sleep(10 * time.Minute)
			resume()
			return work(ctx, in)
		}
		s := newFixture(t, "a queued {\"takes_s\": 4} {\"timeout_s\": 5}", k)
		s.finish()
		wantTime(t, passed(), 10*time.Minute+4*time.Second)
		s.wantEnd(flow.RunSucceeded, "")
		s = newFixture(t, "a queued {\"takes_s\": 6} {\"timeout_s\": 5}", k)
		s.finish()
		wantTime(t, passed(), 20*time.Minute+9*time.Second)
		s.wantEnd(flow.RunFailed, flow.CodeStepTimeout)
	})
}

func TestEngine_fails_run_after_timeout(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, `a call {"takes_s": 50}`)
		s.disk.first.Timeout, s.disk.run.Timeout = 5*time.Second, 5*time.Second
		s.finish()
		wantTime(t, passed(), 5*time.Second)
		s.wantEnd(flow.RunFailed, flow.CodeRunTimeout)
		s.wantStates("a canceled")
	})
}

// flaky returns a kind whose steps fail a number of times before they succeed.
func flaky(times int64, err error) flow.Kind {
	var calls atomic.Int64
	k := flowtest.WorkKind("flaky", flow.Outside)
	k.Run = func(context.Context, *flow.In) (flow.Out, error) {
		if calls.Add(1) <= times {
			return flow.Out{Usage: flowtest.OneCall}, err
		}
		return flow.Out{Usage: flowtest.OneCall, Outputs: map[string]any{"text": "done"}}, nil
	}
	return k
}

func TestEngine_retries_with_backoff(t *testing.T) {
	away := &flow.Error{Code: flow.CodeProviderUnavailable, Message: "away", Retryable: true}
	tests := []struct {
		name   string
		policy string
		err    error
		state  flow.RunState
		code   flow.Code
		takes  time.Duration
	}{
		{"succeeds after doubling pauses", `{"retry": {"attempts": 4, "backoff_s": 2}}`, away, flow.RunSucceeded, "", 14 * time.Second},
		{"gives up", `{"retry": {"attempts": 3, "backoff_s": 2}}`, away, flow.RunFailed, flow.CodeProviderUnavailable, 6 * time.Second},
		{"does not retry without a policy", `{}`, away, flow.RunFailed, flow.CodeProviderUnavailable, 0},
		{"waits at least Retry-After", `{"retry": {"attempts": 4, "backoff_s": 2}}`, &flow.Error{Code: flow.CodeProviderRateLimited, Retryable: true, After: 9 * time.Second}, flow.RunSucceeded, "", 27 * time.Second},
		{"does not retry a permanent error", `{"retry": {"attempts": 9}}`, &flow.Error{Code: flow.CodeProviderAuth}, flow.RunFailed, flow.CodeProviderAuth, 0},
		{"does not retry an internal error", `{"retry": {"attempts": 9}}`, errors.New("secret detail"), flow.RunFailed, flow.CodeInternal, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
				s := newFixture(t, "a flaky {} "+tt.policy, flaky(3, tt.err))
				run := s.finish()
				wantTime(t, passed(), tt.takes)
				s.wantEnd(tt.state, tt.code)
				if a := s.step("a"); run.Usage != a.Usage || a.Usage.InputTokens != int64(3*a.Attempt) {
					t.Errorf("usage %+v after %d attempts", a.Usage, a.Attempt)
				}
				if run.Error != nil && strings.Contains(run.Error.Message, "secret") {
					t.Errorf("private: %s", run.Error.Message)
				}
			})
		})
	}
}

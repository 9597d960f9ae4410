package engine

import (
	"context"
	"sync"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
)

// fakeLimiter makes a step wait twice before its call begins.
type fakeLimiter struct {
	mu           sync.Mutex
	asked, ended int
}

func (l *fakeLimiter) TakeCall(_ context.Context, ws flow.WorkspaceID, credential string, runID flow.RunID, path string, lease time.Duration) (string, time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked++; l.asked < 3 {
		return "", time.Millisecond, nil
	}
	if credential != "mine" || runID == "" || path != "a" || lease <= 0 {
		return "", 0, flow.Errorf(flow.CodeInternal, "%s %s %s %s", ws, credential, runID, path)
	}
	return "call_1", 0, nil
}

func (l *fakeLimiter) EndCall(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == "call_1" {
		l.ended++
	}
	return nil
}

// TestTakeCall_delays_step_without_using_a_retry checks that waiting is neither a failure nor a
// retry, and that the call ends with the attempt.
func TestTakeCall_delays_step_without_using_a_retry(t *testing.T) {
	t.Parallel()
	l, ran := &fakeLimiter{}, 0
	k := flowtest.WorkKind("limited", flow.Outside)
	work := k.Run
	k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) {
		if err := in.TakeCall(ctx, flow.Access{Name: "free"}); err != nil {
			return flow.Out{}, err // no limits, so nothing to wait for
		}
		if err := in.TakeCall(ctx, flow.Access{Name: "mine", Limits: flow.CallLimits{AtOnce: 1}}); err != nil {
			return flow.Out{}, err
		}
		ran++
		return work(ctx, in)
	}
	s := newFixture(t, `a limited`, k)
	s.engine.Limiter = l
	s.finish()
	s.wantStates("a succeeded")
	if a := s.step("a"); a.Failures > 0 || len(a.Tries()) != 1 {
		t.Errorf("the step kept %+v after %d failures", a.Tries(), a.Failures)
	}
	if l.asked != 3 || l.ended != 1 || ran != 1 {
		t.Errorf("asked %d times, ended %d calls, ran %d times", l.asked, l.ended, ran)
	}
}

package db_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/flow"
)

func TestTakeCall(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "openai", Provider: "openai"}, "s"))
		limit := func(atOnce, perMinute int64) {
			t.Helper()
			w.must(w.SetCredentialLimits(w.ctx, ws, "openai", flow.CallLimits{AtOnce: atOnce, PerMinute: perMinute}))
		}
		take := func(run flow.RunID) (string, time.Duration) {
			t.Helper()
			id, wait, err := w.TakeCall(w.ctx, ws, "openai", run, "ask", time.Minute)
			w.must(err)
			if (id == "") != (wait > 0) {
				t.Errorf("%s: call %q waits %v", run, id, wait)
			}
			return id, wait
		}
		limit(2, 0)
		a, _ := take("a")
		b, _ := take("b")
		_, c := take("c")
		_, d := take("d")
		if a == "" || b == "" || c == 0 || d <= c {
			t.Fatalf("a %q, b %q, c waits %v, d %v", a, b, c, d)
		}
		w.must(w.EndCall(w.ctx, a))
		if _, wait := take("d"); wait == 0 {
			t.Error("d overtakes c")
		}
		if id, _ := take("c"); id == "" {
			t.Error("c does not get the slot of a")
		}
		w.clock.move(2 * time.Minute) // b and c are lost, as after a crash
		if id, _ := take("d"); id == "" {
			t.Error("a lost call keeps its slot")
		}
		if id, _ := take("d"); id == "" {
			t.Error("a step that begins again waits for itself")
		}
		read, err := w.FindCredential(w.ctx, ws, "openai")
		w.must(err)
		wantEqual(t, "limits", read.Limits, flow.CallLimits{AtOnce: 2})
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "openai", Provider: "openai"}, "new"))
		read, err = w.FindCredential(w.ctx, ws, "openai")
		w.must(err)
		wantEqual(t, "limits after the secret is replaced", read.Limits, flow.CallLimits{AtOnce: 2})

		w.clock.move(2 * time.Minute)
		limit(0, 3)
		for i := range 3 {
			if id, _ := take(flow.RunID(fmt.Sprintf("m%d", i))); id == "" {
				t.Fatalf("call %d of the minute waits", i)
			}
			w.clock.move(10 * time.Second)
		}
		if _, wait := take("m3"); wait != 30*time.Second {
			t.Errorf("the fourth call waits %v", wait)
		}
		w.clock.move(31 * time.Second)
		if id, _ := take("m3"); id == "" {
			t.Error("the next minute has no place")
		}
	})
}

// TestTakeCall_limits_concurrent_calls takes many calls concurrently. Never do more run than allowed.
func TestTakeCall_limits_concurrent_calls(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.SaveCredential(w.ctx, flow.Credential{WorkspaceID: ws, Name: "openai", Provider: "openai"}, "s"))
		w.must(w.SetCredentialLimits(w.ctx, ws, "openai", flow.CallLimits{AtOnce: 5}))
		var mu sync.Mutex
		var began int
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				id, _, err := w.TakeCall(w.ctx, ws, "openai", flow.RunID(fmt.Sprint(i)), "ask", time.Minute)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if id != "" {
					began++
				}
			})
		}
		all.Wait()
		wantEqual(t, "calls that began", began, 5)
	})
}

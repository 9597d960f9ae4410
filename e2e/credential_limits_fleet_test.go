package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/e2e/need"
)

// TestCredentialLimits_hold_across_servers shares a credential with a limit of calls per minute
// between two servers. Runs beyond the limit wait for the next minute and do not fail.
// The test checks only that calls are not too early, so a slow machine does not fail
// it.
func TestCredentialLimits_hold_across_servers(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	const perMinute, starts = 4, 6
	var mu sync.Mutex
	var calls []time.Time
	// The first calls end only when all of them are under way. A server has two workers, so that takes both servers.
	full := make(chan struct{})
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls = append(calls, time.Now())
		if len(calls) == perMinute {
			close(full)
		}
		mu.Unlock()
		select {
		case <-full:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(models.Close)
	a, b := twoServers(t, "SLUICE_WORKERS=2")
	if r := a.commandWith("sk-test", "credential", "add", "--name", "gpu", "--provider", "vllm", "--base-url", models.URL+"/v1"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	a.must("credential", "limits", "gpu", "--per-minute", fmt.Sprint(perMinute))
	id, key := a.publish(asking(object{"model": "gpu/m"})), a.key()
	here, there := a.client(key), b.client(key)
	began := time.Now()
	var runs []*run
	for i := range starts {
		runs = append(runs, []*client{here, there}[i%2].start(id, object{"q": "Hi"}))
	}
	for i, r := range runs {
		if got := []*client{there, here}[i%2].await(r); got.Status != "succeeded" {
			t.Errorf("%s: %+v", got.Status, got.Error)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	slices.SortFunc(calls, time.Time.Compare)
	if len(calls) != starts {
		t.Fatalf("the provider saw %d calls of %d runs", len(calls), starts)
	}
	for i, at := range calls {
		if minutes := i / perMinute; at.Sub(began) < time.Duration(minutes)*time.Minute {
			t.Errorf("call %d of %d a minute came after %s", i+1, perMinute, at.Sub(began))
		}
	}
}

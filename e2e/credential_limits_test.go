package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestCredentialLimits starts many runs at once with a credential that allows two calls: the
// provider never sees a third, and no run fails.
func TestCredentialLimits(t *testing.T) {
	t.Parallel()
	var now, most, all atomic.Int64
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		all.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(30 * time.Millisecond) // how long a call takes
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(models.Close)
	s := newServer(t)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "gpu", "--provider", "vllm", "--base-url", models.URL+"/v1"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	s.must("credential", "limits", "gpu", "--at-once", "2")
	if out := s.must("credential", "limits", "gpu"); !strings.Contains(out, "2 at once, any number a minute") {
		t.Errorf("the limits are %s", out)
	}
	c := s.client(s.key())
	id := s.publish(asking(object{"model": "gpu/m"}))
	var runs []*run
	for range 12 {
		runs = append(runs, c.start(id, object{"q": "Hi"}))
	}
	for _, r := range runs {
		if got := c.await(r); got.Status != "succeeded" {
			t.Errorf("%s: %+v", got.Status, got.Error)
		}
	}
	if most.Load() != 2 || all.Load() != 12 {
		t.Errorf("at most %d of %d calls at once, want 2 of 12", most.Load(), all.Load())
	}
}

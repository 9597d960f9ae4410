package e2e

import (
	"fmt"
	"sync"
	"testing"
)

// TestIdempotency sends the same start from many callers at once: one run.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.publish(greeting())
	c := s.client(s.key())
	for round := range 10 {
		key := fmt.Sprintf("Idempotency-Key: order-%d", round)
		ids := startTogether(c, 16, id, key)
		if len(ids) != 1 {
			t.Fatalf("16 starts under one key made %d runs", len(ids))
		}
	}
	a := c.want(202, "POST", "/v1/flow/"+id+"/run", object{"name": "Ada"}, "Idempotency-Key: later")
	c.await(a.run(t))
	b := c.want(200, "POST", "/v1/flow/"+id+"/run", object{"name": "Ada"}, "Idempotency-Key: later")
	if b.header.Get("Idempotent-Replayed") != "true" || b.run(t).ID != a.run(t).ID {
		t.Errorf("a replay is not told as one: %v", b.header)
	}
	c.rejected(422, "idempotency_mismatch", "POST", "/v1/flow/"+id+"/run", object{"name": "Bob"}, "Idempotency-Key: later")
	c.rejected(422, "input_invalid", "POST", "/v1/flow/"+id+"/run", object{}, "Idempotency-Key: free")
	c.want(202, "POST", "/v1/flow/"+id+"/run", object{"name": "Ada"}, "Idempotency-Key: free")
}

// startTogether sends the same start n times concurrently and returns the run IDs in the
// responses. A 409 means that the first request is still being processed.
func startTogether(c *client, n int, flowID, key string) map[string]int {
	c.t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	ids := map[string]int{}
	for range n {
		all.Go(func() {
			a, err := c.try("POST", "/v1/flow/"+flowID+"/run", object{"name": "Ada"}, key)
			if err == nil && a.status == 409 {
				return
			}
			var r *run
			if err == nil {
				r, err = a.tryRun()
			}
			if err != nil {
				c.t.Errorf("start under %s: %v", key, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[r.ID]++
		})
	}
	all.Wait()
	return ids
}

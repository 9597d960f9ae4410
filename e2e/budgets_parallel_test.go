package e2e

import (
	"encoding/json"
	"sync"
	"testing"
)

// TestBudget_holds_for_concurrent_runs starts 64 runs at once under a budget that allows eight of them. The
// steps reserve their maximum cost before they start, so that their total cost exceeds the
// budget by at most the estimate of one step, on one server and on three that share a
// database.
func TestBudget_holds_for_concurrent_runs(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		budgetInParallel(t, modelServer(t))
	})
	t.Run("three instances on PostgreSQL", func(t *testing.T) {
		t.Parallel()
		base := upstream(t)
		f := newFleet(t, fleetConfig{env: func(int) []string {
			return []string{"OPENAI_API_KEY=sk-test-openai", "OPENAI_BASE_URL=" + base + "/v1", "SLUICE_ALLOW_PRIVATE=127.0.0.0/8"}
		}})
		budgetInParallel(t, f.servers...)
	})
}

func budgetInParallel(t *testing.T, servers ...*server) {
	const (
		runs   = 64
		answer = 11*100 + 7*200 // what the upstream's answer costs, in millionths of a dollar
		budget = 8 * answer
		// 40 tokens at most for the answer, and fewer than 30 for the prompt "greet" with
		// the text around it.
		estimate = 30*100 + 40*200
	)
	s := servers[0]
	s.must("price", "set", "openai/gpt-4o", "--input", "100", "--output", "200")
	id := s.publish(asking(object{"model": "openai/gpt-4o", "max_tokens": 40}))
	s.must("flow", "limits", id, "--usd-per-day", "0.02")
	key := s.key()
	var all sync.WaitGroup
	ends := make([]*run, runs) // nil if the start was refused
	for i := range ends {
		all.Go(func() {
			c := servers[i%len(servers)].client(key)
			switch a := c.do("POST", "/v1/flow/"+id+"/run", object{"q": "greet"}); a.status {
			case 202:
				r := &run{}
				if err := json.Unmarshal(a.body, r); err != nil {
					t.Errorf("run %d: %v", i, err)
					return
				}
				ends[i] = c.await(r)
			case 402:
			default:
				t.Errorf("start %d: %d %s", i, a.status, a.body)
			}
		})
	}
	all.Wait()
	spent := 0
	for i, r := range ends {
		switch {
		case r == nil:
		case r.Status == "succeeded":
			spent += answer
		case r.Error == nil || r.Error.Code != "budget_exceeded":
			t.Errorf("run %d is %s: %+v", i, r.Status, r.Error)
		}
	}
	if spent == 0 || spent > budget+estimate {
		t.Errorf("the runs cost %d together, with a budget of %d and an estimate of %d per step, in millionths of a dollar", spent, budget, estimate)
	}
	t.Logf("the runs cost %d of %d", spent, budget)
}

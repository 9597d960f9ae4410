package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestCrashQuestions_are_answered_once kills the server while agents ask: no question is lost, none is answered twice, and each allowed call is
// made at most once.
func TestCrashQuestions_are_answered_once(t *testing.T) {
	t.Parallel()
	from := loggedSeed(t)
	for _, on := range []string{"SQLite", "PostgreSQL"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			var s *server
			if on == "PostgreSQL" {
				s, _ = twoServers(t)
			} else {
				s = newServer(t)
			}
			crashQuestions(t, s, rand.New(rand.NewPCG(from, 1<<35)))
		})
	}
}

func crashQuestions(t *testing.T, s *server, random *rand.Rand) {
	shop := newRefundShop(t)
	id := refunder(t, s, shop, nil, nil, 1, 2, 3)
	starter, desks := s.client(s.key("--scope", "run,read")), []*client{s.client(s.key("--scope", "approve")), s.client(s.key("--scope", "approve"))}
	calls := []string{"1", "2", "3"}
	kills, allowed, unknown := max(*rounds, 5), 0, 0
	for n := range kills {
		r := starter.start(id, object{"order": fmt.Sprint("o-", n)})
		path := func(call string) string { return r.path() + "/approvals/agent.1." + call + ".ask" }
		asked(t, s, starter, r, "agent.1.1.ask", "agent.1.2.ask", "agent.1.3.ask")
		random.Shuffle(len(calls), func(i, j int) { calls[i], calls[j] = calls[j], calls[i] })
		before := random.IntN(len(calls)) // answers before the kill
		decision := func(call string) object {
			if call == "3" {
				return object{"decision": "rejected"}
			}
			return object{"decision": "approved"}
		}
		for _, call := range calls[:before] {
			if status, unsure := insist(t, desks[0], path(call), decision(call)); status != http.StatusOK && !(unsure && status == http.StatusConflict) {
				t.Errorf("kill %d, call %s: the first answer got %d", n, call, status)
			}
		}
		s.kill()
		s.start()
		for i, call := range calls {
			var all sync.WaitGroup
			statuses, unsure := make([]int, len(desks)), make([]bool, len(desks))
			for k, desk := range desks {
				all.Go(func() { statuses[k], unsure[k] = insist(t, desk, path(call), decision(call)) })
			}
			all.Wait()
			switch got := fmt.Sprint(statuses); {
			case i >= before && (got == "[200 409]" || got == "[409 200]"):
			case got == "[409 409]" && (i < before || unsure[0] || unsure[1]): // one was counted, and its response was an error
			default:
				t.Errorf("kill %d, call %s: the answers got %s", n, call, got)
			}
		}
		end := starter.await(r)
		answer := fmt.Sprint(end.Outputs["answer"])
		if end.Status != "succeeded" || strings.Count(answer, "A person rejected this call") != 1 {
			t.Errorf("kill %d: %s is %s: %v %v", n, r.ID, end.Status, answer, end.Error)
		}
		allowed, unknown = allowed+2, unknown+strings.Count(answer, "The outcome is unknown")
	}
	made := map[string]int{}
	for _, call := range shop.made() {
		if made[call]++; made[call] > 1 || strings.HasSuffix(call, "/3") {
			t.Errorf("%s was made %d times", call, made[call])
		}
	}
	if len(made) > allowed || len(made) < allowed-unknown {
		t.Errorf("%d calls were allowed, %d made, %d have an unknown outcome", allowed, len(made), unknown)
	}
	t.Logf("%d kills, %d calls made, %d unknown outcomes", kills, len(made), unknown)
}

// insist answers a question until the answer is not 503. That is the response if the database does not get to it in time, as when other programs
// need the processor: for 5 seconds another transaction, such as that of the worker, had the lock of the run. unsure means that there was one.
func insist(t *testing.T, desk *client, path string, decision object) (status int, unsure bool) {
	for deadline := time.Now().Add(waitTimeout); ; unsure = true {
		a := desk.do("POST", path, decision)
		if a.status != http.StatusServiceUnavailable {
			return a.status, unsure
		}
		if a.header.Get("Retry-After") == "" || time.Now().After(deadline) {
			t.Errorf("%s: status %d without an end: %s", path, a.status, a.body)
			return a.status, unsure
		}
		time.Sleep(time.Second) // as clients wait between their tries
	}
}

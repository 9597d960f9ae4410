package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice/e2e/need"
)

// clockTolerance is the error of times that count as correct.
const clockTolerance = 2 * time.Second

// TestFleetClocks gives servers clocks that are ahead or behind. Runs, retries and webhooks
// must be on time anyway, and all times agree.
func TestFleetClocks(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	skews := []string{"5s", "1h", "-1h"}
	f := newFleet(t, fleetConfig{env: func(i int) []string { return []string{skewVariable + "=" + skews[i]} }})
	l := f.load
	l.flows["flaky"] = f.servers[0].publish(documentOf("Flaky", []object{
		input("n"), post("a", l.ledger.URL+"/flaky", object{"retry": object{"attempts": 3, "backoff_s": 1}}), output("got"),
	}, "n.value > a.n", "a.body > out_got.value"))
	l.kinds = append(l.kinds, "flaky")
	startedAt := time.Now()
	f.begin()
	for range fleetRounds(1) {
		f.awaitStarts(200)
	}
	f.check()
	for i := range f.servers {
		f.checkPrompt(i)
	}
	f.checkCreated(startedAt)
}

// checkCreated checks that all runs were created during the test.
func (f *fleet) checkCreated(startedAt time.Time) {
	f.t.Helper()
	var wrong []string
	for _, flow := range f.load.flows {
		f.load.eachRun(flow, func(r *run) {
			if r.Created.Before(startedAt.Add(-clockTolerance)) || r.Created.After(time.Now().Add(clockTolerance)) {
				wrong = append(wrong, fmt.Sprintf("it says that it was created %.1f s after the test began: %s", r.Created.Sub(startedAt).Seconds(), r.ID))
			}
		})
	}
	reportSome(f.t, wrong)
}

// checkPrompt checks that the median start at a server takes less than half of the smallest
// skew. The bound grows with the fastest start, and so with the slowness of the machine.
func (f *fleet) checkPrompt(i int) {
	f.t.Helper()
	f.load.mu.Lock()
	defer f.load.mu.Unlock()
	var took, all []time.Duration
	for _, s := range f.load.samples {
		if all = append(all, s.took); s.server == i {
			took = append(took, s.took)
		}
	}
	if len(took) == 0 {
		f.t.Errorf("server %d answered no start with its ended run", i)
		return
	}
	slices.Sort(took)
	median, least := took[len(took)/2], slices.Min(all)
	if median > 2500*time.Millisecond+20*least {
		f.t.Errorf("half of the starts at server %d took longer than %s, the shortest of all %s", i, median, least)
	}
	f.t.Logf("server %d answered half of its starts within %s", i, median)
}

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"
)

// check checks, after the load has ended, that every accepted run ended exactly once and
// with the right result.
func (l *load) check(limit time.Duration) {
	l.t.Helper()
	l.awaitQuiet(limit)
	found := map[string]string{} // run ID by request
	for kind, id := range l.flows {
		l.eachRun(id, func(r *run) { l.checkRun(found, kind, r) })
	}
	l.awaitDelivered(limit)
	l.mu.Lock()
	defer l.mu.Unlock()
	for what, id := range l.accepted {
		if found[what] != id {
			l.faults = append(l.faults, fmt.Sprintf("accepted run lost: %s (%s), found %q", id, what, found[what]))
		}
	}
	repeats := l.ledger.check(l.t)
	reportSome(l.t, slices.Concat(l.faults, l.inbox.faults))
	l.faults = nil // reported
	l.t.Logf("%d runs accepted, %d found; %d calls, %d of them repeats; %d webhook events, %d came again; answers: %v",
		len(l.accepted), len(found), l.ledger.seen(), repeats, len(l.inbox.ids), l.inbox.again, l.statuses)
}

// awaitQuiet waits until no run is open. Runs that stay open are reported.
func (l *load) awaitQuiet(limit time.Duration) {
	l.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		open := l.listOpen()
		if len(open) == 0 {
			return
		}
		if time.Now().After(deadline) {
			l.mu.Lock()
			l.stuck = open
			l.mu.Unlock()
			for _, r := range open {
				l.fault("stuck: %s later %s of flow %s is %s", limit, r.ID, r.FlowID, r.Status)
			}
			return
		}
	}
}

// listOpen lists runs that have not ended, at most 100 of each flow and state.
func (l *load) listOpen() (open []run) {
	l.t.Helper()
	for _, id := range l.flows {
		for _, state := range []string{"queued", "running", "waiting"} {
			var page struct{ Runs []run }
			l.read("/v1/flow/"+id+"/runs?limit=100&status="+state, &page)
			open = append(open, page.Runs...)
		}
	}
	return open
}

// read sends a request to one server after the other until one responds.
func (l *load) read(path string, into any) {
	l.t.Helper()
	random := rand.New(rand.NewPCG(l.seed, crashCallers+1))
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(20 * time.Millisecond) {
		i := l.pick(random)
		a, err := l.any[i].try("GET", path, nil)
		if err == nil {
			if l.saw(i, a); a.status == 200 {
				if err := json.Unmarshal(a.body, into); err != nil {
					l.t.Fatalf("GET %s: %v\n%s", path, err, a.body)
				}
				return
			}
			err = fmt.Errorf("status %d: %s", a.status, a.body)
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("GET %s was not answered for %s: %v", path, waitTimeout, err)
		}
	}
}

// eachRun calls f for all runs of a flow, page by page.
func (l *load) eachRun(flowID string, see func(*run)) {
	l.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Runs []run
			Next *string `json:"next_cursor"`
		}
		l.read("/v1/flow/"+flowID+"/runs?limit=100"+cursor, &page)
		for i := range page.Runs {
			see(&page.Runs[i])
		}
		if page.Next == nil {
			return
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
}

// checkRun checks that a run succeeded with the right output and that its idempotency key
// started no second run. It includes runs whose start got no response.
func (l *load) checkRun(found map[string]string, kind string, r *run) {
	n, _ := r.Inputs["n"].(string)
	want := map[string]string{"pure": "said " + n, "hook": n, "call": r.ID + ":b", "few": r.ID + ":a", "narrow": r.ID + ":a", "flaky": r.ID + ":a"}[kind]
	got, _ := r.Outputs["got"].(string)
	if answer, ok := r.Outputs["got"].(object); ok {
		got, _ = answer["key"].(string)
	}
	if r.ended() && (r.Status != "succeeded" || got != want) { // others are stuck
		l.fault("a run %s with %v, error %+v: %s of kind %s", r.Status, r.Outputs, r.Error, r.ID, kind)
	}
	if other, twice := found[kind+" "+n]; twice {
		l.fault("one idempotency key, two runs: %s and %s", other, r.ID)
	}
	found[kind+" "+n] = r.ID
}

// awaitDelivered waits for both webhooks of every accepted run that has webhooks.
func (l *load) awaitDelivered(limit time.Duration) {
	missing := map[string]bool{}
	l.mu.Lock()
	for what := range l.accepted {
		if n, isHook := strings.CutPrefix(what, "hook "); isHook {
			missing["/node/"+n], missing["/run/"+n] = true, true
		}
	}
	l.mu.Unlock()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		maps.DeleteFunc(missing, func(event string, _ bool) bool { return l.inbox.has(event) })
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for event := range missing {
		_, n, _ := strings.Cut(event[1:], "/")
		l.faults = append(l.faults, fmt.Sprintf("%s later a webhook has not come: %s of %s", limit, event, l.accepted["hook "+n]))
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// check wants, once the load has ended, that all that was accepted came to its
// one right end.
func (l *load) check(limit time.Duration) {
	c := l.any[0]
	l.awaitQuiet(c, limit)
	found := map[string]string{} // run ID by what was asked for
	for kind, id := range l.flows {
		l.eachRun(c, id, func(r *run) { l.checkRun(found, kind, r) })
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for what, id := range l.accepted {
		if found[what] != id {
			l.faults = append(l.faults, fmt.Sprintf("accepted run lost: %s (%s), found %q", id, what, found[what]))
		}
		if n, isHook := strings.CutPrefix(what, "hook "); isHook {
			l.checkDelivered(n)
		}
	}
	reportSome(l.t, l.faults)
	reportSome(l.t, l.inbox.faults)
	repeats := l.ledger.check(l.t)
	l.t.Logf("%d runs accepted, %d found; %d calls, %d of them repeats; %d webhook events, %d came again",
		len(l.accepted), len(found), l.ledger.seen(), repeats, len(l.inbox.ids), l.inbox.again)
}

// awaitQuiet waits until no run is open.
func (l *load) awaitQuiet(c *client, limit time.Duration) {
	l.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(20 * time.Millisecond) {
		open := ""
		for kind, id := range l.flows {
			for _, state := range []string{"queued", "running", "waiting"} {
				a := c.want(200, "GET", "/v1/flow/"+id+"/runs?limit=1&status="+state, nil)
				if list, _ := a.object(l.t)["runs"].([]any); len(list) > 0 {
					open = fmt.Sprintf("a run of %s is %s: %v", kind, state, list[0])
				}
			}
		}
		if open == "" {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%s later %s", limit, open)
		}
	}
}

// eachRun pages through all runs of a flow.
func (l *load) eachRun(c *client, flowID string, see func(*run)) {
	l.t.Helper()
	for cursor := ""; ; {
		a := c.want(200, "GET", "/v1/flow/"+flowID+"/runs?limit=100"+cursor, nil)
		var page struct {
			Runs []run
			Next *string `json:"next_cursor"`
		}
		if err := json.Unmarshal(a.body, &page); err != nil {
			l.t.Fatal(err)
		}
		for i := range page.Runs {
			see(&page.Runs[i])
		}
		if page.Next == nil {
			return
		}
		cursor = "&cursor=" + url.QueryEscape(*page.Next)
	}
}

// checkRun wants a run that succeeded with the right output, and no second run
// for what it was asked for. Runs whose start was never answered count as well.
func (l *load) checkRun(found map[string]string, kind string, r *run) {
	n, _ := r.Inputs["n"].(string)
	want := map[string]string{"pure": "said " + n, "hook": n, "call": r.ID + ":b"}[kind]
	got, _ := r.Outputs["got"].(string)
	if answer, ok := r.Outputs["got"].(object); ok {
		got, _ = answer["key"].(string)
	}
	if r.Status != "succeeded" || got != want {
		l.fault("%s %s with %v, error %+v", r.ID, r.Status, r.Outputs, r.Error)
	}
	if other, twice := found[kind+" "+n]; twice {
		l.fault("one idempotency key, two runs: %s and %s", other, r.ID)
	}
	found[kind+" "+n] = r.ID
}

// checkDelivered wants both webhooks of a run to have come.
func (l *load) checkDelivered(n string) {
	for _, event := range []string{"/node/" + n, "/run/" + n} {
		waitUntil(l.t, "the webhook "+event, func() bool { return l.inbox.has(event) })
	}
}

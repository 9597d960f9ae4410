package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRemoteRuns lists, shows, watches, cancels and reruns runs, and resends a delivery, from
// another directory than that of the server.
func TestRemoteRuns(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	up, hook := newSlowUpstream(t), newReceiver(t, nil)
	s := newServer(t)
	r := remoteTo(t, s, "run,read,manage")
	s.publish(greeting())
	slow := s.publish(calling(up.URL, object{"timeout_s": 3600}))
	c := s.client(s.key())
	done := c.succeed("greet", object{"name": "Ada", "run_options": object{"webhook": object{"url": hook.URL + "/done"}}})

	if out := r.must("run", "list", "greet", "--status", "succeeded"); !strings.Contains(out, done.ID+"  succeeded  v1") {
		t.Errorf("run list printed\n%s", out)
	}
	var list struct{ Runs []run }
	if err := json.Unmarshal([]byte(r.must("run", "list", "greet", "--json")), &list); err != nil || len(list.Runs) != 1 {
		t.Errorf("run list --json: %v, %d runs", err, len(list.Runs))
	}
	if out := r.must("run", "show", "greet", done.ID); !strings.Contains(out, "succeeded, v1, started by api") || !strings.Contains(out, "template") || !strings.Contains(out, "text: Hello Ada!") {
		t.Errorf("run show printed\n%s", out)
	}
	again := strings.TrimSpace(r.must("run", "rerun", "greet", done.ID))
	if out := r.must("run", "watch", "greet", again); out != "text: Hello Ada!\n" {
		t.Errorf("run watch printed %q", out)
	}
	if got := r.run("run", "show", "greet", "run_unknown"); got.code != 1 || !strings.Contains(got.errs, "sluice run list greet") {
		t.Errorf("exit code %d: %s", got.code, got.errs)
	}

	if out := r.must("run", "show", done.ID); !strings.Contains(out, "text: Hello Ada!") {
		t.Errorf("run show without a flow printed\n%s", out)
	}
	if out := r.must("run", "watch", strings.TrimSpace(r.must("run", "rerun", done.ID))); out != "text: Hello Ada!\n" {
		t.Errorf("run watch without a flow printed %q", out)
	}
	if got := r.run("run", "show", "greet"); got.code != 1 || !strings.Contains(got.errs, "sluice run list greet") {
		t.Errorf("show with a flow only: exit code %d: %s", got.code, got.errs)
	}

	hanging := c.start(slow, object{"n": "1"})
	waitUntil(t, "the step hangs", func() bool { return up.calls.Load() == 1 })
	r.must("run", "cancel", slow, hanging.ID)
	if got := r.run("run", "watch", slow, hanging.ID); got.code != 1 || !strings.Contains(got.errs, "canceled") {
		t.Errorf("watching a canceled run: exit code %d: %s", got.code, got.errs)
	}
	if out := r.must("run", "cancel", slow, hanging.ID); out != "Canceled.\n" {
		t.Errorf("canceling again printed %q", out)
	}

	if out := r.must("usage", "--by", "flow"); !strings.Contains(out, "Greet") || !strings.Contains(out, "Total") {
		t.Errorf("usage printed\n%s", out)
	}
	if got := r.run("usage", "--by", "hour"); got.code != 1 || !strings.Contains(got.errs, "day, flow, key, model") {
		t.Errorf("usage by an unknown group: exit code %d: %s", got.code, got.errs)
	}

	hook.await(t, "/done", 1)
	out := r.must("delivery", "list", "greet")
	if !strings.Contains(out, hook.URL+"/done") {
		t.Fatalf("delivery list printed\n%s", out)
	}
	id := strings.Fields(strings.Split(out, "\n")[1])[0]
	waitUntil(t, "the delivery has ended", func() bool { return strings.Contains(r.must("delivery", "list", "greet"), "delivered") })
	r.must("delivery", "resend", id)
	hook.await(t, "/done", 2)
}

// TestRemoteApprovals answers questions of runs and lists child runs with commands alone.
func TestRemoteApprovals(t *testing.T) {
	t.Parallel()
	up := newItemServer(t, 1)
	s := newServer(t)
	r := remoteTo(t, s, "run,read,approve")
	s.publish(approving("", nil))
	c := s.client(s.key())
	waiting := func() *run {
		asked := c.start("ask-first", object{"draft": "Dear Ada"})
		s.waitUntil("the run waits", func() bool { return c.do("GET", asked.path(), nil).run(t).Status == "waiting" })
		return asked
	}
	yes := waiting()
	if out := r.must("run", "approvals", "ask-first", yes.ID); !strings.Contains(out, "ask   open") || !strings.Contains(out, "Send it?") || !strings.Contains(out, "ask.draft (editable): Dear Ada") {
		t.Errorf("run approvals printed\n%s", out)
	}
	if got := r.run("run", "approve", "ask-first", yes.ID, "ask", "--set", "score=seven"); got.code != 1 || !strings.Contains(got.errs, "number") {
		t.Errorf("a text for a number: exit code %d: %s", got.code, got.errs)
	}
	if out := r.must("run", "approve", "ask-first", yes.ID, "ask", "--set", "score=8", "--set", "draft=12", "--comment", "Fine"); out != "ask: approved.\n" {
		t.Errorf("run approve printed %q", out)
	}
	if end := c.await(yes); end.Outputs["sent"] != "12" {
		t.Errorf("the run gave %+v", end)
	}
	if got := r.run("run", "reject", "ask-first", yes.ID, "ask"); got.code != 1 || !strings.Contains(got.errs, "approved") {
		t.Errorf("a second answer: exit code %d: %s", got.code, got.errs)
	}
	no := waiting()
	r.must("run", "reject", "ask-first", no.ID, "ask")
	if end := c.await(no); end.Outputs["no"] == nil {
		t.Errorf("the rejected run gave %+v", end)
	}

	s.publish(mapping(s.publish(doubling(up.URL)), nil))
	mapped := c.await(c.start("map", object{"list": numbers(3)}))
	out := r.must("run", "children", "map", mapped.ID, "--status", "failed")
	if !strings.Contains(out, "each: 2 of 3 succeeded, 1 failed, 0 running") || strings.Count(out, "run_") != 1 || !strings.Contains(out, "418") {
		t.Errorf("run children printed\n%s", out)
	}
}

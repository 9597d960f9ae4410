package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tagging returns a flow that calls a server and outputs a tag and n.
func tagging(tag, url string) []byte {
	return documentOf("Tag", []object{
		input("n"), post("call", url), node("text", "template", object{"template": tag + " {{n}} {{called}}"}), output("double"),
	}, "n.value > call.n", "n.value > text.n", "call.body > text.called", "text.text > out_double.value")
}

// checkTags compares the results of items.
func checkTags(t *testing.T, end *run, tag string, n int) {
	t.Helper()
	list, _ := end.Outputs["doubles"].([]any)
	if end.Status != "succeeded" || len(list) != n {
		t.Fatalf("the run is %s: %+v, with %d results", end.Status, end.Error, len(list))
	}
	for i, v := range list {
		if want := fmt.Sprintf("%s %d %d", tag, i, 2*i); v != want {
			t.Errorf("item %d is %q, wanted %q", i, v, want)
		}
	}
}

// TestMap_keeps_version_of_its_start publishes another version of a flow in the middle of a map: all
// items run the one that the map began with, and a rerun does so too unless it asks for
// the live one.
func TestMap_keeps_version_of_its_start(t *testing.T) {
	t.Parallel()
	up := newItemServer(t)
	up.hold, up.held = make(chan struct{}), "9"
	s := newServer(t)
	child := s.publish(tagging("one", up.URL))
	id := s.publish(mapping(child, object{"concurrency": 2}))
	middle := s.publish(mapping(child, object{"concurrency": 1, "version": 1}))
	c := s.client(s.key("--scope", "edit", "--scope", "run", "--scope", "read", "--scope", "manage"))
	r := c.start(id, object{"list": numbers(30)})
	s.waitUntil("item 9 is asked for", func() bool { up.mu.Lock(); defer up.mu.Unlock(); return up.calls["9"] == 1 })
	c.want(200, "POST", "/v1/apply", object{"documents": []any{json.RawMessage(tagging("two", up.URL))}, "publish": true, "force": true})
	up.set(func() { close(up.hold); up.hold, up.held = nil, "" })
	checkTags(t, c.await(r), "one", 30)
	up.set(func() { up.calls = map[string]int{} })

	again := c.await(c.want(202, "POST", r.path()+"/rerun", nil).run(t))
	checkTags(t, again, "one", 30)
	again = c.await(c.want(202, "POST", r.path()+"/rerun", object{"from": "each"}).run(t))
	checkTags(t, again, "one", 30)
	if n := up.total(); n != 30 {
		t.Errorf("the reruns made %d calls, wanted one for each item of the second", n)
	}
	live := c.want(202, "POST", r.path()+"/rerun", object{"children": "live"}).run(t)
	checkTags(t, c.await(live), "two", 30)
	if n := up.total(); n != 60 {
		t.Errorf("after the rerun with the live version there were %d calls, wanted 60", n)
	}
	checkTags(t, c.await(c.want(202, "POST", live.path()+"/rerun", object{"children": "live"}).run(t)), "two", 30)
	if n := up.total(); n != 60 {
		t.Errorf("a rerun without another version made %d calls", n-60)
	}
	if refused := c.want(422, "POST", r.path()+"/rerun", object{"children": "newest"}); !strings.Contains(string(refused.body), "/children") {
		t.Errorf("an unknown version: %s", refused.body)
	}
	checkTags(t, c.await(c.start(middle, object{"list": numbers(3)})), "one", 3) // pinned
	raised := mapping(child, object{"concurrency": 1, "version": 2})
	c.want(200, "POST", "/v1/apply", object{"documents": []any{json.RawMessage(raised)}, "publish": true, "force": true})
	checkTags(t, c.await(c.start("map", object{"list": numbers(3)})), "two", 3)
}

// TestDraftRun_uses_drafts_of_other_flows checks that a run of a draft uses the drafts of the flows that it
// runs, at any depth, but only if it is asked to; and that a rerun uses what the first
// run recorded.
func TestDraftRun_uses_drafts_of_other_flows(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	s := d.server
	word := func(text string) []byte { // answers with a text and n
		return documentOf("Word", []object{input("n"), node("text", "template", object{"template": text + " {{n}}"}), output("double")}, "n.value > text.n", "text.text > out_double.value")
	}
	middle := func(text string) []byte { // asks Word, and adds a text
		return documentOf("Middle", []object{
			input("n"), node("sub", "subflow", object{"flow": "word", "contract": doublingContract}), node("text", "template", object{"template": text + " {{said}}"}), output("double"),
		}, "n.value > sub.input.n", "sub.double > text.said", "text.text > out_double.value")
	}
	s.publish(word("live"))
	s.publish(middle("live"))
	top := s.publish(mapping("middle", object{"version": 1})) // pinned: a draft run that asks for drafts uses them here too
	c := s.client(s.key("--scope", "edit", "--scope", "run", "--scope", "read", "--scope", "manage"))
	change := func(documents ...[]byte) {
		t.Helper()
		var list []any
		for _, text := range documents {
			list = append(list, json.RawMessage(text))
		}
		c.want(200, "POST", "/v1/apply", object{"documents": list, "force": true})
	}
	change(word("draft"), middle("draft"))
	result := func(r *run) string {
		t.Helper()
		end := c.await(r)
		if end.Status != "succeeded" {
			t.Fatalf("%s ended as %s: %+v", end.ID, end.Status, end.Error)
		}
		return fmt.Sprint(end.Outputs["doubles"])
	}
	start := func(options object) *run {
		t.Helper()
		return c.start(top, object{"list": numbers(2), "run_options": options})
	}
	const live, drafts = "[live live 0 live live 1]", "[draft draft 0 draft draft 1]"
	if got := result(start(object{"version": "draft"})); got != live {
		t.Errorf("a draft run gave %s without asking for drafts", got)
	}
	asked := start(object{"version": "draft", "children": "draft"})
	if got := result(asked); got != drafts {
		t.Errorf("a run with drafts gave %s", got)
	}
	list := c.want(200, "GET", asked.path()+"/children", nil).object(t)
	step, item := list["steps"].([]any)[0].(map[string]any), list["children"].([]any)[0].(map[string]any)
	child := c.want(200, "GET", fmt.Sprintf("/v1/flow/%s/run/%s", item["flow_id"], item["run_id"]), nil).object(t)
	if fmt.Sprint(step["version"]) != "0" || child["draft"] != true || child["version"] != nil {
		t.Errorf("the step is %v, its child %v", step, child)
	}
	change(middle("newer"))
	if got := result(c.want(202, "POST", asked.path()+"/rerun", object{"from": "each"}).run(t)); got != drafts {
		t.Errorf("a rerun gave %s, and not what the first run recorded", got)
	}
	if got := result(c.want(202, "POST", asked.path()+"/rerun", object{"children": "live"}).run(t)); got != live {
		t.Errorf("a rerun with live versions gave %s", got)
	}
	change(word("newer"))
	for _, options := range []object{{"children": "draft"}, {"version": 1, "children": "draft"}, {"version": "draft", "children": "newest"}} {
		if refused := c.want(422, "POST", "/v1/flow/"+top+"/run", object{"list": numbers(1), "run_options": options}); !strings.Contains(string(refused.body), "/run_options/children") {
			t.Errorf("%v is refused with %s", options, refused.body)
		}
	}
	if out := s.must("flow", "run", top, "-i", `list=["0"]`, "--draft", "--children", "draft"); !strings.Contains(out, "newer newer 0") {
		t.Errorf("the command gave %s", out)
	}

	tab := d.signIn(t, ownerEmail, "/flows/"+top)
	tab.There("flow-canvas[ready]")
	for _, want := range []string{"live live 0", "newer newer 0"} {
		tab.Click("#run-button")
		tab.There("#run-dialog #run-children")
		tab.Type(`#run-form [name="in.list"]`, `["0"]`)
		if strings.HasPrefix(want, "newer") {
			tab.Click("#run-children")
			tab.Shot("children-draft")
		}
		tab.Click("#run-form footer button[type=submit]")
		tab.Has("#node-out_doubles", want)
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tagging is a flow that answers with a tag and n, after asking a server.
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

// TestChildrenVersions publishes another version of a flow in the middle of a map: all
// items run the one that the map began with, and a rerun does so too unless it asks for
// the live one.
func TestChildrenVersions(t *testing.T) {
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

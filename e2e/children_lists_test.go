package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestMapZip maps over two lists: the items at the same index go to one child run, and
// lists of different lengths are refused.
func TestMapZip(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	child := s.publish(documentOf("Pair", []object{input("a"), input("b"), node("say", "template", object{"template": "{{a}}-{{b}}"}), output("pair")},
		"a.value > say.a", "b.value > say.b", "say.text > out_pair.value"))
	contract := object{
		"inputs":  []object{{"name": "a", "type": "text", "required": true}, {"name": "b", "type": "text", "required": true}},
		"outputs": []object{{"name": "pair", "type": "text"}},
	}
	id := s.publish(documentOf("Zip", []object{
		node("left", "input", object{"name": "left", "type": "list"}), node("right", "input", object{"name": "right", "type": "list"}),
		node("each", "map", object{"flow": child, "over": []string{"a", "b"}, "contract": contract}), output("pair"),
	}, "left.value > each.input.a", "right.value > each.input.b", "each.pair > out_pair.value"))
	c := s.client(s.key())
	if end := c.succeed(id, object{"left": []any{"1", "2"}, "right": []any{"x", "y"}}); fmt.Sprint(end.Outputs["pair"]) != "[1-x 2-y]" {
		t.Errorf("got %v", end.Outputs)
	}
	end := c.await(c.start(id, object{"left": []any{"1", "2"}, "right": []any{"x"}}))
	if end.Status != "failed" || end.Error.Code != "input_invalid" || !strings.Contains(end.Error.Message, "a has 2 items, b has 1") {
		t.Errorf("lists of unequal length: %s, %+v", end.Status, end.Error)
	}
}

// TestMap_stores_large_lists checks a map whose output list is too large for the row of its step
// and is stored elsewhere, and one that is larger than a value may be (16 MiB).
func TestMap_stores_large_lists(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"SQLite", "PostgreSQL"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			if on == "SQLite" {
				testMapLargeLists(t, newServer(t))
				return
			}
			s, other := twoServers(t)
			other.stop()
			testMapLargeLists(t, s)
		})
	}
}

func testMapLargeLists(t *testing.T, s *server) {
	const size = 60_000
	child := s.publish(documentOf("Long", []object{input("n"), node("say", "template", object{"template": "{{n}} ä" + strings.Repeat("x", size)}), output("text")},
		"n.value > say.n", "say.text > out_text.value"))
	contract := object{"inputs": []object{{"name": "n", "type": "text", "required": true}}, "outputs": []object{{"name": "text", "type": "text"}}}
	id := s.publish(documentOf("Lists", []object{
		node("list", "input", object{"name": "list", "type": "list"}),
		node("each", "map", object{"flow": child, "over": []string{"n"}, "concurrency": 20, "contract": contract}), output("text"),
	}, "list.value > each.input.n", "each.text > out_text.value"))
	c := s.client(s.key())
	want := func(list any, n int) {
		t.Helper()
		texts, _ := list.([]any)
		if len(texts) != n {
			t.Fatalf("got %d texts, wanted %d", len(texts), n)
		}
		for i, text := range texts {
			if text != fmt.Sprintf("%d ä%s", i, strings.Repeat("x", size)) {
				t.Errorf("text %d is %.20q…", i, text)
			}
		}
	}
	r := c.start(id, object{"list": numbers(40)})
	want(c.await(r).Outputs["text"], 40)
	steps, _ := c.want(200, "GET", r.path()+"?expand=steps", nil).object(t)["steps"].([]any)
	i := slices.IndexFunc(steps, func(s any) bool { return s.(object)["path"] == "each" })
	if i >= 0 {
		outputs, _ := steps[i].(object)["outputs"].(object)
		want(outputs["text"], 40)
	}
	rerun := c.await(c.want(202, "POST", r.path()+"/rerun", object{"from": "out_text"}).run(t)) // takes the map's lists over
	want(rerun.Outputs["text"], 40)
	end := c.await(c.start(id, object{"list": numbers(300)}))
	if end.Status != "failed" || end.Error.Code != "output_too_large" || !strings.Contains(end.Error.Message, "results to file") {
		t.Errorf("more than 16 MiB: %s, %+v", end.Status, end.Error)
	}
}

package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// passing returns a flow that outputs n, through another flow unless next is empty.
func passing(name, next string) []byte {
	if next == "" {
		return documentOf(name, []object{input("n"), output("double")}, "n.value > out_double.value")
	}
	return documentOf(name, []object{input("n"), node("sub", "subflow", object{"flow": next, "contract": doublingContract}), output("double")},
		"n.value > sub.input.n", "sub.double > out_double.value")
}

// TestPublish_rejects_flow_cycle checks that a third flow that would run the first one again is refused,
// whether it is sent, applied, imported, or made live again.
func TestPublish_rejects_flow_cycle(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(s.key("--scope", "edit", "--scope", "run", "--scope", "read", "--scope", "manage"))
	third := s.publish(passing("Third", ""))
	second := s.publish(passing("Second", "third"))
	s.publish(passing("First", second))
	document := c.want(200, "GET", "/v1/flow/third/document?version=draft", nil)
	closing := json.RawMessage(passing("Third", "first"))
	const cycle = "Third → First → Second → Third"
	for what, r := range map[string]*response{
		"sent":    c.want(422, "PUT", "/v1/flow/third", closing, "If-Match: "+document.header.Get("ETag")),
		"applied": c.want(422, "POST", "/v1/apply", object{"documents": []any{closing}, "force": true}),
	} {
		if !strings.Contains(string(r.body), cycle) {
			t.Errorf("%s: %s", what, r.body)
		}
	}
	if r := s.command("flow", "import", writeFile(t, "third.json", closing), "--id", third); r.code == 0 || !strings.Contains(r.errs, cycle) {
		t.Errorf("imported: %d %s", r.code, r.errs)
	}
	if end := c.await(c.start("first", object{"n": "1"})); end.Status != "succeeded" || end.Outputs["double"] != "1" {
		t.Errorf("the run is %s: %+v", end.Status, end.Error)
	}
	// Once the second flow no longer runs the third, the third may run the first, and then
	// the old version of the second cannot become live again.
	c.want(200, "POST", "/v1/apply", object{"documents": []any{json.RawMessage(passing("Second", ""))}, "force": true, "publish": true, "allow_breaking": true})
	c.want(200, "POST", "/v1/apply", object{"documents": []any{closing}, "force": true, "publish": true, "allow_breaking": true})
	if r := c.do("POST", "/v1/flow/second/publish", object{"version": 1, "allow_breaking": true}); r.status != http.StatusUnprocessableEntity || !strings.Contains(string(r.body), "would run itself") {
		t.Errorf("made live again: %d %s", r.status, r.body)
	}
}

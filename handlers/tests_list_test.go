package handlers_test

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestTests_are_listed_without_their_verdicts lists tests, removes all verdicts and cases, and lists them again: a list reads neither, however
// many there are.
func TestTests_are_listed_without_their_verdicts(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	c := &testClient{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), h.PublishedFlow(echoFlow)}
	c.must(200, "PUT", "/cases/one", `{"inputs":{"word":"x"},"checks":[{"output":"answer","equals":"x"}]}`)
	c.must(200, "PUT", "/cases/two", `{"inputs":{"word":"y"},"checks":[{"output":"answer","contains":"y"}]}`)
	r := c.test(`{"mode":"replay","candidates":[{"version":"draft","set":{"words.template":"very {{word}}"}}],"baseline":{"version":"live"}}`)
	c.test(`{"mode":"replay","repeat":3}`)
	list := c.must(200, "GET", "/tests", "")
	for _, table := range []string{"verdicts", "case_sets"} {
		if _, err := h.Store.SQLite().ExecContext(t.Context(), "DELETE FROM "+table); err != nil {
			t.Fatal(err)
		}
	}
	if again := c.must(200, "GET", "/tests", ""); again != list {
		t.Errorf("without verdicts the list is\n%s\nwanted\n%s", again, list)
	}
	var got struct{ Tests []testReport }
	if err := json.Unmarshal([]byte(list), &got); err != nil || len(got.Tests) != 2 {
		t.Fatalf("%v: %s", err, list)
	}
	if first := got.Tests[1]; first.ID != r.ID || first.Summary != r.Summary || first.State != r.State || first.Runs != r.Runs || len(first.Candidates) != 2 || strings.Join(first.Candidates[0].Worse, " ") != "one" {
		t.Errorf("the list has %+v, the report %+v", first, r)
	}
	if second := got.Tests[0]; second.Runs != 6 || second.State != "passed" || !strings.Contains(list, `"runs_done":6`) {
		t.Errorf("the list has %+v", second)
	}
}

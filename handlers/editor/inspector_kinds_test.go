package editor_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// everyKind returns a flow with a node of each kind that users can add, and the IDs of the nodes,
// which are those of their kinds.
func everyKind(h *webtest.Env) (id string, kinds []string) {
	h.T.Helper()
	var nodes []any
	for _, k := range webtest.Kinds().List() {
		if !k.Internal {
			nodes, kinds = append(nodes, map[string]any{"id": k.Name, "kind": k.Name, "config": map[string]any{}}), append(kinds, k.Name)
		}
	}
	id = h.Flow(webtest.SampleFlow)
	setDraft(h, id, string(flow.EncodeJSON(map[string]any{"schema": flow.Schema, "name": "Every kind", "nodes": nodes, "edges": []any{}})))
	return id, kinds
}

var (
	selects = regexp.MustCompile(`(?s)<select[^>]*aria-label="([^"]*)"[^>]*>(.*?)</select>|<select[^>]*id="([^"]*)"[^>]*>(.*?)</select>`)
	options = regexp.MustCompile(`(?s)<option[^>]*>(.*?)</option>`)
	helpOf  = regexp.MustCompile(`(?s)<details class="ins-help".*?</details>`)
	noTags  = regexp.MustCompile(`(?s)<pre>.*?</pre>|<code>.*?</code>|<[^>]*>`)
)

func TestInspector_lists_each_option_once(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, kinds := everyKind(h)
	b, lists := h.As(flow.MemberEditor), 0
	for _, kind := range kinds {
		for _, s := range selects.FindAllStringSubmatch(b.Get(node(id, kind)).Is(http.StatusOK).Body, -1) {
			seen := map[string]bool{}
			for _, o := range options.FindAllStringSubmatch(s[2]+s[4], -1) {
				label := strings.TrimSuffix(strings.TrimSpace(o[1]), " (default)")
				if seen[label] {
					t.Errorf("%s: the list %s%s has %q twice", kind, s[1], s[3], label)
				}
				seen[label] = true
			}
			lists++
		}
	}
	if lists < 50 {
		t.Errorf("there are only %d lists", lists)
	}
	// The type of an input, whose list had every type twice, and lists with a default.
	for _, c := range []struct {
		kind, id string
		want     int
	}{{"input", "set-type", 7}, {"approval", "set-audience", 3}, {"map", "set-on_item_error", 2}} {
		found := regexp.MustCompile(`(?s)<select[^>]*id="` + c.id + `"[^>]*>(.*?)</select>`).FindStringSubmatch(b.Get(node(id, c.kind)).Is(http.StatusOK).Body)
		if found == nil || len(options.FindAllString(found[1], -1)) != c.want {
			t.Errorf("%s of %s has the options %v, want %d", c.id, c.kind, found, c.want)
		}
	}
}

func TestInspector_help_is_no_markdown(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, kinds := everyKind(h)
	b := h.As(flow.MemberEditor)
	for _, kind := range kinds {
		help := helpOf.FindString(b.Get(node(id, kind)).Is(http.StatusOK).Body)
		if help == "" {
			t.Errorf("%s has no help", kind)
		}
		if text := noTags.ReplaceAllString(help, ""); strings.ContainsAny(text, "*`") || strings.Contains(text, "](") {
			t.Errorf("the help of %s has Markdown: %s", kind, strings.Join(strings.Fields(text), " "))
		}
		if kind == "code" && !strings.Contains(help, "<pre") {
			t.Errorf("the sample of code is no block: %s", help)
		}
	}
}

func TestRunForm_sends_line_breaks_as_typed(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(`{"schema":"sluice.flow/v1","name":"Echo","nodes":[{"id":"i","kind":"input","config":{"name":"text"}},{"id":"j","kind":"input","config":{"name":"list","type":"list"}},
		{"id":"o","kind":"output","config":{"name":"echo"}},{"id":"p","kind":"output","config":{"name":"items"}}],"edges":[{"from":"i.value","to":"o.value"},{"from":"j.value","to":"p.value"}]}`)
	run := h.RunDraft(h.As(flow.MemberEditor), id, url.Values{"filled": {"1"}, "in.text": {"one\r\ntwo\r\n\r\nthree"}, "in.list": {"[\"a\",\r\n\"b\"]"}})
	if got := string(flow.EncodeJSON(run.Outputs)); got != `{"echo":"one\ntwo\n\nthree","items":["a","b"]}` {
		t.Errorf("the run got %s", got)
	}
}

func TestInspector_says_that_the_server_is_away(t *testing.T) {
	t.Parallel()
	w := webtest.OpenInspector(t, chrome.Start(t))
	w.Allow("ERR_INTERNET_DISCONNECTED")
	w.Choose("team")
	w.Until(`document.getElementById("shortcuts") !== null`)
	w.Offline(true)
	w.Eval(`document.querySelector("flow-canvas").selection.set(["write"])`)
	const away = "Can't reach Sluice. Settings load when it is back."
	w.Has("#inspector", away)
	w.Until(`!document.querySelector("#inspector [data-node=team]") && document.querySelector("#run-button").ariaDisabled === "true" && document.querySelector("#run-button").title === ` + string(flow.EncodeJSON(away)))
	w.Eval(`document.querySelector("#run-button").click()`)
	w.Offline(false)
	w.There("#inspector [data-node=write]")
	w.Until(`document.querySelector("#run-button").ariaDisabled === "false" && document.querySelector("#run-button").title !== ` + string(flow.EncodeJSON(away)))
	w.Until(`!document.querySelector("dialog[open]")`) // the click while the server was away does nothing later
}

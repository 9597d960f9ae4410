package editor_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestWire checks the preview of the value on an edge, and that an edge without a value has
// none.
func TestWire(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	id := h.Flow(`{"schema":"sluice.flow/v1","name":"Pass","nodes":[{"id":"in","kind":"input","config":{"name":"in","type":"json"}},{"id":"out","kind":"output","config":{"name":"out"}}],"edges":[{"from":"in.value","to":"out.value"}]}`)
	wire := "/flows/" + id + "/wire?from=in.value"
	b.Get(wire).Is(http.StatusNoContent) // nothing has run
	for sent, want := range map[string][]string{
		`0.9134071588`:                       {"<b>0.91</b>", "<code>0.9134071588</code>"},
		`3`:                                  {"<b>3</b>"},
		`true`:                               {"<b>true</b>"},
		`["first <b>","second"]`:             {"<b>2 items</b>", "first &lt;b&gt;"},
		`[]`:                                 {"<b>no items</b>"},
		`"` + strings.Repeat("x", 900) + `"`: {strings.Repeat("x", 280) + "…"},
	} {
		run := h.RunDraft(b, id, url.Values{"filled": {"1"}, "in.in": {sent}})
		for _, text := range want {
			if got := b.Get(wire + "&run=" + string(run.ID)).Is(http.StatusOK).Body; !strings.Contains(got, text) {
				t.Errorf("%.30s gives %s, want %s", sent, got, text)
			}
		}
	}
	b.Get(wire + "x").Is(http.StatusNoContent)
	b.Get("/flows/" + id + "/wire?from=gone.value").Is(http.StatusNoContent)
}

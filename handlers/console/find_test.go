package console_test

import (
	"net/http"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestFind finds flows, nodes, runs and documentation for the command palette.
func TestFind(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(`{"schema": "sluice.flow/v1", "name": "Route a ticket", "description": "For the help desk.", "nodes": [{"id": "team", "kind": "classify", "label": "Which team?", "config": {"text": "x", "labels": ["a", "b"]}}]}`)
	b := h.As(flow.MemberViewer)
	b.Get("/find?q=route").Is(http.StatusOK).Has(`"heading":"Flows"`, `"href":"/flows/`+id+`"`)
	b.Get("/find?q=which+team").Is(http.StatusOK).Has(`"title":"Which team?"`, `"note":"Classify in Route a ticket"`, `"href":"/flows/`+id+`/node/team"`)
	b.Get("/find?q=desk+help").Is(http.StatusOK).Has(`"title":"Route a ticket"`)
	b.Get("/find?q=idempotency").Is(http.StatusOK).Has(`"heading":"Docs"`, `"href":"/docs/`)
	b.Get("/find?q=run_01jd6v0q8zzzzzzzzzzzzzzzzz").Is(http.StatusOK).Lacks(`"heading":"Runs"`)
	b.Get("/find").Is(http.StatusOK).Has(`"items":[]`)
	h.Anonymous().Get("/find?q=route").RedirectsTo("/sign-in?next=%2Ffind%3Fq%3Droute")
}

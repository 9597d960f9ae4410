package editor_test

import (
	"net/http"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

func TestBuilder(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	t.Run("shows the flow to an editor", func(t *testing.T) {
		page := h.As(flow.MemberEditor).Get("/flows/" + id).Is(http.StatusOK)
		page.Has(`<flow-canvas id="canvas" flow="`+id+`" rev="`, `id="node-team"`, "Which team", `id="palette"`, `data-kind="chat"`, `id="problems"`, `id="outline"`, "No problems. Ready to run.")
	})
	t.Run("is read-only for viewers", func(t *testing.T) {
		page := h.As(flow.MemberViewer).Get("/flows/" + id).Is(http.StatusOK)
		page.Has("data-readonly", `id="node-team"`, "Read only").Lacks(`id="palette"`, "/edit\"", `data-command="tidy"`, `data-command="undo"`)
	})
	t.Run("is not found in another workspace", func(t *testing.T) {
		b := h.As(flow.MemberEditor)
		other, unknown := b.Get("/flows/"+h.FlowElsewhere()), b.Get("/flows/flow_01JD6V0Q8ZW3YH1M4F6B8C2D5E")
		other.Is(http.StatusNotFound)
		unknown.Is(http.StatusNotFound)
		if other.Body != unknown.Body {
			t.Error("somebody else's flow and one that never was look different")
		}
	})
}

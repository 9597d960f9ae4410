package editor_test

import (
	"net/http"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := h.Flow(webtest.SampleFlow)
	b := h.As(flow.MemberEditor)
	part := b.Fragment().Get("/flows/" + id + "/outline?node=team").Is(http.StatusOK)
	part.Has(`id="outline"`, `data-open="team"`, "from ticket", `name="from" value="ticket.value"`, "Disconnect").Lacks("<!doctype")
	t.Run("offers only ports that fit and create no cycle", func(t *testing.T) {
		open := b.Fragment().Get("/flows/" + id + "/outline?node=ticket")
		open.Has(`<option value="team.labels"`).Lacks(`<option value="team.text"`, `<option value="ticket.`)
		b.Fragment().Get("/flows/" + id + "/outline?node=answer").Lacks(`<option value="answer.`)
	})
	t.Run("has no forms for viewers", func(t *testing.T) {
		h.As(flow.MemberViewer).Fragment().Get("/flows/"+id+"/outline?node=team").Is(http.StatusOK).Has("Which team").Lacks("Rename", "Disconnect", "Delete")
	})
	t.Run("is a page without scripts", func(t *testing.T) {
		b.Get("/flows/"+id+"?node=team").Is(http.StatusOK).Has("data-outlined", "Edit its settings")
	})
}

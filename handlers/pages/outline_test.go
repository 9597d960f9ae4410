package pages

import (
	"net/http"
	"testing"

	"sluice/flow"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(sampleFlow)
	b := h.as(flow.MemberEditor)
	part := b.part().get("/flows/" + id + "/outline?node=team").is(http.StatusOK)
	part.has(`id="outline"`, `data-open="team"`, "from ticket", `name="from" value="ticket.value"`, "Disconnect").lacks("<!doctype")
	t.Run("offers only what fits and makes no circle", func(t *testing.T) {
		open := b.part().get("/flows/" + id + "/outline?node=ticket")
		open.has(`<option value="team.labels"`).lacks(`<option value="team.text"`, `<option value="ticket.`)
		b.part().get("/flows/" + id + "/outline?node=answer").lacks(`<option value="answer.`)
	})
	t.Run("shows a viewer no forms", func(t *testing.T) {
		h.as(flow.MemberViewer).part().get("/flows/"+id+"/outline?node=team").is(http.StatusOK).has("Which team").lacks("Rename", "Disconnect", "Delete")
	})
	t.Run("is the page without a script", func(t *testing.T) {
		b.get("/flows/"+id+"?node=team").is(http.StatusOK).has("data-outlined", "Edit its settings")
	})
}

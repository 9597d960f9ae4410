package pages

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"sluice/flow"
)

// form is written as pairs.
func form(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

func TestEditByForm(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	tests := map[string]struct {
		form  url.Values
		after string // the node that is shown then
		ok    func(d *flow.Document) bool
	}{
		"adds an input under a free name": {form("op", "add", "kind", "input"), "input", func(d *flow.Document) bool {
			n := d.Node("input")
			return n != nil && n.Config["name"] == "input" && n.Position.X == 1180
		}},
		"adds a second one": {form("op", "add", "kind", "classify"), "classify", func(d *flow.Document) bool { return d.Node("classify") != nil }},
		"removes a node":    {form("op", "remove", "nodes", "team"), "", func(d *flow.Document) bool { return d.Node("team") == nil && len(d.Edges) == 1 }},
		"renames a node":    {form("op", "put", "node", "team", "member", "label", "value", " Team "), "team", func(d *flow.Document) bool { return d.Node("team").Label == "Team" }},
		"takes a name away": {form("op", "put", "node", "team", "member", "label", "value", ""), "team", func(d *flow.Document) bool { return d.Node("team").Label == "" }},
		"disables a node":   {form("op", "put", "node", "team", "member", "disabled", "value", "true"), "team", func(d *flow.Document) bool { return d.Node("team").Disabled }},
		"moves a node":      {form("op", "move", "nodes", "team", "way", "down"), "team", func(d *flow.Document) bool { return *d.Node("team").Position == flow.Position{X: 300, Y: 40} }},
		"disconnects":       {form("op", "disconnect", "from", "reply.text", "to", "answer.value"), "answer", func(d *flow.Document) bool { return len(d.Edges) == 2 }},
		"connects": {form("op", "connect", "from", "team.score", "to", "answer.value"), "answer", func(d *flow.Document) bool {
			return len(d.Edges) == 3 && slices.Contains(d.Edges, flow.Edge{From: "team.score", To: "answer.value"})
		}},
		"renames the flow":   {form("op", "name", "name", "Answer mail"), "", func(d *flow.Document) bool { return d.Name == "Answer mail" }},
		"describes the flow": {form("op", "name", "description", "Answers."), "", func(d *flow.Document) bool { return d.Description == "Answers." && d.Name == "Answer a ticket" }},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := h.flow(sampleFlow)
			a := b.post("/flows/"+id+"/edit", c.form).is(http.StatusSeeOther)
			want := "/flows/" + id
			if c.after != "" {
				want += "?node=" + c.after
			}
			a.see(want + "#outline")
			if !c.ok(h.draft(id)) {
				t.Errorf("the draft is %s", h.draft(id).Encode())
			}
		})
	}
}

func TestEditByForm_refuses(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	id := h.flow(sampleFlow)
	path, before := "/flows/"+id+"/edit", h.rev(id)
	b.post(path, form("op", "name", "name", "  ")).is(http.StatusUnprocessableEntity).has("Nothing was changed", "Answer a ticket")
	long := string(slices.Repeat([]byte("x"), 300))
	b.post(path, form("op", "put", "node", "team", "member", "label", "value", long)).is(http.StatusUnprocessableEntity).has(long, "Nothing was changed")
	b.post(path, form("op", "explode")).is(http.StatusUnprocessableEntity).has("There is no such change.")
	b.post(path, form("op", "move", "nodes", "gone", "way", "up")).is(http.StatusUnprocessableEntity).has("not there any more")
	h.as(flow.MemberViewer).post(path, form("op", "remove", "nodes", "team")).is(http.StatusForbidden)
	b.post("/flows/"+h.flowElsewhere()+"/edit", form("op", "remove", "nodes", "team")).is(http.StatusNotFound)
	if rev := h.rev(id); rev != before {
		t.Errorf("the draft went from %d to %d", before, rev)
	}
}

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

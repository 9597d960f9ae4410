package pages

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"sluice/flow"
)

// TestFullWorkspace_refuses_growth tries every way in which the dashboard and a
// form page store something, in a workspace whose quota is used up.
func TestFullWorkspace_refuses_growth(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(routing)
	form := h.formOf(ticketRouting)
	run := h.ran(b, id, ticket("kept"))
	f, err := h.store.FindFlow(context.Background(), flow.DefaultWorkspace, id)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.SetQuota(context.Background(), flow.DefaultWorkspace, flow.Storage{Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	file := map[string]formFile{"file": {"a.txt", "text/plain", []byte("hello")}}
	const full = "Delete runs or files"
	for name, refused := range map[string]func(b *browser) *answer{
		"a rerun":     func(b *browser) *answer { return b.post("/runs/"+run.ID+"/rerun", nil) },
		"a file":      func(b *browser) *answer { return b.sendForm("/flows/"+id+"/files", nil, file) },
		"a new flow":  func(b *browser) *answer { return b.post("/flows", nil) },
		"an import":   func(b *browser) *answer { return b.upload("greet.json", greet, "") },
		"a duplicate": func(b *browser) *answer { return b.post("/flows/"+id+"/duplicate", nil) },
		"an edit": func(b *browser) *answer {
			return b.postJSON("/flows/"+id+"/ops", transaction(f.Rev, "a", `{"op":"set","node":"hello","field":"template","value":"A much longer template, {{ticket}}"}`))
		},
	} {
		t.Run(name, func(t *testing.T) { refused(b.on(t)).is(http.StatusPaymentRequired).has(full) })
	}
	t.Run("a run of the draft", func(t *testing.T) {
		b.on(t).post("/flows/"+id+"/run", ticket("more")).is(http.StatusUnprocessableEntity).has(full, ">more</textarea>")
	})
	t.Run("a pin", func(t *testing.T) {
		b.on(t).part().post("/flows/"+id+"/pin/hello", url.Values{"outputs": {`{"text": "Mine"}`}}).is(http.StatusUnprocessableEntity).has(full)
	})
	t.Run("a form", func(t *testing.T) {
		b.on(t).sendForm("/f/"+form, map[string]string{"in.ticket": "kept words"}, nil).is(http.StatusPaymentRequired).has("its storage is full", "kept words").lacks(full, "operator")
	})
	t.Run("but not what makes the draft smaller", func(t *testing.T) {
		b.on(t).postJSON("/flows/"+id+"/ops", transaction(f.Rev, "b", `{"op":"set","node":"hello","field":"template","value":"{{ticket}}"}`)).is(http.StatusOK)
	})
}

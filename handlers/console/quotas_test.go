package console_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

// TestFullWorkspace_refuses_growth tries every way to store something with the dashboard and
// a public form in a workspace whose quota is used up.
func TestFullWorkspace_refuses_growth(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(webtest.Routing)
	form := h.FormOf(webtest.TicketRouting)
	run := h.RunDraft(b, id, webtest.Ticket("kept"))
	f, err := h.Store.FindFlow(context.Background(), flow.DefaultWorkspace, flow.FlowID(id))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Store.SetQuota(context.Background(), flow.DefaultWorkspace, flow.Storage{Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	file := map[string]webtest.FormFile{"file": {Name: "a.txt", MIME: "text/plain", Content: []byte("hello")}}
	const full = "Delete runs or files"
	for name, refused := range map[string]func(b *webtest.Browser) *webtest.Answer{
		"a rerun":     func(b *webtest.Browser) *webtest.Answer { return b.Post("/runs/"+string(run.ID)+"/rerun", nil) },
		"a file":      func(b *webtest.Browser) *webtest.Answer { return b.SendForm("/flows/"+id+"/files", nil, file) },
		"a new flow":  func(b *webtest.Browser) *webtest.Answer { return b.Post("/flows", nil) },
		"an import":   func(b *webtest.Browser) *webtest.Answer { return upload(b, "greet.json", webtest.PublishGreeting, "") },
		"a duplicate": func(b *webtest.Browser) *webtest.Answer { return b.Post("/flows/"+id+"/duplicate", nil) },
		"an edit": func(b *webtest.Browser) *webtest.Answer {
			return b.PostJSON("/flows/"+id+"/ops", webtest.Transaction(f.Rev, "a", `{"op":"set","node":"hello","field":"template","value":"A much longer template, {{ticket}}"}`))
		},
	} {
		t.Run(name, func(t *testing.T) { refused(b.On(t)).Is(http.StatusPaymentRequired).Has(full) })
	}
	t.Run("a run of the draft", func(t *testing.T) {
		b.On(t).Post("/flows/"+id+"/run", webtest.Ticket("more")).Is(http.StatusUnprocessableEntity).Has(full, ">more</textarea>")
	})
	t.Run("a pin", func(t *testing.T) {
		b.On(t).Fragment().Post("/flows/"+id+"/pin/hello", url.Values{"outputs": {`{"text": "Mine"}`}}).Is(http.StatusUnprocessableEntity).Has(full)
	})
	t.Run("a form", func(t *testing.T) {
		b.On(t).SendForm("/f/"+form, map[string]string{"in.ticket": "kept words"}, nil).Is(http.StatusPaymentRequired).Has("its storage is full", "kept words").Lacks(full, "operator")
	})
	t.Run("except an edit that shrinks the draft", func(t *testing.T) {
		b.On(t).PostJSON("/flows/"+id+"/ops", webtest.Transaction(f.Rev, "b", `{"op":"set","node":"hello","field":"template","value":"{{ticket}}"}`)).Is(http.StatusOK)
	})
}

package forms_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/value"
	"sluice/handlers"
	"sluice/handlers/webtest"
)

// invoice asks whether to pay an invoice; the amount may be changed.
const invoice = `{"schema":"sluice.flow/v1","name":"Pay supplier invoices","nodes":[
 {"id":"supplier","kind":"input","config":{"name":"supplier","type":"text"}},
 {"id":"ask","kind":"approval","config":{"title":"Pay {{supplier}}?","message":"The invoice is **12% above** its purchase order.\n\n![x](https://tracker.test/x.png)",
  "values":["supplier_name","amount","urgent","lines"],"editable":["amount","urgent","lines"],"amount":4820,"urgent":false,"lines":[{"item":"Paper","n":20}],"audience":"anyone with the link"}},
 {"id":"paid","kind":"output","config":{"name":"paid"}}],
 "edges":[{"from":"supplier.value","to":"ask.supplier"},{"from":"supplier.value","to":"ask.supplier_name"},{"from":"ask.approved","to":"paid.value"}]}`

// asked starts a run and waits for its question. It returns the run and the path of a link
// to answer.
func asked(h *webtest.Env, document string) (run *flow.Run, link string) {
	h.T.Helper()
	id := flow.FlowID(h.PublishedFlow(document))
	started, err := h.Runner.StartRun(context.Background(), flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: id, Trigger: flow.TriggerAPI, Given: value.FromMap(map[string]any{"supplier": "Northwind Paper"})})
	if err != nil {
		h.T.Fatal(err)
	}
	watch := h.Runner.WatchRun(started.Run.ID)
	defer watch.Stop()
	for run = started.Run; run.State != flow.RunWaiting; <-watch.Changes {
		if run, err = h.Store.FindRun(context.Background(), flow.DefaultWorkspace, id, run.ID); err != nil || run.State.Ended() {
			h.T.Fatalf("%+v, %v", run, err)
		}
		if run.State == flow.RunWaiting {
			break
		}
	}
	a, err := h.Store.FindApproval(context.Background(), flow.DefaultWorkspace, run.ID, "ask")
	if err == nil {
		err = h.Store.SaveApproval(context.Background(), flow.Hash([]byte("token-of-"+string(run.ID))), a)
	}
	if err != nil {
		h.T.Fatal(err)
	}
	return run, flow.ApprovalLink("token-of-" + string(run.ID))
}

func TestApprovalPages(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	run, link := asked(h, invoice)
	h.Anonymous().Get(link).Is(http.StatusOK).Has("Pay Northwind Paper?", "<strong>12% above</strong>", "Pay supplier invoices", `value="4820"`, "Your name").Lacks("<img")
	viewer, editor := h.As(flow.MemberViewer), h.As(flow.MemberEditor)
	page := "/approvals/" + string(run.ID) + "/ask"
	viewer.Get("/approvals").Is(http.StatusOK).Has("Pay Northwind Paper?", page, "7 days left")
	viewer.Get("/flows").Is(http.StatusOK).Has("Waiting for you:")
	viewer.Get(page).Is(http.StatusOK).Has("Viewers cannot answer.").Lacks(`value="approved"`)
	viewer.Post(page, url.Values{"decision": {"approved"}}).Is(http.StatusForbidden)
	for _, number := range []string{"NaN", "Inf", "0x1p4", "1_000", ""} { // Go reads some of them, JSON none
		editor.Post(page, url.Values{"decision": {"approved"}, "value.amount": {number}}).Is(http.StatusUnprocessableEntity).Has("Amount: type a number")
	}
	editor.Post(page, url.Values{"decision": {"approved"}, "value.lines": {"{"}}).Is(http.StatusUnprocessableEntity).Has("Lines: this is not valid JSON.")
	editor.Post(page, url.Values{"decision": {"approved"}, "value.supplier_name": {"Other"}, "value.amount": {"4300.50"}, "value.urgent": {"true"}}).
		Is(http.StatusSeeOther).RedirectsTo(page)
	editor.Get(page).Is(http.StatusOK).Has("Approved", "The run continues now.", "4300.50")
	h.Anonymous().Post(link, url.Values{"decision": {"rejected"}}).Is(http.StatusConflict).Has("has already approved this on ", "Your answer was not needed.")
	end := h.Ended(run.ID)
	got := string(value.Canonical(value.Get(end.Outputs.Get("paid"), "values")))
	if want := `{"amount":4300.50,"lines":[{"item":"Paper","n":20}],"supplier_name":"Northwind Paper","urgent":true}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	viewer.Get("/approvals").Is(http.StatusOK).Has("Nothing is waiting")
	viewer.Get("/flows").Lacks("Waiting for you:")
	h.Anonymous().Get(flow.ApprovalLink("unknown")).Is(http.StatusNotFound)
	h.Anonymous().Get(page).RedirectsTo("/sign-in?next=" + url.QueryEscape(page))
}

// A link to a question that is no longer open explains why.
func TestApproval_closed_link_explains_why(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	run, link := asked(h, invoice)
	if _, err := h.Runner.CancelRun(context.Background(), flow.DefaultWorkspace, run.FlowID, run.ID); err != nil {
		t.Fatal(err)
	}
	h.Ended(run.ID)
	h.Anonymous().Get(link).Is(http.StatusOK).Has("Canceled", "The run was canceled", "no longer works").Lacks(`value="approved"`)
	h.Anonymous().Post(link, url.Values{"decision": {"approved"}}).Is(http.StatusConflict).Has("The run was canceled")
	run, link = asked(h, strings.Replace(invoice, `"title"`, `"expires_after":"1s","title"`, 1))
	h.Ended(run.ID)
	h.Anonymous().Get(link).Is(http.StatusOK).Has("Expired", "There was no answer in time.").Lacks(`value="approved"`)
}

// A phone without scripts answers with the link.
func TestApproval_without_scripts_on_phone(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	run, link := asked(h, invoice)
	p := h.Anonymous().Tab(webtest.Chromium(t), 375, 812)
	p.DisableScripts()
	p.Open(link)
	p.Want(`document.documentElement.scrollWidth`, "375")
	p.Click(`[name="value.amount"]`)
	p.Write("00")
	p.Until(`(document.querySelector("button[value=approved]").scrollIntoView({ block: "center", behavior: "instant" }), true)`)
	p.Click(`button[value="approved"]`)
	p.Eventually(`document.querySelector("h1")?.textContent === "Approved"`)
	if end := h.Ended(run.ID); flow.Text(value.Get(end.Outputs.Get("paid"), "values", "amount")) != "482000" {
		t.Errorf("got %v", end.Outputs)
	}
}

// The message of an approval is rendered once, when the question is asked.
func TestApproval_serves_stored_message(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	run, link := asked(h, invoice)
	a, err := h.Store.FindApproval(t.Context(), flow.DefaultWorkspace, run.ID, "ask")
	if err != nil || !strings.Contains(a.Question.Rendered, "<strong>12% above</strong>") {
		t.Fatalf("stored %q, %v", a.Question.Rendered, err)
	}
	save := func(rendered, message string) {
		t.Helper()
		a.Question.Rendered, a.Question.Message = rendered, message
		if err := h.Store.SaveApproval(t.Context(), flow.Hash([]byte("token-of-"+string(run.ID))), a); err != nil {
			t.Fatal(err)
		}
	}
	save("<p>stored</p>", "not **read**")
	h.Anonymous().Get(link).Is(http.StatusOK).Has("<p>stored</p>").Lacks("not <strong>read")
	save("", "an **old** question with <script>")
	h.Anonymous().Get(link).Is(http.StatusOK).Has("an <strong>old</strong> question with &lt;script&gt;")
}

// TestApprovalLink_works_before_owner answers a question on a server without an owner, whose
// runs are started with keys.
func TestApprovalLink_works_before_owner(t *testing.T) {
	t.Parallel()
	for _, exposed := range []bool{false, true} {
		h := webtest.SetupOn(t, dbtest.SQLite(t), func(c *handlers.Config) { c.Exposed = exposed })
		run, link := asked(h, invoice)
		h.Anonymous().Get(link).Is(http.StatusOK).Has("Pay Northwind Paper?")
		h.Anonymous().Post(link, url.Values{"decision": {"rejected"}, "name": {"Ana"}}).Lacks("Set up", "set-up")
		if a, err := h.Store.FindApproval(context.Background(), flow.DefaultWorkspace, run.ID, "ask"); err != nil || a.Decision == nil {
			t.Errorf("exposed %v: %+v, %v", exposed, a, err)
		}
		h.Anonymous().Get("/approval/unknown").Is(http.StatusNotFound)
		for _, page := range []string{"/flows", "/approvals", "/approvals/" + string(run.ID) + "/ask"} {
			h.Anonymous().Get(page).Lacks("Northwind")
		}
	}
}

package bases_test

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/knowledge"
	"sluice/handlers/webtest"
)

// env is a server with a base, and an editor.
type env struct {
	*webtest.Env
	b *webtest.Browser
}

func setup(t *testing.T) *env {
	t.Helper()
	h := webtest.Setup(t)
	e := &env{h, h.As(flow.MemberEditor)}
	e.b.Post("/knowledge", url.Values{"name": {"Help center"}}).RedirectsTo("/knowledge/help-center")
	return e
}

func (e *env) base() *knowledge.Base {
	e.T.Helper()
	b, err := e.Store.FindBase(e.T.Context(), flow.DefaultWorkspace, "help-center")
	if err != nil {
		e.T.Fatal(err)
	}
	return b
}

// upload sends files and waits for the end of the runs that index them.
func (e *env) upload(files map[string]string) {
	e.T.Helper()
	for name, text := range files {
		e.b.SendForm("/knowledge/help-center/documents", nil, map[string]webtest.FormFile{"file": {Name: name, MIME: "text/markdown", Content: []byte(text)}}).RedirectsTo("/knowledge/help-center")
	}
	e.indexed()
}

// indexed waits for the end of all runs of the base.
func (e *env) indexed() {
	e.T.Helper()
	runs, err := e.Store.ListRuns(e.T.Context(), flow.RunFilter{WorkspaceID: flow.DefaultWorkspace, FlowID: e.base().FlowID, Trigger: flow.TriggerIndex, Limit: 50})
	if err != nil {
		e.T.Fatal(err)
	}
	for i := range runs {
		e.Ended(runs[i].ID)
	}
}

// find returns the only document with a source.
func (e *env) find(source string) *knowledge.Document {
	e.T.Helper()
	d, err := e.Store.FindBaseDocument(e.T.Context(), e.base(), "", source)
	if err != nil || d == nil {
		e.T.Fatalf("document %s: %v %v", source, d, err)
	}
	return d
}

const refunds = "# Refunds\n\nA refund takes up to five working days after we receive the parcel.\n\n# Gift cards\n\nGift cards never expire."

func TestBase_lists_what_was_added_and_searches_it(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.b.Get("/knowledge").Is(http.StatusOK).Has("Help center", "help-center", "Ready")
	e.b.Get("/knowledge/help-center").Is(http.StatusOK).Has("No documents yet.", "Built-in", "Drop files")
	e.upload(map[string]string{"refunds.md": refunds, "shipping.md": "# Shipping\n\nParcels arrive within a week."})
	e.b.Get("/knowledge/help-center").Is(http.StatusOK).Has("Refunds", "refunds.md", "Shipping", "Ready").Lacks("data-hx-trigger=\"load")
	e.b.Get("/knowledge/help-center?find=shipp").Has("Shipping").Lacks("refunds.md")
	e.b.Get("/knowledge/help-center?state=failed").Has("No document fits.")
	e.b.Get("/knowledge/help-center?q=how+long+does+a+refund+take").Is(http.StatusOK).Has("<mark>refund</mark>", "passages", "Words", "Missing something?").Lacks("Parcels arrive</p>")
	d := e.find("refunds.md")
	e.b.Get("/knowledge/help-center/documents/"+d.ID).Is(http.StatusOK).Has("Gift cards never expire.", "Refunds")
	e.b.Get("/knowledge/help-center?fragment=documents").Is(http.StatusOK).Has("hx-swap-oob", "refunds.md").Lacks("<html")
	export := e.b.Get("/knowledge/help-center/export").Is(http.StatusOK).Has(`"source":"refunds.md"`)
	if got := export.Header.Get("Content-Disposition"); !strings.Contains(got, "help-center.jsonl") {
		t.Errorf("the export is named %q", got)
	}
	e.b.Post("/knowledge/help-center/documents/"+d.ID+"/delete", nil).RedirectsTo("/knowledge/help-center")
	e.b.Get("/knowledge/help-center?q=refund").Lacks("five working days")

	// Other pages call the base by its name, too.
	e.As(flow.MemberOwner).Get("/settings/audit").Is(http.StatusOK).Has("added a document to", "Help center").Lacks("<b>" + e.base().ID)
	e.b.Get("/usage").Is(http.StatusOK).Lacks(string(e.base().FlowID))
}

func TestBase_explains_why_a_document_is_not_found(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.upload(map[string]string{"refunds.md": refunds, "german.md": "Die Rückgabe ist kostenlos und dauert fünf Tage.", "empty.md": "\n"})
	search := func(query url.Values) *webtest.Answer {
		return e.b.Get("/knowledge/help-center?" + query.Encode()).Is(http.StatusOK)
	}
	search(url.Values{"q": {"refund"}, "expect": {"refunds"}}).Has("Found: rank 1")
	search(url.Values{"q": {"refund"}, "expect": {"german"}}).Has("the built-in model understands English only")
	search(url.Values{"q": {"refund"}, "expect": {"empty"}}).Has("Not indexed: ", "Open run")
	search(url.Values{"q": {"refund"}, "where": {`source == "other"`}, "expect": {"refunds.md"}}).Has("Filtered out", "Drop filter", "No passage fits")
	search(url.Values{"q": {`refund "never found phrase"`}, "expect": {"refunds.md"}}).Has("The quoted phrase does not occur")
	search(url.Values{"q": {"zebra giraffe elephant"}, "mode": {"words"}, "expect": {"refunds.md"}}).Has("No word in common")
	search(url.Values{"q": {"refund"}, "expect": {"none such"}}).Has("No document has this")
	search(url.Values{"q": {"refund"}, "where": {"metadata."}}).Has("Invalid search").Lacks("Missing something?")
	p := &knowledge.Put{Base: e.base(), Document: knowledge.Document{Source: "acme.md", Part: "acme", Hash: "x", Title: "Contract"}, Passages: []knowledge.Passage{{Text: "The refund of acme."}}}
	if _, err := e.Store.PutBaseDocument(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	search(url.Values{"q": {"refund"}, "part": {"="}, "expect": {"contract"}}).Has("It belongs to another part: acme", "Search all parts").Lacks("The refund of acme")
	search(url.Values{"q": {"refund"}, "part": {"=acme"}}).Lacks("five working days")
	search(url.Values{"q": {"refund"}}).Has("five working days", "acme")
}

func TestBase_shows_what_failed_and_retries_it(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.upload(map[string]string{"empty.md": "\n"})
	e.b.Get("/knowledge/help-center").Has("Failed", "no text that could be searched", "Retry")
	e.b.Get("/knowledge").Has("1 failed")
	d := e.find("empty.md")
	e.b.Post("/knowledge/help-center/documents/"+d.ID+"/retry", nil).RedirectsTo("/knowledge/help-center")
	e.indexed()
	if again := e.find("empty.md"); again.RunID == d.RunID {
		t.Error("retrying started no run")
	}
	e.b.SendForm("/knowledge/help-center/documents", map[string]string{"url": e.Http.URL + "/none-such.pdf"}, nil).RedirectsTo("/knowledge/help-center")
	e.indexed()
	e.b.Get("/knowledge/help-center").Has("none-such.pdf", "Failed")
}

func TestBase_says_what_is_wrong_with_what_was_typed(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.b.Post("/knowledge", url.Values{"name": {"Help center"}}).Is(http.StatusUnprocessableEntity).Has("There is a knowledge base help-center already.")
	e.b.Post("/knowledge", url.Values{"name": {""}}).Is(http.StatusUnprocessableEntity).Has("Give the base a name.")
	e.b.Post("/knowledge", url.Values{"name": {"x"}, "passage_words": {"many"}}).Is(http.StatusUnprocessableEntity).Has("This must be a whole number.")
	e.b.Post("/knowledge", url.Values{"name": {"x"}, "slug": {"Not A Slug"}}).Is(http.StatusUnprocessableEntity).Has("lower-case letters")
	e.b.SendForm("/knowledge/help-center/documents", nil, nil).Is(http.StatusUnprocessableEntity).Has("Choose a file, or paste a URL.")
	e.b.SendForm("/knowledge/help-center/documents", map[string]string{"url": "ftp://example.com/x"}, nil).Is(http.StatusUnprocessableEntity).Has("must begin with https://", "ftp://example.com/x")
	settings := "/knowledge/help-center/settings"
	e.b.Post(settings, url.Values{"name": {"Help"}, "passage_words": {"5"}}).Is(http.StatusUnprocessableEntity).Has("20 to 1,000")
	e.b.Post(settings, url.Values{"name": {"Help"}, "min_meaning": {"low"}}).Is(http.StatusUnprocessableEntity).Has("a number such as 0.3")
	e.b.Post(settings, url.Values{"name": {"Help"}, "parts": {"on"}, "passage_words": {"100"}, "repeated_words": {"20"}}).RedirectsTo("/knowledge/help-center")
	if b := e.base(); b.Name != "Help" || b.Settings.Parts != knowledge.PartsRequired || b.Settings.Size != 100 {
		t.Errorf("stored %+v", b)
	}
	e.b.SendForm("/knowledge/help-center/documents", map[string]string{"url": "https://example.com/x"}, nil).Is(http.StatusUnprocessableEntity).Has("needs a part")
	e.b.Get("/knowledge/none").Is(http.StatusNotFound)
}

func TestBase_is_changed_by_editors_and_deleted_when_confirmed(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.upload(map[string]string{"refunds.md": refunds})
	d := e.find("refunds.md")
	viewer := e.As(flow.MemberViewer)
	viewer.Get("/knowledge/help-center?q=refund").Is(http.StatusOK).Has("five working days").Lacks("Drop files", "help-center/settings", "Retry", "Delete")
	viewer.Get("/knowledge/help-center/documents/" + d.ID).Is(http.StatusOK).Lacks("/delete")
	for _, path := range []string{"/settings", "/delete", "/documents", "/documents/" + d.ID + "/delete", "/documents/" + d.ID + "/retry"} {
		viewer.Post("/knowledge/help-center"+path, url.Values{"sure": {"on"}}).Is(http.StatusForbidden)
	}
	e.PublishedFlow(`{"schema": "sluice.flow/v1", "name": "Uses it", "nodes": [{"id": "in", "kind": "input", "config": {"name": "q", "type": "text"}}, {"id": "search", "kind": "knowledge_search", "config": {"knowledge": "help-center"}}, {"id": "out", "kind": "output", "config": {"name": "a"}}], "edges": [{"from": "in.value", "to": "search.query"}, {"from": "search.context", "to": "out.value"}]}`)
	e.b.Get("/knowledge/help-center/settings").Has("Uses it").Lacks("Delete anyway")
	e.b.Post("/knowledge/help-center/delete", nil).Is(http.StatusUnprocessableEntity).Has("Confirm that all documents are deleted.")
	e.b.Post("/knowledge/help-center/delete", url.Values{"sure": {"on"}, "force": {"on"}}).Is(http.StatusUnprocessableEntity).Has("is used by live versions of")
	owner := e.As(flow.MemberOwner)
	owner.Get("/knowledge/help-center/settings").Has("Delete anyway")
	owner.Post("/knowledge/help-center/delete", url.Values{"sure": {"on"}, "force": {"on"}}).RedirectsTo("/knowledge")
	owner.Get("/knowledge/help-center").Is(http.StatusNotFound)
}

// TestBase_rebuilds_with_another_model changes the model of a base with documents: a run is started, and the base keeps its model if that fails.
func TestBase_rebuilds_with_another_model(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.upload(map[string]string{"refunds.md": refunds})
	settings := "/knowledge/help-center/settings"
	e.b.Get(settings).Has("Another model embeds all documents again")
	e.b.Post(settings, url.Values{"name": {"Help"}, "model": {"lab/embedder"}, "dimensions": {"2000"}}).Is(http.StatusUnprocessableEntity)
	asked := url.Values{"name": {"Help"}, "description": {"Answers"}, "model": {"lab/embedder"}}
	e.b.Post(settings, asked).Is(http.StatusOK).Has("lab/embedder embeds", "The price of the model is unknown.", "Save and rebuild", `name="rebuild" value="lab/embedder 0"`)
	if b := e.base(); b.Settings.Model != "" || b.Name == "Help" {
		t.Errorf("before it is confirmed, %+v is stored", b)
	}
	asked.Set("rebuild", "lab/another 0") // what was confirmed is not what is asked for
	e.b.Post(settings, asked).Is(http.StatusOK).Has("Save and rebuild")
	asked.Set("rebuild", "lab/embedder 0")
	sent := e.b.Post(settings, asked).Is(http.StatusSeeOther)
	id, isRun := strings.CutPrefix(sent.Header.Get("Location"), "/runs/")
	if !isRun {
		t.Fatalf("another model leads to %q", sent.Header.Get("Location"))
	}
	if run := e.Ended(flow.RunID(id)); run.State != flow.RunFailed {
		t.Errorf("a rebuild without a credential %s", run.State)
	}
	if b := e.base(); b.Settings.Model != "" || b.Name != "Help" || b.Settings.Description != "Answers" || b.Settings.Size != 200 {
		t.Errorf("stored %+v", b)
	}
	e.b.Get("/knowledge/help-center?q=refund").Has("five working days")
}

// TestBase_shows_documents_in_progress checks that the page is read again while documents are being indexed.
func TestBase_shows_documents_in_progress(t *testing.T) {
	t.Parallel()
	e := setup(t)
	content, err := os.ReadFile("../../documents/testdata/chromium.pdf")
	if err != nil {
		t.Fatal(err)
	}
	e.b.SendForm("/knowledge/help-center/documents", nil, map[string]webtest.FormFile{"file": {Name: "manual.pdf", MIME: "application/pdf", Content: content}}).RedirectsTo("/knowledge/help-center")
	for deadline := time.Now().Add(time.Minute); ; {
		page := e.b.Get("/knowledge/help-center?fragment=documents").Is(http.StatusOK).Has("manual.pdf")
		if !strings.Contains(page.Body, "data-hx-trigger") {
			page.Has("Ready")
			break
		}
		page.Has("Passages")
		if time.Now().After(deadline) {
			t.Fatal("the document is not indexed after a minute")
		}
	}
}

// TestBase_is_exposed_by_owners only: the form of an editor has no such field, and what they send is ignored.
func TestBase_is_exposed_by_owners(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.upload(map[string]string{"refunds.md": refunds})
	const settings = "/knowledge/help-center/settings"
	e.b.Get(settings).Lacks("Assistants may search it")
	exposing := url.Values{"name": {"Help center"}, "expose": {"on"}}
	e.b.Post(settings, exposing).RedirectsTo("/knowledge/help-center")
	if e.base().Settings.Expose {
		t.Error("an editor exposed a base")
	}
	owner := e.As(flow.MemberOwner)
	owner.Get(settings).Has("Assistants may search it over MCP")
	owner.Post(settings, url.Values{"name": {"Help center"}, "expose": {"on"}, "parts": {"on"}}).Is(http.StatusUnprocessableEntity).Has("the part that assistants may search")
	owner.Post(settings, exposing).RedirectsTo("/knowledge/help-center")
	if !e.base().Settings.Expose {
		t.Error("an owner did not expose the base")
	}
	e.b.Get("/knowledge/help-center").Has("For assistants")
	e.b.Post(settings, url.Values{"name": {"Renamed"}}).RedirectsTo("/knowledge/help-center")
	if b := e.base(); !b.Settings.Expose || b.Name != "Renamed" {
		t.Errorf("after an editor renamed it, the base is %+v", b)
	}
}

// TestRun_shows_what_a_search_found: the passages with their titles, ranks and marked words, and links to them.
func TestRun_shows_what_a_search_found(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.upload(map[string]string{"refunds.md": refunds})
	id := e.PublishedFlow(`{"schema": "sluice.flow/v1", "name": "Search", "nodes": [{"id": "q", "kind": "input", "config": {"name": "q", "type": "text"}}, {"id": "search", "kind": "knowledge_search", "config": {"knowledge": "help-center"}}, {"id": "out", "kind": "output", "config": {"name": "found"}}], "edges": [{"from": "q.value", "to": "search.query"}, {"from": "search.context", "to": "out.value"}]}`)
	run, err := e.Call(id, e.Key("key"), map[string]any{"q": "How long does a refund take?"})
	if err != nil {
		t.Fatal(err)
	}
	e.Ended(run.ID)
	d := e.find("refunds.md")
	e.b.Get("/runs/"+string(run.ID)+"?step=search").Is(http.StatusOK).
		Has(`class="hits rendered"`, "<b>Refunds</b>", "<mark>refund</mark>", "Words <b>1</b>", "/knowledge/help-center/documents/"+d.ID+"?after=0", `href="/assets/knowledge-`, `href="/assets/run-`)
	e.b.Get("/runs/" + string(run.ID) + "?step=q").Lacks(`class="hits rendered"`)
}

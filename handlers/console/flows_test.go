package console_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/handlers"
	"sluice/handlers/console"
	"sluice/handlers/webtest"
)

const lineFlow = `{"schema": "sluice.flow/v1", "name": "A line", "description": "Straight on.", "nodes": [
	{"id": "a", "kind": "input", "config": {"name": "a"}}, {"id": "b", "kind": "output", "config": {"name": "b"}}],
	"edges": [{"from": "a.value", "to": "b.value"}]}`

func named(name string) string { return strings.Replace(lineFlow, "A line", name, 1) }

// withStarter configures one sample flow.
func withStarter(cfg *handlers.Config) {
	d, _ := document.ParseDocument([]byte(named("A start")))
	cfg.Starters = []console.Starter{{ID: "start", Icon: "tags", First: true, Document: d}, {ID: "later", Icon: "image", Needs: "Replicate", Document: d}}
}

func TestListFlows(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, withStarter)
	b := h.As(flow.MemberEditor)

	t.Run("offers a sample flow at first", func(t *testing.T) {
		b.Get("/flows").Is(http.StatusOK).Has("Start with “A start”", "Blank flow").Lacks(`value="later"`)
		h.As(flow.MemberViewer).Get("/flows").Is(http.StatusOK).Has("No flows yet").Lacks("<form class=\"starters\"", "Blank flow")
	})
	first, second := flow.FlowID(h.Flow(named("Zebra crossing"))), flow.FlowID(h.Flow(named("Apple pie")))
	h.Store.TagFlow(context.Background(), flow.DefaultWorkspace, first, []string{"animals"})
	other := &flow.Flow{WorkspaceID: "ws_other", Name: "Foreign", Draft: []byte(lineFlow)}
	if err := h.Store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", Name: "Other"}); err != nil {
		t.Fatal(err)
	}
	if err := h.Store.CreateFlow(context.Background(), other); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct{ name, query, has, lacks string }{
		{"shows cards", "", "Zebra crossing", "Foreign"},
		{"finds words anywhere", "?q=CROSS+straight", "Zebra crossing", "Apple pie"},
		{"finds tags as words", "?q=animals", "Zebra crossing", "Apple pie"},
		{"keeps to a tag", "?tag=animals", "Zebra crossing", "Apple pie"},
		{"says that nothing was found", "?q=nowhere", "Nothing found", "Apple pie"},
		{"shows a table", "?view=table", `class="table"`, `class="flows"`},
		{"sorts by runs", "?sort=runs", "Apple pie", "Foreign"},
		{"takes any cursor", "?after=99&before=x", "Zebra crossing", "Foreign"},
	} {
		t.Run(c.name, func(t *testing.T) { b.Get("/flows" + c.query).Is(http.StatusOK).Has(c.has).Lacks(c.lacks) })
	}
	t.Run("sorts by name", func(t *testing.T) {
		body := b.Get("/flows?sort=name").Is(http.StatusOK).Body
		if strings.Index(body, "Apple pie") > strings.Index(body, "Zebra crossing") {
			t.Error("A comes after Z")
		}
	})
	t.Run("shows the live version", func(t *testing.T) {
		if _, _, err := h.Library.Publish(context.Background(), flow.DefaultWorkspace, second, "me"); err != nil {
			t.Fatal(err)
		}
		b.Get("/flows?q=apple").Is(http.StatusOK).Has("v1 live").Lacks("Unpublished changes")
		if _, err := h.Library.Import(context.Background(), flow.DefaultWorkspace, second, []byte(strings.Replace(named("Apple pie"), `"name": "b"`, `"name": "c"`, 1))); err != nil {
			t.Fatal(err)
		}
		b.Get("/flows?q=apple").Is(http.StatusOK).Has("Unpublished changes")
	})
	t.Run("has no buttons for viewers", func(t *testing.T) {
		h.As(flow.MemberViewer).Get("/flows").Is(http.StatusOK).Has("Zebra crossing", "/export").Lacks("/archive\"", "/duplicate\"", "/tags\"", `action="/flows">`)
	})
}

func TestListFlows_pages(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	for range console.FlowsPage + 1 {
		h.Flow(lineFlow)
	}
	b := h.As(flow.MemberViewer)
	first := b.Get("/flows?sort=name").Is(http.StatusOK).Has("after=24&amp;sort=name").Lacks("before=")
	second := b.Get("/flows?sort=name&after=24").Is(http.StatusOK).Has("before=24").Lacks("after=")
	if n, m := strings.Count(first.Body, `class="flow"`), strings.Count(second.Body, `class="flow"`); n != console.FlowsPage || m != 1 {
		t.Errorf("%d and %d cards", n, m)
	}
	if n := strings.Count(b.Get("/flows?sort=name&before=24").Body, `class="flow"`); n != console.FlowsPage {
		t.Errorf("%d cards on the page before", n)
	}
}

func TestArchiveFlow(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(lineFlow)
	b.Post("/flows/"+id+"/archive", nil).RedirectsTo("/flows")
	b.Get("/flows").Is(http.StatusOK).Has("“A line” was archived.", `action="/flows/`+id+`/restore"`, "1 flow in the archive")
	b.Get("/flows?archived=1").Is(http.StatusOK).Has("A line", "Restore").Lacks("Duplicate")
	for _, path := range []string{"", "/versions", "/api", "/tags"} { // pages of its runs still lead there
		b.Get("/flows/"+id+path).Is(http.StatusGone).Has("“A line” is in the archive", "This flow is archived", `href="/flows?archived=1"`)
	}
	b.Post("/flows/"+id+"/archive", nil).Is(http.StatusGone)
	b.Post("/flows/"+id+"/duplicate", nil).Is(http.StatusGone)
	b.Get("/flows/" + id + "/export").Is(http.StatusOK)
	b.Post("/flows/"+id+"/restore", nil).RedirectsTo("/flows")
	b.Get("/flows").Is(http.StatusOK).Has("“A line” was restored.").Lacks("in the archive")
	b.Post("/flows/"+id+"/restore", nil).RedirectsTo("/flows") // twice does no harm
}

func TestDuplicateFlow(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(lineFlow)
	again := b.Post("/flows/"+id+"/duplicate", nil).CreatedFlow()
	if again == id {
		t.Error("the copy is the original")
	}
	b.Get("/flows").Is(http.StatusOK).Has("A line (copy)")
}

func TestExportFlow(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberViewer), h.Flow(named("Ärger & “more”"))
	a := b.Get("/flows/" + id + "/export").Is(http.StatusOK)
	if got := a.Header.Get("Content-Disposition"); got != `attachment; filename="rger-more.json"` {
		t.Error(got)
	}
	if _, err := h.Library.Check([]byte(a.Body)); err != nil {
		t.Error(err)
	}
	b.Get("/flows/" + id + "/export?version=1").Is(http.StatusNotFound)
	b.Get("/flows/" + id + "/export?version=x").Is(http.StatusNotFound)
	if _, _, err := h.Library.Publish(context.Background(), flow.DefaultWorkspace, flow.FlowID(id), "me"); err != nil {
		t.Fatal(err)
	}
	if got := b.Get("/flows/" + id + "/export?version=1").Is(http.StatusOK).Header.Get("Content-Disposition"); !strings.Contains(got, ".v1.json") {
		t.Error(got)
	}
}

func TestFlowTags(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberEditor), h.Flow(lineFlow)
	other := flow.FlowID(h.Flow(named("Other")))
	h.Store.TagFlow(context.Background(), flow.DefaultWorkspace, other, []string{"known"})
	b.Get("/flows/"+id+"/tags").Is(http.StatusOK).Has("Tags of “A line”", `value="known"`)
	b.Post("/flows/"+id+"/tags", url.Values{"tags": {"new, nightly"}, "add": {"known"}}).RedirectsTo("/flows")
	b.Get("/flows").Is(http.StatusOK).Has(`href="/flows?tag=nightly"`)
	b.Get("/flows/" + id + "/tags").Is(http.StatusOK).Has(`value="known, new, nightly"`)
	long := strings.Repeat("x", 33)
	b.Post("/flows/"+id+"/tags", url.Values{"tags": {long}}).Is(http.StatusUnprocessableEntity).Has(long, "at most 32 characters")
}

func TestCreateFlow(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t, withStarter)
	b := h.As(flow.MemberEditor)
	for name, form := range map[string]url.Values{"blank": nil, "from a template": {"template": {"start"}}, "blank among templates": {"template": {""}}} {
		t.Run(name, func(t *testing.T) {
			id := b.Post("/flows", form).CreatedFlow()
			f, err := h.Store.FindFlow(context.Background(), flow.DefaultWorkspace, flow.FlowID(id))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Library.Check(f.Draft); err != nil {
				t.Error(err)
			}
			b.Get("/flows/" + id).Is(http.StatusOK)
		})
	}
	b.Post("/flows", url.Values{"template": {"gone"}}).Is(http.StatusUnprocessableEntity).Has("This template no longer exists")
	b.Post("/flows", url.Values{"model": {"acme/none"}}).Is(http.StatusUnprocessableEntity).Has("There is no model acme/none.")
	b.Get("/flows/templates").Is(http.StatusOK).Has("A start", "Needs Replicate", `value="start"`)
	h.As(flow.MemberViewer).Get("/flows/templates").Is(http.StatusOK).Has("A start").Lacks(`value="start"`)
}

func TestImportFlow(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	b.Get("/flows/import").Is(http.StatusOK).Has(`enctype="multipart/form-data"`)

	t.Run("accepts a file", func(t *testing.T) {
		b.Get("/flows/" + upload(b, "a.json", lineFlow, "").CreatedFlow()).Is(http.StatusOK)
	})
	t.Run("accepts pasted text", func(t *testing.T) { upload(b, "", "", "\ufeff"+lineFlow).CreatedFlow() })
	t.Run("shows all problems with their paths", func(t *testing.T) {
		broken := strings.NewReplacer(`"kind": "input"`, `"kind": "imput"`, "b.value", "b.valeu").Replace(lineFlow)
		upload(b, "a.json", broken, "").Is(http.StatusUnprocessableEntity).
			Has("3 problems in the document", "nodes[0].kind (a)", "edges[0].to (b)", "imput", "<textarea")
	})
	t.Run("reports invalid JSON", func(t *testing.T) {
		upload(b, "", "", `{"schema": `).Is(http.StatusUnprocessableEntity).Has("Nothing was imported", "{&#34;schema&#34;: ")
	})
	t.Run("requires a file or a text", func(t *testing.T) {
		upload(b, "", "", " ").Is(http.StatusUnprocessableEntity).Has("Choose a file, or paste a flow.")
		upload(b, "a.json", "", "").Is(http.StatusUnprocessableEntity).Has("This file is empty.")
	})
	t.Run("bounds the size", func(t *testing.T) {
		upload(b, "a.json", strings.Repeat(" ", flow.MaxDocumentBytes)+lineFlow, "").Is(http.StatusUnprocessableEntity).Has("larger than 4 MiB")
	})
	t.Run("moves secrets to credentials", func(t *testing.T) {
		secret := `{"schema": "sluice.flow/v1", "name": "S", "nodes": [{"id": "a", "kind": "http_request", "config": {"url": "https://example.com", "headers": {"Authorization": "Bearer hunter2"}}}]}`
		f, err := h.Store.FindFlow(context.Background(), flow.DefaultWorkspace, flow.FlowID(upload(b, "", "", secret).CreatedFlow()))
		if err != nil || strings.Contains(string(f.Draft), "hunter2") {
			t.Errorf("the draft is %s, %v", f.Draft, err)
		}
	})
}

func TestImportAIFlow(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b := h.As(flow.MemberEditor)
	for _, file := range []string{"summary", "api", "old"} {
		data, err := os.ReadFile("../../flow/document/aiflow/testdata/" + file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		a := upload(b, "my_"+file+".json", string(data), "").Is(http.StatusOK).Has("“my "+file+"” is imported", "Open the flow", map[bool]string{true: "Dropped settings", false: "Missing edges"}[file == "summary"], "Credentials", "openai")
		_, rest, _ := strings.Cut(a.Body, `href="/flows/flow_`)
		id, _, _ := strings.Cut(rest, `"`)
		b.Get("/flows/flow_" + id).Is(http.StatusOK)
		f, err := h.Store.FindFlow(context.Background(), flow.DefaultWorkspace, flow.FlowID("flow_"+id))
		if err != nil || strings.Contains(string(f.Draft), "very-secret") || strings.Contains(string(f.Draft), "tok_1234567890") || strings.Contains(a.Body, "very-secret") {
			t.Errorf("a secret stayed: %s, %v", f.Draft, err)
		}
	}
}

// TestFlowActions_access checks which roles may perform each action, and that a missing flow
// is not found for all of them.
func TestFlowActions_access(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id, viewer, editor := h.Flow(lineFlow), h.As(flow.MemberViewer), h.As(flow.MemberEditor)
	foreign := h.FlowElsewhere()
	for _, path := range []string{"/flows", "/flows/import", "/flows/" + id + "/duplicate", "/flows/" + id + "/archive", "/flows/" + id + "/restore", "/flows/" + id + "/tags"} {
		viewer.Post(path, nil).Is(http.StatusForbidden)
		h.Anonymous().Post(path, nil).Is(http.StatusUnauthorized)
	}
	for _, what := range []string{"/duplicate", "/archive", "/restore", "/tags", "/export"} {
		ask := func(id string) *webtest.Answer {
			if what == "/export" {
				return editor.Get("/flows/" + id + what)
			}
			return editor.Post("/flows/"+id+what, nil)
		}
		other, unknown := ask(foreign), ask("flow_01jd6v0q8zw3yh1m4f6b8c2d5e")
		if other.Is(http.StatusNotFound).Body != unknown.Is(http.StatusNotFound).Body {
			t.Errorf("%s tells a foreign flow from none", what)
		}
	}
}

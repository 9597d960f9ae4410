package pages

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"sluice/flow"
)

const lineFlow = `{"schema": "sluice.flow/v1", "name": "A line", "description": "Straight on.", "nodes": [
	{"id": "a", "kind": "input", "config": {"name": "a"}}, {"id": "b", "kind": "output", "config": {"name": "b"}}],
	"edges": [{"from": "a.value", "to": "b.value"}]}`

func named(name string) string { return strings.Replace(lineFlow, "A line", name, 1) }

// withStarter offers one flow to begin with.
func withStarter(cfg *Config) {
	d, _ := flow.ParseDocument([]byte(named("A start")))
	cfg.Starters = []Starter{{ID: "start", Icon: "tags", First: true, Document: d}, {ID: "later", Icon: "image", Needs: "Replicate", Document: d}}
}

// made is the ID of the flow that an answer leads to.
func (a *answer) made() string {
	a.t.Helper()
	id := strings.TrimPrefix(a.header.Get("Location")+a.header.Get("HX-Redirect"), "/flows/")
	if !flow.ValidID(flow.PrefixFlow, id) {
		a.t.Fatalf("status %d leads to %q: %s", a.status, id, a.body)
	}
	return id
}

func TestListFlows(t *testing.T) {
	t.Parallel()
	h := setup(t, withStarter)
	b := h.as(flow.MemberEditor)

	t.Run("begins with a flow that runs", func(t *testing.T) {
		b.get("/flows").is(http.StatusOK).has("Start with “A start”", "Blank flow").lacks(`value="later"`)
		h.as(flow.MemberViewer).get("/flows").is(http.StatusOK).has("No flow yet").lacks("<form class=\"starters\"", "Blank flow")
	})
	first, second := h.flow(named("Zebra crossing")), h.flow(named("Apple pie"))
	h.store.TagFlow(context.Background(), flow.DefaultWorkspace, first, []string{"animals"})
	other := &flow.Flow{WorkspaceID: "ws_other", Name: "Foreign", Draft: []byte(lineFlow)}
	if err := h.store.CreateWorkspace(context.Background(), flow.Workspace{ID: "ws_other", Name: "Other"}); err != nil {
		t.Fatal(err)
	}
	if err := h.store.CreateFlow(context.Background(), other); err != nil {
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
		t.Run(c.name, func(t *testing.T) { b.get("/flows" + c.query).is(http.StatusOK).has(c.has).lacks(c.lacks) })
	}
	t.Run("sorts by name", func(t *testing.T) {
		body := b.get("/flows?sort=name").is(http.StatusOK).body
		if strings.Index(body, "Apple pie") > strings.Index(body, "Zebra crossing") {
			t.Error("A comes after Z")
		}
	})
	t.Run("says what is live", func(t *testing.T) {
		if _, _, err := h.library.Publish(context.Background(), flow.DefaultWorkspace, second, "me"); err != nil {
			t.Fatal(err)
		}
		b.get("/flows?q=apple").is(http.StatusOK).has("v1 live").lacks("Draft differs")
		if _, err := h.library.Import(context.Background(), flow.DefaultWorkspace, second, []byte(strings.Replace(named("Apple pie"), `"name": "b"`, `"name": "c"`, 1))); err != nil {
			t.Fatal(err)
		}
		b.get("/flows?q=apple").is(http.StatusOK).has("Draft differs")
	})
	t.Run("leaves viewers no buttons", func(t *testing.T) {
		h.as(flow.MemberViewer).get("/flows").is(http.StatusOK).has("Zebra crossing", "/export").lacks("/archive\"", "/duplicate\"", "/tags\"", `action="/flows">`)
	})
}

func TestListFlows_pages(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for range flowsPage + 1 {
		h.flow(lineFlow)
	}
	b := h.as(flow.MemberViewer)
	first := b.get("/flows?sort=name").is(http.StatusOK).has("after=24&amp;sort=name").lacks("before=")
	second := b.get("/flows?sort=name&after=24").is(http.StatusOK).has("before=24").lacks("after=")
	if n, m := strings.Count(first.body, `class="flow"`), strings.Count(second.body, `class="flow"`); n != flowsPage || m != 1 {
		t.Errorf("%d and %d cards", n, m)
	}
	if n := strings.Count(b.get("/flows?sort=name&before=24").body, `class="flow"`); n != flowsPage {
		t.Errorf("%d cards on the page before", n)
	}
}

func TestArchiveFlow(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(lineFlow)
	b.post("/flows/"+id+"/archive", nil).see("/flows")
	b.get("/flows").is(http.StatusOK).has("“A line” is archived.", `action="/flows/`+id+`/restore"`, "1 flow in the archive")
	b.get("/flows?archived=1").is(http.StatusOK).has("A line", "Restore").lacks("Duplicate")
	for _, path := range []string{"", "/versions", "/api", "/tags"} { // pages of its runs still lead there
		b.get("/flows/"+id+path).is(http.StatusGone).has("“A line” is in the archive", "This flow is archived", `href="/flows?archived=1"`)
	}
	b.post("/flows/"+id+"/archive", nil).is(http.StatusGone)
	b.post("/flows/"+id+"/duplicate", nil).is(http.StatusGone)
	b.get("/flows/" + id + "/export").is(http.StatusOK)
	b.post("/flows/"+id+"/restore", nil).see("/flows")
	b.get("/flows").is(http.StatusOK).has("“A line” is back.").lacks("in the archive")
	b.post("/flows/"+id+"/restore", nil).see("/flows") // twice does no harm
}

func TestDuplicateFlow(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(lineFlow)
	again := b.post("/flows/"+id+"/duplicate", nil).made()
	if again == id {
		t.Error("the copy is the original")
	}
	b.get("/flows").is(http.StatusOK).has("A line (copy)")
}

func TestExportFlow(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberViewer), h.flow(named("Ärger & “more”"))
	a := b.get("/flows/" + id + "/export").is(http.StatusOK)
	if got := a.header.Get("Content-Disposition"); got != `attachment; filename="rger-more.json"` {
		t.Error(got)
	}
	if _, err := h.library.Check([]byte(a.body)); err != nil {
		t.Error(err)
	}
	b.get("/flows/" + id + "/export?version=1").is(http.StatusNotFound)
	b.get("/flows/" + id + "/export?version=x").is(http.StatusNotFound)
	if _, _, err := h.library.Publish(context.Background(), flow.DefaultWorkspace, id, "me"); err != nil {
		t.Fatal(err)
	}
	if got := b.get("/flows/" + id + "/export?version=1").is(http.StatusOK).header.Get("Content-Disposition"); !strings.Contains(got, ".v1.json") {
		t.Error(got)
	}
}

func TestFlowTags(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberEditor), h.flow(lineFlow)
	other := h.flow(named("Other"))
	h.store.TagFlow(context.Background(), flow.DefaultWorkspace, other, []string{"known"})
	b.get("/flows/"+id+"/tags").is(http.StatusOK).has("Tags of “A line”", `value="known"`)
	b.post("/flows/"+id+"/tags", url.Values{"tags": {"new, nightly"}, "add": {"known"}}).see("/flows")
	b.get("/flows").is(http.StatusOK).has(`href="/flows?tag=nightly"`)
	b.get("/flows/" + id + "/tags").is(http.StatusOK).has(`value="known, new, nightly"`)
	long := strings.Repeat("x", 33)
	b.post("/flows/"+id+"/tags", url.Values{"tags": {long}}).is(http.StatusUnprocessableEntity).has(long, "at most 32 characters")
}

func TestCreateFlow(t *testing.T) {
	t.Parallel()
	h := setup(t, withStarter)
	b := h.as(flow.MemberEditor)
	for name, form := range map[string]url.Values{"blank": nil, "from a template": {"template": {"start"}}, "blank among templates": {"template": {""}}} {
		t.Run(name, func(t *testing.T) {
			id := b.post("/flows", form).made()
			f, err := h.store.FindFlow(context.Background(), flow.DefaultWorkspace, id)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.library.Check(f.Draft); err != nil {
				t.Error(err)
			}
			b.get("/flows/" + id).is(http.StatusOK)
		})
	}
	b.post("/flows", url.Values{"template": {"gone"}}).is(http.StatusUnprocessableEntity).has("There is no such template")
	b.post("/flows", url.Values{"model": {"acme/none"}}).is(http.StatusUnprocessableEntity).has("There is no model acme/none.")
	b.get("/flows/templates").is(http.StatusOK).has("A start", "Needs Replicate", `value="start"`)
	h.as(flow.MemberViewer).get("/flows/templates").is(http.StatusOK).has("A start").lacks(`value="start"`)
}

// upload sends the import form as a browser does.
func (b *browser) upload(name, content, text string) *answer {
	b.t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if name != "" {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			b.t.Fatal(err)
		}
		_, _ = part.Write([]byte(content))
	}
	_ = w.WriteField("text", text)
	_ = w.Close()
	return b.send(http.MethodPost, "/flows/import", w.FormDataContentType(), &body)
}

func TestImportFlow(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	b.get("/flows/import").is(http.StatusOK).has(`enctype="multipart/form-data"`)

	t.Run("takes a file", func(t *testing.T) { b.get("/flows/" + b.upload("a.json", lineFlow, "").made()).is(http.StatusOK) })
	t.Run("takes a text", func(t *testing.T) { b.upload("", "", "\ufeff"+lineFlow).made() })
	t.Run("shows all problems with their places", func(t *testing.T) {
		broken := strings.NewReplacer(`"kind": "input"`, `"kind": "imput"`, "b.value", "b.valeu").Replace(lineFlow)
		b.upload("a.json", broken, "").is(http.StatusUnprocessableEntity).
			has("3 problems in the document", "nodes[0].kind (a)", "edges[0].to (b)", "imput", "<textarea")
	})
	t.Run("says what is no JSON", func(t *testing.T) {
		b.upload("", "", `{"schema": `).is(http.StatusUnprocessableEntity).has("Nothing was imported", "{&#34;schema&#34;: ")
	})
	t.Run("asks for something", func(t *testing.T) {
		b.upload("", "", " ").is(http.StatusUnprocessableEntity).has("Choose a file, or paste a flow.")
		b.upload("a.json", "", "").is(http.StatusUnprocessableEntity).has("This file is empty.")
	})
	t.Run("bounds the size", func(t *testing.T) {
		b.upload("a.json", strings.Repeat(" ", flow.MaxDocumentBytes)+lineFlow, "").is(http.StatusUnprocessableEntity).has("larger than 4 MiB")
	})
	t.Run("moves secrets away", func(t *testing.T) {
		secret := `{"schema": "sluice.flow/v1", "name": "S", "nodes": [{"id": "a", "kind": "http_request", "config": {"url": "https://example.com", "headers": {"Authorization": "Bearer hunter2"}}}]}`
		f, err := h.store.FindFlow(context.Background(), flow.DefaultWorkspace, b.upload("", "", secret).made())
		if err != nil || strings.Contains(string(f.Draft), "hunter2") {
			t.Errorf("the draft is %s, %v", f.Draft, err)
		}
	})
}

func TestImportAIFlow(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b := h.as(flow.MemberEditor)
	for _, file := range []string{"summary", "api", "old"} {
		data, err := os.ReadFile("../../flow/aiflow/testdata/" + file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		a := b.upload("my_"+file+".json", string(data), "").is(http.StatusOK).has("“my "+file+"” is imported", "Open the flow", "Edges that are missing", "Credentials", "openai")
		_, rest, _ := strings.Cut(a.body, `href="/flows/flow_`)
		id, _, _ := strings.Cut(rest, `"`)
		b.get("/flows/flow_" + id).is(http.StatusOK)
		f, err := h.store.FindFlow(context.Background(), flow.DefaultWorkspace, "flow_"+id)
		if err != nil || strings.Contains(string(f.Draft), "very-secret") || strings.Contains(string(f.Draft), "tok_1234567890") || strings.Contains(a.body, "very-secret") {
			t.Errorf("a secret stayed: %s, %v", f.Draft, err)
		}
	}
}

// TestFlowActions_access holds who may do what, and that what is not there is
// not there for everybody alike.
func TestFlowActions_access(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, viewer, editor := h.flow(lineFlow), h.as(flow.MemberViewer), h.as(flow.MemberEditor)
	foreign := h.flowElsewhere()
	for _, path := range []string{"/flows", "/flows/import", "/flows/" + id + "/duplicate", "/flows/" + id + "/archive", "/flows/" + id + "/restore", "/flows/" + id + "/tags"} {
		viewer.post(path, nil).is(http.StatusForbidden)
		h.stranger().post(path, nil).is(http.StatusUnauthorized)
	}
	for _, what := range []string{"/duplicate", "/archive", "/restore", "/tags", "/export"} {
		ask := func(id string) *answer {
			if what == "/export" {
				return editor.get("/flows/" + id + what)
			}
			return editor.post("/flows/"+id+what, nil)
		}
		other, unknown := ask(foreign), ask("flow_01jd6v0q8zw3yh1m4f6b8c2d5e")
		if other.is(http.StatusNotFound).body != unknown.is(http.StatusNotFound).body {
			t.Errorf("%s tells a foreign flow from none", what)
		}
	}
}

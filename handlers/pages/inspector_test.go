package pages

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/views"
)

const ticketFlow = `{"schema": "sluice.flow/v1", "name": "Tickets", "nodes": [
	{"id": "ticket", "kind": "input", "config": {"name": "ticket", "example": "It is broken."}},
	{"id": "team", "kind": "classify", "label": "Which team", "config": {"labels": ["billing", "delivery"]}},
	{"id": "write", "kind": "chat", "config": {"prompt": "Answer {{ticket}}"}},
	{"id": "reply", "kind": "output", "config": {"name": "reply"}}],
	"edges": [{"from": "ticket.value", "to": "team.text"}, {"from": "ticket.value", "to": "write.ticket"}, {"from": "write.text", "to": "reply.value"}]}`

// fakeModels stand in for the providers, which pages know nothing of.
type fakeModels struct{}

func (fakeModels) ListModels(_ context.Context, _, task, query string) []views.ModelGroup {
	var list []views.ModelChoice
	for _, id := range []string{"ollama/llama3.2", "ollama/qwen3"} {
		if strings.Contains(id, query) {
			list = append(list, views.ModelChoice{ID: id, Text: "for " + task})
		}
	}
	return []views.ModelGroup{{Title: "Ollama", Models: list}, {Title: "Groq", Note: "The credential is refused."}}
}

func (fakeModels) PinModel(_ context.Context, _ string, n *flow.Node, model string) (map[string]any, error) {
	switch model {
	case "acme/none":
		return nil, flow.Errorf(flow.CodeModelIncompatible, "There is no model acme/none.")
	case "acme/locked":
		return nil, flow.Errorf(flow.CodeProviderAuth, "That needs a credential.")
	}
	config := map[string]any{"model": model, "version": strings.Repeat("b", 64), "schema": map[string]any{"version": strings.Repeat("b", 64), "input": map[string]any{
		"type": "object", "properties": map[string]any{"steps": map[string]any{"type": "integer", "minimum": json.Number("1"), "maximum": json.Number("50")}}}}}
	for name, value := range n.Config {
		if strings.HasPrefix(name, "input.") {
			config[name] = value
		}
	}
	return config, nil
}

func (fakeModels) UpgradeModel(_ context.Context, _ string, n *flow.Node, _ []flow.Edge) (views.ModelUpgrade, error) {
	return views.ModelUpgrade{Model: flow.Text(n.Config["model"]), Changes: []views.ModelChange{{Sentence: "The input seed is gone.", Breaking: true}}}, nil
}

func (fakeModels) Providers() []views.Option {
	return []views.Option{{Value: "openai", Label: "OpenAI"}}
}

func (fakeModels) NewCredential(ws, name, provider, secret string, hosts []string, _ bool) (flow.Credential, error) {
	if secret == "" {
		return flow.Credential{}, &flow.Error{Code: flow.CodeInputInvalid, Message: "no", Fields: []flow.Problem{{Pointer: "secret", Detail: "Paste the secret here."}}}
	}
	return flow.Credential{WorkspaceID: ws, Name: name, Provider: provider}, nil
}

func inspected(t *testing.T) (*house, string) {
	h := setup(t)
	return h, h.flow(ticketFlow)
}

func (h *house) draft(id string) *flow.Document {
	h.t.Helper()
	f, err := h.store.FindFlow(h.t.Context(), flow.DefaultWorkspace, id)
	if err != nil {
		h.t.Fatal(err)
	}
	d, problems := flow.ParseDocument(f.Draft)
	if len(problems) > 0 {
		h.t.Fatal(problems)
	}
	return d
}

// config is a field of a node as JSON.
func (h *house) config(id, node, field string) string {
	h.t.Helper()
	return string(flow.EncodeJSON(h.draft(id).Node(node).Config[field]))
}

func node(flowID, id string) string { return "/flows/" + flowID + "/node/" + id }

func TestShowNode(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.as(flow.MemberEditor)
	t.Run("alone for a script, in a page without one", func(t *testing.T) {
		b.part().get(node(id, "write")).is(http.StatusOK).has(`data-node="write"`, `name="text.prompt"`, "Answer {{ticket}}", `data-jump="ticket"`).lacks("<html")
		b.get(node(id, "write")).is(http.StatusOK).has("<html", `id="inspector"`, `href="/flows/`+id+`"`)
	})
	t.Run("shows a viewer all of it and lets nothing be changed", func(t *testing.T) {
		v := h.as(flow.MemberViewer)
		v.get(node(id, "write")).is(http.StatusOK).has("<fieldset disabled", "Answer {{ticket}}").lacks(`name="disconnect"`)
		v.post(node(id, "write"), url.Values{"label": {"Mine"}}).is(http.StatusForbidden)
		if got := h.draft(id).Node("write").Label; got != "" {
			t.Errorf("the label is %q", got)
		}
	})
	t.Run("tells nothing of what is not there or not theirs", func(t *testing.T) {
		want := b.get("/flows/flow_none/node/write").is(http.StatusNotFound)
		foreign, err := h.library.Import(t.Context(), h.workspace(), "", []byte(ticketFlow))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{node(id, "none"), node(foreign.ID, "write")} {
			if got := b.get(path).is(http.StatusNotFound); got.body != want.body {
				t.Errorf("%s answers differently", path)
			}
		}
	})
}

// workspace makes another workspace and gives its ID.
func (h *house) workspace() string {
	h.t.Helper()
	if err := h.store.CreateWorkspace(h.t.Context(), flow.Workspace{ID: "ws_other", Name: "Other"}); err != nil {
		h.t.Fatal(err)
	}
	return "ws_other"
}

func TestSaveNode(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.as(flow.MemberEditor)
	t.Run("changes what differs and nothing else", func(t *testing.T) {
		before := h.rev(id)
		b.post(node(id, "write"), url.Values{"as.prompt": {"area"}, "text.prompt": {"Answer {{ticket}}"}, "label": {""}, "color": {""}}).see(node(id, "write"))
		if h.rev(id) != before {
			t.Error("a form that changes nothing made a revision")
		}
		b.post(node(id, "write"), url.Values{"as.prompt": {"area"}, "text.prompt": {"Answer\r\n{{ticket}}"}, "as.temperature": {"number"}, "text.temperature": {"0.5"}, "label": {"Write"}, "color": {"blue"}}).see(node(id, "write"))
		n := h.draft(id).Node("write")
		if n.Label != "Write" || n.Color != "blue" || h.config(id, "write", "prompt") != `"Answer\n{{ticket}}"` || h.config(id, "write", "temperature") != "0.5" {
			t.Errorf("the node is %+v", n)
		}
	})
	t.Run("keeps what cannot be read, and says why", func(t *testing.T) {
		form := url.Values{"as.temperature": {"number"}, "text.temperature": {"warm"}, "as.schema": {"json"}, "text.schema": {`{"a":`}, "label": {"Typed"}, "retry.attempts": {"99"}, "retry.backoff_s": {""}, "timeout_s": {"soon"}, "on_error": {"fail"}}
		b.post(node(id, "write"), form).is(http.StatusUnprocessableEntity).has(`value="warm"`, "is not a number", "{&#34;a&#34;:", "This is not JSON", `value="Typed"`, `value="99"`, "from 1 to 20", `value="soon"`)
		if h.draft(id).Node("write").Label == "Typed" {
			t.Error("a part of the form was carried out")
		}
	})
	t.Run("sets what happens when it fails", func(t *testing.T) {
		form := url.Values{"retry.attempts": {"3"}, "retry.backoff_s": {"1.5"}, "timeout_s": {"30"}, "on_error": {"continue"}, "as.continue.text": {"area"}, "text.continue.text": {"sorry"}, "as.continue.json": {"json"}, "text.continue.json": {""}, "label": {""}, "disabled": {"true"}}
		b.post(node(id, "write"), form).see(node(id, "write"))
		n := h.draft(id).Node("write")
		if got := string(flow.EncodeJSON(map[string]any{"r": n.Retry, "t": n.TimeoutS, "e": n.OnError, "d": n.Disabled})); got != `{"d":true,"e":{"continue":{"text":"sorry"}},"r":{"attempts":3,"backoff_s":1.5},"t":30}` {
			t.Errorf("the node has %s", got)
		}
		form.Set("on_error", "route")
		form.Del("disabled")
		form.Set("retry.attempts", "")
		form.Set("retry.backoff_s", "")
		form.Set("timeout_s", "")
		b.post(node(id, "write"), form).see(node(id, "write"))
		if n := h.draft(id).Node("write"); n.Retry != nil || n.TimeoutS != 0 || !n.OnError.Route || n.Disabled {
			t.Errorf("the node is %+v", n)
		}
	})
	t.Run("cuts an edge", func(t *testing.T) {
		b.post(node(id, "team"), url.Values{"disconnect": {"ticket.value>team.text"}}).see(node(id, "team"))
		b.post(node(id, "team"), url.Values{"disconnect": {"write.text>reply.value"}}).see(node(id, "team"))
		if edges := h.draft(id).Edges; slices.Contains(edges, flow.Edge{From: "ticket.value", To: "team.text"}) || len(edges) != 2 {
			t.Errorf("the edges are %v", edges)
		}
	})
	t.Run("lifts a secret, and never shows it", func(t *testing.T) {
		b.post(node(id, "write"), url.Values{"as.credential": {"secret"}, "kept.credential": {""}, "text.credential": {"s3cret-value"}}).see(node(id, "write"))
		name, ok := flow.SecretRef(h.draft(id).Node("write").Config["credential"])
		if !ok {
			t.Fatal("the secret stayed in the draft")
		}
		b.get(node(id, "write")).has(name).lacks("s3cret-value")
		b.post(node(id, "write"), url.Values{"as.credential": {"secret"}, "text.credential": {"s3cret-value"}, "as.temperature": {"number"}, "text.temperature": {"x"}}).is(http.StatusUnprocessableEntity).lacks("s3cret-value")
	})
}

func (h *house) rev(id string) int64 {
	h.t.Helper()
	f, err := h.store.FindFlow(h.t.Context(), flow.DefaultWorkspace, id)
	if err != nil {
		h.t.Fatal(err)
	}
	return f.Rev
}

// multipartForm is a form with a file, as browsers send it.
func multipartForm(t *testing.T, values url.Values, part, name, content string) (mime string, body *bytes.Buffer) {
	t.Helper()
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for field, list := range values {
		for _, v := range list {
			if err := w.WriteField(field, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, err := w.CreateFormFile(part, name)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(p, content)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), body
}

func TestFieldFiles(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.server.Files = h.store
	id := h.flow(`{"schema": "sluice.flow/v1", "name": "F", "nodes": [{"id": "doc", "kind": "document", "config": {"file": "https://example.com/a.html"}}], "edges": []}`)
	b := h.as(flow.MemberEditor)
	t.Run("upload with the form", func(t *testing.T) {
		mime, body := multipartForm(t, url.Values{"as.file": {"file"}, "text.file": {"https://example.com/a.html"}, "kept.file": {""}}, "upload.file", "terms.txt", "the terms")
		b.send("POST", node(id, "doc"), mime, body).see(node(id, "doc"))
		value := h.draft(id).Node("doc").Config["file"].(map[string]any)
		b.get(node(id, "doc")).has("terms.txt", "9 bytes")
		b.post(node(id, "doc"), url.Values{"as.file": {"file"}, "text.file": {""}, "kept.file": {string(flow.EncodeJSON(value))}, "drop.file": {"1"}}).see(node(id, "doc"))
		if got := h.config(id, "doc", "file"); got != "null" {
			t.Errorf("the field has %s", got)
		}
	})
	t.Run("upload from the script", func(t *testing.T) {
		mime, body := multipartForm(t, nil, "file", "<b>.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
		var file map[string]any
		if err := json.Unmarshal([]byte(b.send("POST", "/flows/"+id+"/files", mime, body).is(http.StatusCreated).body), &file); err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprint("/files/", file["file"])
		got := h.as(flow.MemberViewer).get(path).is(http.StatusOK)
		if got.header.Get("Content-Security-Policy") != flow.FilePolicy || !strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("served with %v", got.header)
		}
		h.stranger().get(path).is(http.StatusSeeOther)
		mime, body = multipartForm(t, nil, "file", "a.txt", "a")
		h.as(flow.MemberViewer).send("POST", "/flows/"+id+"/files", mime, body).is(http.StatusForbidden)
		b.get("/files/file_00000000000000000000000000").is(http.StatusNotFound)
	})
}

func TestModels(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.as(flow.MemberEditor)
	b.get("/flows/"+id+"/models?task=chat&q=llama3").is(http.StatusOK).has(`data-model="ollama/llama3.2"`, "for chat", "The credential is refused.").lacks("qwen3")
	b.get("/flows/flow_none/models?task=chat").is(http.StatusNotFound)
	hosted := h.flow(`{"schema": "sluice.flow/v1", "name": "H", "nodes": [{"id": "draw", "kind": "hosted_model", "config": {"model": "acme/old", "input.steps": 3}}], "edges": []}`)
	t.Run("a chosen model is pinned", func(t *testing.T) {
		b.post(node(hosted, "draw"), url.Values{"as.model": {"model"}, "text.model": {"acme/paint"}}).see(node(hosted, "draw"))
		n := h.draft(hosted).Node("draw")
		if n.Config["model"] != "acme/paint" || n.Config["version"] == nil || n.Config["schema"] == nil || h.config(hosted, "draw", "input.steps") != "3" {
			t.Errorf("the node has %v", n.Config)
		}
		b.get(node(hosted, "draw")).has(`name="text.input.steps"`, `type="range"`)
	})
	t.Run("one that cannot be used is refused and kept", func(t *testing.T) {
		b.post(node(hosted, "draw"), url.Values{"as.model": {"model"}, "text.model": {"acme/none"}}).is(http.StatusUnprocessableEntity).has("There is no model acme/none.", `value="acme/none"`)
	})
	t.Run("one that cannot be described is taken by name", func(t *testing.T) {
		b.post(node(hosted, "draw"), url.Values{"as.model": {"model"}, "text.model": {"acme/locked"}}).see(node(hosted, "draw"))
		if got := h.config(hosted, "draw", "model"); got != `"acme/locked"` {
			t.Errorf("the model is %s", got)
		}
	})
	t.Run("the script gets the edits", func(t *testing.T) {
		b.part().get(node(hosted, "draw")+"/pin?model=acme/paint").is(http.StatusOK).has(`"op":"set"`, `"field":"model"`, `"value":"acme/paint"`)
		b.part().get(node(hosted, "draw") + "/pin?model=acme/none").is(http.StatusUnprocessableEntity)
		b.part().get(node(id, "write") + "/pin?model=acme/paint").is(http.StatusNotFound)
		h.as(flow.MemberViewer).part().get(node(hosted, "draw") + "/pin?model=acme/paint").is(http.StatusForbidden)
	})
	t.Run("an upgrade says what it changes", func(t *testing.T) {
		b.part().get(node(hosted, "draw")+"/upgrade").is(http.StatusOK).has("The input seed is gone.", "Everything typed and every edge stays.")
		b.post(node(hosted, "draw"), url.Values{"upgrade": {"1"}}).see(node(hosted, "draw"))
	})
}

func TestAddCredential(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.as(flow.MemberEditor)
	path := "/flows/" + id + "/credentials"
	form := url.Values{"name": {"openai"}, "provider": {"openai"}, "secret": {"sk-very-secret"}}
	b.part().get(path+"?provider=openai").is(http.StatusOK).has(`<option value="openai" selected>`, `value="openai"`)
	b.part().post(path, form).is(http.StatusCreated).has(`"name":"openai"`).lacks("sk-very-secret")
	b.get(node(id, "write")).has(`{&#34;credential&#34;:&#34;openai&#34;}`).lacks("sk-very-secret")
	t.Run("never replaces one", func(t *testing.T) {
		form.Set("secret", "sk-other")
		b.part().post(path, form).is(http.StatusUnprocessableEntity).has("There is a credential of this name.").lacks("sk-other")
		_, secret, err := h.store.OpenCredential(t.Context(), flow.DefaultWorkspace, "openai")
		if err != nil || secret != "sk-very-secret" {
			t.Errorf("the secret is %q, %v", secret, err)
		}
	})
	t.Run("says what is missing", func(t *testing.T) {
		b.part().post(path, url.Values{"name": {"x"}}).is(http.StatusUnprocessableEntity).has("Paste the secret here.", `value="x"`)
	})
	h.as(flow.MemberViewer).part().post(path, form).is(http.StatusForbidden)
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.as(flow.MemberViewer)
	got := b.get("/flows/"+id+"/completions?node=write").is(http.StatusOK).
		has(`{"name":"ticket","from":"ticket.value","title":"ticket › value","type":"text","example":"It is broken."}`, `"name":"team","from":"team.label","to":"write.team"`, `"from":"team.score","to":"write.team_score"`)
	got.lacks("reply.value") // it depends on this node
	if strings.Index(got.body, "ticket.value") > strings.Index(got.body, "team.label") {
		t.Error("what is connected does not come first")
	}
	b.get("/flows/"+id+"/completions?node=reply").has("write.text", "team.label")
	b.get("/flows/" + id + "/completions?node=none").is(http.StatusNotFound)
}

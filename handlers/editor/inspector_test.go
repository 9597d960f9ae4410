package editor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/media"
	"sluice/flow/value"
	"sluice/handlers/webtest"
)

const ticketFlow = `{"schema": "sluice.flow/v1", "name": "Tickets", "nodes": [
	{"id": "ticket", "kind": "input", "config": {"name": "ticket", "example": "It is broken."}},
	{"id": "team", "kind": "classify", "label": "Which team", "config": {"labels": ["billing", "delivery"]}},
	{"id": "write", "kind": "chat", "config": {"prompt": "Answer {{ticket}}"}},
	{"id": "reply", "kind": "output", "config": {"name": "reply"}}],
	"edges": [{"from": "ticket.value", "to": "team.text"}, {"from": "ticket.value", "to": "write.ticket"}, {"from": "write.text", "to": "reply.value"}]}`

func inspected(t *testing.T) (*webtest.Env, string) {
	h := webtest.Setup(t)
	return h, h.Flow(ticketFlow)
}

func node(flowID, id string) string { return "/flows/" + flowID + "/node/" + id }

func TestShowNode(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.As(flow.MemberEditor)
	t.Run("is a fragment for scripts, else a page", func(t *testing.T) {
		b.Fragment().Get(node(id, "write")).Is(http.StatusOK).Has(`data-node="write"`, `name="text.prompt"`, "Answer {{ticket}}", `data-jump="ticket"`).Lacks("<html")
		b.Get(node(id, "write")).Is(http.StatusOK).Has("<html", `id="inspector"`, `href="/flows/`+id+`"`)
	})
	t.Run("does not require a field that another one replaces", func(t *testing.T) {
		talk := h.Flow(`{"schema": "sluice.flow/v1", "name": "Talk", "nodes": [{"id": "said", "kind": "input", "config": {"name": "said", "type": "json"}}, {"id": "write", "kind": "chat", "config": {}}], "edges": [{"from": "said.value", "to": "write.messages"}]}`)
		b.Get(node(talk, "write")).Is(http.StatusOK).Has(`for="set-prompt"`).Lacks(`ins-mark">required<`)
	})
	t.Run("is read-only for viewers", func(t *testing.T) {
		v := h.As(flow.MemberViewer)
		v.Get(node(id, "write")).Is(http.StatusOK).Has("<fieldset disabled", "Answer {{ticket}}").Lacks(`name="disconnect"`)
		v.Post(node(id, "write"), url.Values{"label": {"Mine"}}).Is(http.StatusForbidden)
		if got := h.Draft(id).Node("write").Label; got != "" {
			t.Errorf("the label is %q", got)
		}
	})
	t.Run("is not found if missing or in another workspace", func(t *testing.T) {
		want := b.Get("/flows/flow_none/node/write").Is(http.StatusNotFound)
		foreign, err := h.Library.Import(t.Context(), flow.WorkspaceID(h.Workspace()), "", []byte(ticketFlow))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{node(id, "none"), node(string(foreign.ID), "write")} {
			if got := b.Get(path).Is(http.StatusNotFound); got.Body != want.Body {
				t.Errorf("%s answers differently", path)
			}
		}
	})
}

func TestSaveNode(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.As(flow.MemberEditor)
	t.Run("changes only what differs", func(t *testing.T) {
		before := h.Rev(id)
		b.Post(node(id, "write"), url.Values{"as.prompt": {"area"}, "text.prompt": {"Answer {{ticket}}"}, "label": {""}, "color": {""}}).RedirectsTo(node(id, "write"))
		if h.Rev(id) != before {
			t.Error("a form that changes nothing made a revision")
		}
		b.Post(node(id, "write"), url.Values{"as.prompt": {"area"}, "text.prompt": {"Answer\r\n{{ticket}}"}, "as.temperature": {"number"}, "text.temperature": {"0.5"}, "label": {"Write"}, "color": {"blue"}}).RedirectsTo(node(id, "write"))
		n := h.Draft(id).Node("write")
		if n.Label != "Write" || n.Color != "blue" || h.Config(id, "write", "prompt") != `"Answer\n{{ticket}}"` || h.Config(id, "write", "temperature") != "0.5" {
			t.Errorf("the node is %+v", n)
		}
	})
	t.Run("keeps invalid values with their errors", func(t *testing.T) {
		form := url.Values{"as.temperature": {"number"}, "text.temperature": {"warm"}, "as.schema": {"json"}, "text.schema": {`{"a":`}, "label": {"Typed"}, "retry.attempts": {"99"}, "retry.backoff_s": {""}, "timeout_s": {"soon"}, "on_error": {"fail"}}
		b.Post(node(id, "write"), form).Is(http.StatusUnprocessableEntity).Has(`value="warm"`, "is not a number", "{&#34;a&#34;:", "This is not valid JSON", `value="Typed"`, `value="99"`, "from 1 to 20", `value="soon"`)
		if h.Draft(id).Node("write").Label == "Typed" {
			t.Error("a part of the form was carried out")
		}
	})
	t.Run("saves error handling", func(t *testing.T) {
		form := url.Values{"retry.attempts": {"3"}, "retry.backoff_s": {"1.5"}, "timeout_s": {"30"}, "on_error": {"continue"}, "as.continue.text": {"area"}, "text.continue.text": {"sorry"}, "as.continue.json": {"json"}, "text.continue.json": {""}, "label": {""}, "disabled": {"true"}}
		b.Post(node(id, "write"), form).RedirectsTo(node(id, "write"))
		n := h.Draft(id).Node("write")
		if got := string(flow.EncodeJSON(map[string]any{"r": n.Retry, "t": n.TimeoutS, "e": n.OnError, "d": n.Disabled})); got != `{"d":true,"e":{"continue":{"text":"sorry"}},"r":{"attempts":3,"backoff_s":1.5},"t":30}` {
			t.Errorf("the node has %s", got)
		}
		form.Set("on_error", "route")
		form.Del("disabled")
		form.Set("retry.attempts", "")
		form.Set("retry.backoff_s", "")
		form.Set("timeout_s", "")
		b.Post(node(id, "write"), form).RedirectsTo(node(id, "write"))
		if n := h.Draft(id).Node("write"); n.Retry != nil || n.TimeoutS != 0 || !n.OnError.Route || n.Disabled {
			t.Errorf("the node is %+v", n)
		}
	})
	t.Run("makes a node a tool", func(t *testing.T) {
		tool := func() string {
			v, _ := document.NodeMember(h.Draft(id).Node("write"), "tool")
			return string(value.Canonical(v))
		}
		b.Post(node(id, "write"), url.Values{"tool.description": {"Writes an answer."}}).RedirectsTo(node(id, "write"))
		if got := tool(); got != `{"description":"Writes an answer."}` {
			t.Errorf("the tool is %s", got)
		}
		b.Get(node(id, "write")).Has(`data-put="tool"`, "Default: read")
		form := url.Values{"tool.description": {"Writes."}, "tool.name": {"compose"}, "tool.effect": {"write"}, "tool.on_error": {""}, "tool.max_calls": {"3"}, "tool.param.tone": {"Such as friendly"}}
		b.Post(node(id, "write"), form).RedirectsTo(node(id, "write"))
		if got := tool(); got != `{"description":"Writes.","effect":"write","max_calls":3,"name":"compose","params":{"tone":{"description":"Such as friendly"}}}` {
			t.Errorf("the tool is %s", got)
		}
		before := h.Rev(id)
		b.Post(node(id, "write"), form).RedirectsTo(node(id, "write"))
		if h.Rev(id) != before {
			t.Error("a form that changes nothing made a revision")
		}
		b.Post(node(id, "write"), url.Values{"tool.description": {""}, "tool.name": {""}, "tool.max_calls": {""}, "tool.param.tone": {""}}).RedirectsTo(node(id, "write"))
		if got := tool(); got != "null" {
			t.Errorf("the tool is %s", got)
		}
	})
	t.Run("removes an edge", func(t *testing.T) {
		b.Post(node(id, "team"), url.Values{"disconnect": {"ticket.value>team.text"}}).RedirectsTo(node(id, "team"))
		b.Post(node(id, "team"), url.Values{"disconnect": {"write.text>reply.value"}}).RedirectsTo(node(id, "team"))
		if edges := h.Draft(id).Edges; slices.Contains(edges, flow.Edge{From: "ticket.value", To: "team.text"}) || len(edges) != 2 {
			t.Errorf("the edges are %v", edges)
		}
	})
	t.Run("moves a secret to a credential and never shows it", func(t *testing.T) {
		b.Post(node(id, "write"), url.Values{"as.credential": {"secret"}, "kept.credential": {""}, "text.credential": {"s3cret-value"}}).RedirectsTo(node(id, "write"))
		name, ok := flow.SecretRef(h.Draft(id).Node("write").Config["credential"])
		if !ok {
			t.Fatal("the secret stayed in the draft")
		}
		b.Get(node(id, "write")).Has(name).Lacks("s3cret-value")
		b.Post(node(id, "write"), url.Values{"as.credential": {"secret"}, "text.credential": {"s3cret-value"}, "as.temperature": {"number"}, "text.temperature": {"x"}}).Is(http.StatusUnprocessableEntity).Lacks("s3cret-value")
	})
}

// multipartForm encodes a form with a file as browsers do.
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
	h := webtest.Setup(t)
	id := h.Flow(`{"schema": "sluice.flow/v1", "name": "F", "nodes": [{"id": "doc", "kind": "document", "config": {"file": "https://example.com/a.html"}}], "edges": []}`)
	b := h.As(flow.MemberEditor)
	t.Run("upload with the form", func(t *testing.T) {
		mime, body := multipartForm(t, url.Values{"as.file": {"file"}, "text.file": {"https://example.com/a.html"}, "kept.file": {""}}, "upload.file", "terms.txt", "the terms")
		b.Send("POST", node(id, "doc"), mime, body).RedirectsTo(node(id, "doc"))
		value := h.Draft(id).Node("doc").Config["file"]
		b.Get(node(id, "doc")).Has("terms.txt", "9 bytes")
		b.Post(node(id, "doc"), url.Values{"as.file": {"file"}, "text.file": {""}, "kept.file": {string(flow.EncodeJSON(value))}, "drop.file": {"1"}}).RedirectsTo(node(id, "doc"))
		if got := h.Config(id, "doc", "file"); got != "null" {
			t.Errorf("the field has %s", got)
		}
	})
	t.Run("upload from the script", func(t *testing.T) {
		mime, body := multipartForm(t, nil, "file", "<b>.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
		var file map[string]any
		if err := json.Unmarshal([]byte(b.Send("POST", "/flows/"+id+"/files", mime, body).Is(http.StatusCreated).Body), &file); err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprint("/files/", file["file"])
		got := h.As(flow.MemberViewer).Get(path).Is(http.StatusOK)
		if got.Header.Get("Content-Security-Policy") != media.Policy || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("served with %v", got.Header)
		}
		h.Anonymous().Get(path).Is(http.StatusSeeOther)
		mime, body = multipartForm(t, nil, "file", "a.txt", "a")
		h.As(flow.MemberViewer).Send("POST", "/flows/"+id+"/files", mime, body).Is(http.StatusForbidden)
		b.Get("/files/file_00000000000000000000000000").Is(http.StatusNotFound)
	})
}

func TestModels(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.As(flow.MemberEditor)
	b.Get("/flows/"+id+"/models?task=chat&q=llama3").Is(http.StatusOK).Has(`data-model="ollama/llama3.2"`, "for chat", "The credential is refused.", "mistral/known", "128K", "$1.00 / $2.00", `data-connect="mistral"`).Lacks("qwen3")
	b.Get("/flows/flow_none/models?task=chat").Is(http.StatusNotFound)
	hosted := h.Flow(`{"schema": "sluice.flow/v1", "name": "H", "nodes": [{"id": "draw", "kind": "hosted_model", "config": {"model": "acme/old", "input.steps": 3}}], "edges": []}`)
	t.Run("pins the chosen model", func(t *testing.T) {
		b.Post(node(hosted, "draw"), url.Values{"as.model": {"model"}, "text.model": {"acme/paint"}}).RedirectsTo(node(hosted, "draw"))
		n := h.Draft(hosted).Node("draw")
		if n.Config["model"] != "acme/paint" || n.Config["version"] == nil || n.Config["schema"] == nil || h.Config(hosted, "draw", "input.steps") != "3" {
			t.Errorf("the node has %v", n.Config)
		}
		b.Get(node(hosted, "draw")).Has(`name="text.input.steps"`, `type="range"`)
	})
	t.Run("refuses and keeps an incompatible model", func(t *testing.T) {
		b.Post(node(hosted, "draw"), url.Values{"as.model": {"model"}, "text.model": {"acme/none"}}).Is(http.StatusUnprocessableEntity).Has("There is no model acme/none.", `value="acme/none"`)
	})
	t.Run("accepts a model by name if its schema is unavailable", func(t *testing.T) {
		b.Post(node(hosted, "draw"), url.Values{"as.model": {"model"}, "text.model": {"acme/locked"}}).RedirectsTo(node(hosted, "draw"))
		if got := h.Config(hosted, "draw", "model"); got != `"acme/locked"` {
			t.Errorf("the model is %s", got)
		}
	})
	t.Run("returns edits to the script", func(t *testing.T) {
		b.Fragment().Get(node(hosted, "draw")+"/pin?model=acme/paint").Is(http.StatusOK).Has(`"op":"set"`, `"field":"model"`, `"value":"acme/paint"`)
		b.Fragment().Get(node(hosted, "draw") + "/pin?model=acme/none").Is(http.StatusUnprocessableEntity)
		b.Fragment().Get(node(id, "write") + "/pin?model=acme/paint").Is(http.StatusNotFound)
		h.As(flow.MemberViewer).Fragment().Get(node(hosted, "draw") + "/pin?model=acme/paint").Is(http.StatusForbidden)
	})
	t.Run("lists the changes of an upgrade", func(t *testing.T) {
		b.Fragment().Get(node(hosted, "draw")+"/upgrade").Is(http.StatusOK).Has("The input seed is gone.", "All values and edges are kept.")
		b.Post(node(hosted, "draw"), url.Values{"upgrade": {"1"}}).RedirectsTo(node(hosted, "draw"))
	})
}

func TestAddCredential(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.As(flow.MemberEditor)
	path := "/flows/" + id + "/credentials"
	form := url.Values{"name": {"openai"}, "provider": {"openai"}, "secret": {"sk-very-secret"}}
	b.Fragment().Get(path+"?provider=openai").Is(http.StatusOK).Has(`<option value="openai" selected>`, `value="openai"`)
	b.Fragment().Post(path, form).Is(http.StatusCreated).Has(`"name":"openai"`).Lacks("sk-very-secret")
	b.Get(node(id, "write")).Has(`{&#34;credential&#34;:&#34;openai&#34;}`).Lacks("sk-very-secret")
	t.Run("never replaces a credential", func(t *testing.T) {
		form.Set("secret", "sk-other")
		b.Fragment().Post(path, form).Is(http.StatusUnprocessableEntity).Has("A credential with this name exists.").Lacks("sk-other")
		_, secret, err := h.Store.OpenCredential(t.Context(), flow.DefaultWorkspace, "openai")
		if err != nil || secret != "sk-very-secret" {
			t.Errorf("the secret is %q, %v", secret, err)
		}
	})
	t.Run("reports missing fields", func(t *testing.T) {
		b.Fragment().Post(path, url.Values{"name": {"x"}}).Is(http.StatusUnprocessableEntity).Has("Paste the secret here.", `value="x"`)
	})
	h.As(flow.MemberViewer).Fragment().Post(path, form).Is(http.StatusForbidden)
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	h, id := inspected(t)
	b := h.As(flow.MemberViewer)
	got := b.Get("/flows/"+id+"/completions?node=write").Is(http.StatusOK).
		Has(`{"name":"ticket","from":"ticket.value","title":"ticket › value","type":"text","example":"It is broken."}`, `"name":"team","from":"team.label","to":"write.team"`, `"from":"team.score","to":"write.team_score"`)
	got.Lacks("reply.value") // it depends on this node
	if strings.Index(got.Body, "ticket.value") > strings.Index(got.Body, "team.label") {
		t.Error("what is connected does not come first")
	}
	b.Get("/flows/"+id+"/completions?node=reply").Has("write.text", "team.label")
	b.Get("/flows/" + id + "/completions?node=none").Is(http.StatusNotFound)
}

func TestCompletions_number_equal_names(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	var nodes strings.Builder
	for i := range 12 {
		fmt.Fprintf(&nodes, `{"id": "draft%s", "kind": "template", "config": {"template": "Dear"}},`, strings.Repeat("_", i))
	}
	id := h.Flow(`{"schema": "sluice.flow/v1", "name": "Tickets", "nodes": [` + nodes.String() + `{"id": "write", "kind": "template", "config": {"template": "Dear"}}], "edges": []}`)
	h.As(flow.MemberViewer).Get("/flows/"+id+"/completions?node=write").Is(http.StatusOK).Has(`"name":"draft"`, `"name":"draft_2"`, `"name":"draft_10"`, `"name":"draft_12"`)
}

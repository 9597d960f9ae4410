package editor_test

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

// greetingNext has an added input, one that became required, another output, and
// a webhook.
const greetingNext = `{"schema":"sluice.flow/v1","name":"Greet","nodes":[
 {"id":"who","kind":"input","config":{"name":"who","type":"text"}},
 {"id":"count","kind":"input","config":{"name":"count","type":"number"}},
 {"id":"tone","kind":"input","config":{"name":"tone","type":"text","default":"friendly"}},
 {"id":"words","kind":"template","label":"Say hello","config":{"template":"Hello {{who}}, {{count}} times, {{tone}}"}},
 {"id":"out","kind":"output","config":{"name":"greeting"}},
 {"id":"tell","kind":"webhook","label":"Tell sales","config":{"url":"https://hooks.example.com/token-17"}}],
 "edges":[{"from":"who.value","to":"words.who"},{"from":"count.value","to":"words.count"},{"from":"tone.value","to":"words.tone"},{"from":"words.text","to":"out.value"}]}`

func TestAPI(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	owner, viewer := h.As(flow.MemberOwner), h.As(flow.MemberViewer)

	t.Run("shows how to call the flow", func(t *testing.T) {
		t.Parallel()
		id := h.PublishedFlow(webtest.Greeting)
		page := owner.Get("/flows/"+id+"/api").Is(200).Has("<h1>API</h1>", "v1 live", "no unpublished changes", "POST", h.Http.URL+"/v1/flow/"+id+"/run",
			"Whom to greet.", "required", "default 3", "The greeting</small>", `data-show="who"`, `href="/flows/`+id+`?node=who"`, "KEY=", "slu_YOUR_KEY", "/openapi.json", h.Http.URL+"/mcp", "No API calls yet", `href="/flows/`+id+`/form"`, `id="flow-keys"`)
		page.Lacks("Ada <b>", "in v2", "Not published")
		part := owner.Fragment().Get("/flows/"+id+"/api").Is(200).Has(`id="api-draft"`, `id="api-try"`, `id="api-calls"`, `id="api-addresses"`)
		part.Lacks("<html", "<h1>")
		if !(strings.Index(part.Body, `id="api-state"`) < strings.Index(part.Body, `id="api-fields"`) && strings.Index(part.Body, `id="api-fields"`) < strings.Index(part.Body, `id="api-snippets"`)) {
			t.Error("the sections are in another order")
		}
	})
	t.Run("reports that nothing is published", func(t *testing.T) {
		t.Parallel()
		id := h.Flow(webtest.Greeting)
		owner.Get("/flows/"+id+"/api").Is(200).Has("Not published yet", `data-command="publish"`, `href="/flows/`+id+`/publish"`, "This is the draft’s API", "so the response is an error").Lacks("in v1", "View changes")
		viewer.Get("/flows/"+id+"/api").Is(200).Has("Not published yet").Lacks(`data-command="publish"`, "api-try-form")
	})
	t.Run("follows the draft and marks unpublished changes", func(t *testing.T) {
		t.Parallel()
		id := h.PublishedFlow(webtest.Greeting)
		h.Replace(flow.FlowID(id), greetingNext)
		part := owner.Fragment().Get("/flows/"+id+"/api?part=draft").Is(200).Has("draft differs: 1 input added, 1 input changed, 1 output added, 1 output removed", "View changes", "/compare?from=1", "breaks programs that call v1",
			"in v2", "changes in v2", "gone in v2", "became required: requests without it are rejected", "Tell sales", "to hooks.example.com", "This calls v1, which is live")
		part.Lacks("token-17", `id="api-try"`)
		h.Publish(id)
		owner.Fragment().Get("/flows/"+id+"/api?part=draft").Is(200).Has("v2 live", "no unpublished changes").Lacks("in v2", "gone in", "breaks programs")
	})
	t.Run("is part of the builder only for the draft", func(t *testing.T) {
		t.Parallel()
		id := h.PublishedFlow(webtest.Greeting)
		seen := h.As(flow.MemberOwner)
		seen.Get("/flows/"+id).Is(200).Has(`id="flow-api"`, `href="/flows/`+id+`/api">How programs`, `id="pane-api" aria-labelledby="tab-api" hidden`).Lacks(`id="api-snippets"`, `id="api-draft"`)
		remembers(seen, "pane", "api")
		seen.Get("/flows/"+id).Is(200).Has(`id="pane-node" aria-labelledby="tab-node" hidden`, `id="pane-api" aria-labelledby="tab-api">`, `id="api-snippets"`, `id="api-draft"`).Lacks("How programs")
		remembers(seen, "pane", "odd")
		seen.Get("/flows/" + id).Is(200).Has(`id="pane-api" aria-labelledby="tab-api" hidden`)
		owner.Get("/flows/" + id + "?version=1").Is(200).Has("Open its API").Lacks(`id="api-snippets"`)
	})
	t.Run("is hidden from other workspaces", func(t *testing.T) {
		t.Parallel()
		foreign := h.FlowElsewhere()
		for _, path := range []string{"/api", "/api/calls", "/api/openapi.json", "/runs/" + "run_01jd6v0q8zmkt5ej4d7n3a0000" + "/curl"} {
			owner.Get("/flows/" + foreign + path).Is(404)
		}
		missing := owner.Get("/flows/flow_01jd6v0q8zmkt5ej4d7n3a0000/api").Is(404)
		if got := owner.Get("/flows/" + foreign + "/api").Is(404); withoutRequest(got) != withoutRequest(missing) {
			t.Error("a foreign flow looks different from a missing one")
		}
		owner.Post("/flows/"+foreign+"/api/try", url.Values{"in.who": {"Ada"}}).Is(404)
	})
}

// withoutRequest is a page without the ID of its request.
func withoutRequest(a *webtest.Answer) string {
	return strings.ReplaceAll(a.Body, a.Header.Get("X-Request-Id"), "")
}

func TestAPISnippets(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberViewer), h.PublishedFlow(webtest.Greeting)
	b.Get("/flows/"+id+"/api").Is(200).Has("Prefer: wait=30", `id="api-lang-curl"`, `&amp;manner=stream`)
	b.Get("/flows/" + id + "/api?lang=curl&manner=stream").Is(200).Has("text/event-stream").Lacks("Prefer: wait=30")
	b.Fragment().Get("/flows/"+id+"/api?part=snippets").Is(200).Has("text/event-stream", `href="/docs/quickstart"`).Lacks("api-fields")
	b.Fragment().Get("/flows/"+id+"/api?part=snippets&manner=webhook").Is(200).Has("whsec_", `href="/docs/webhooks"`)
	b.Fragment().Get("/flows/" + id + "/api?part=snippets&lang=cobol&manner=shout").Is(200).Has("whsec_")
}

var tags = regexp.MustCompile(`<[^>]*>`)

func TestTryAPI(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	editor, viewer := h.As(flow.MemberEditor), h.As(flow.MemberViewer)
	id := h.PublishedFlow(webtest.Greeting)
	try := func(b *webtest.Browser, flowID string, form url.Values) *webtest.Answer {
		form.Set("filled", "1")
		return b.Post("/flows/"+flowID+"/api/try", form)
	}

	t.Run("sends a real request", func(t *testing.T) {
		t.Parallel()
		a := try(editor.Fragment(), id, url.Values{"in.who": {"Ada <i>"}, "in.count": {"2"}}).Is(200)
		text := html.UnescapeString(tags.ReplaceAllString(a.Body, ""))
		for _, want := range []string{"POST /v1/flow/" + id + "/run HTTP/1.1", "Authorization: Bearer slu_YOUR_KEY", "Content-Type: application/json", "Prefer: wait=30", `"who": "Ada <i>"`, `"count": 2`,
			"HTTP/1.1 200 OK", `"status": "succeeded"`, "Hello Ada <i>, 2 times", "Preference-Applied: wait=30", `"trigger": "builder"`, "Open the run"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in %s", want, text)
			}
		}
		a.Lacks("<i>", "<html")
		var told map[string]map[string]string
		if err := json.Unmarshal([]byte(a.Header.Get("HX-Trigger")), &told); err != nil || !strings.HasPrefix(told["api:tried"]["run"], "run_") {
			t.Errorf("told %q", a.Header.Get("HX-Trigger"))
		}
	})
	t.Run("works without scripts and keeps submitted values", func(t *testing.T) {
		t.Parallel()
		try(editor, id, url.Values{"in.who": {"Grace & co"}, "in.count": {""}}).Is(200).Has("<h1>API</h1>", "<details open>", "Grace &amp; co</textarea>", "Hello Grace", "Open the run")
	})
	t.Run("shows an error response", func(t *testing.T) {
		t.Parallel()
		a := try(editor.Fragment(), id, url.Values{"in.who": {""}, "in.count": {"many"}}).Is(200)
		a.Has("422 Unprocessable Entity", "input_invalid").Lacks("Open the run", "Show it on the canvas")
		try(editor.Fragment(), h.Flow(webtest.Greeting), url.Values{"in.who": {"Ada"}}).Is(200).Has("409 Conflict", "not_published")
	})
	t.Run("announces the run before it ends", func(t *testing.T) {
		t.Parallel()
		slow, let := h.SlowFlow()
		h.Publish(slow)
		s := openStream(editor, "/flows/"+slow+"/events?rev=0", "")
		s.next("flow:people")
		answered := make(chan *webtest.Answer, 1)
		go func() { answered <- try(editor.Fragment(), slow, url.Values{"tab": {"tab-1"}}) }()
		told := s.next("flow:tried")
		if told.detail["tab"] != "tab-1" {
			t.Errorf("told %v", told.detail)
		}
		let <- http.StatusOK
		if a := <-answered; !strings.Contains(a.Body, `data-run="`+told.detail["run"].(string)+`"`) {
			t.Errorf("told of %v, answered %s", told.detail, a.Body)
		}
	})
	t.Run("refuses viewers", func(t *testing.T) {
		t.Parallel()
		try(viewer, id, url.Values{"in.who": {"Ada"}}).Is(403)
		viewer.Get("/flows/" + id + "/api").Is(200).Has("Editors of this workspace").Lacks("api-try-form")
	})
	t.Run("bounds the form", func(t *testing.T) {
		t.Parallel()
		try(editor.Fragment(), id, url.Values{"in.who": {strings.Repeat("x", web.MaxInputText+1)}}).Is(422).Has("Nothing was sent.")
	})
	t.Run("shows the error for a long body", func(t *testing.T) {
		t.Parallel()
		try(editor.Fragment(), id, url.Values{"in.who": {strings.Repeat("x", web.MaxForm+1)}}).Is(200).Has("413")
	})
	t.Run("forwards a file", func(t *testing.T) {
		t.Parallel()
		doc := h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Pass","nodes":[{"id":"doc","kind":"input","config":{"name":"doc","type":"file"}},{"id":"out","kind":"output","config":{"name":"doc"}}],"edges":[{"from":"doc.value","to":"out.value"}]}`)
		mime, body := multipartForm(t, url.Values{"filled": {"1"}}, "in.doc", "notes.txt", "what was said")
		editor.Fragment().Send(http.MethodPost, "/flows/"+doc+"/api/try", mime, body).Is(200).Has("200 OK", "notes.txt", "file_")
	})
}

func TestAPICalls(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	b, id := h.As(flow.MemberViewer), h.PublishedFlow(webtest.Greeting)
	called, err := h.Call(id, h.Key("shop<b>"), map[string]any{"who": "it's Ada"})
	if err != nil {
		t.Fatal(err)
	}
	run := string(called.ID)
	list := b.Fragment().Get("/flows/"+id+"/api/calls").Is(200).Has(run, "succeeded", "shop&lt;b&gt;", "p95", `href="/runs/`+run+`"`, "/runs/"+run+"/curl")
	_, rest, _ := strings.Cut(list.Body, `data-mark="`)
	mark, _, _ := strings.Cut(rest, `"`)
	b.Fragment().Get("/flows/" + id + "/api/calls?mark=" + mark).Is(204)
	b.Fragment().Get("/flows/" + id + "/api/calls?mark=other").Is(200)
	b.Get("/flows/" + id + "/api/calls").RedirectsTo("/flows/" + id + "/api#api-calls")
	b.Get("/flows/"+id+"/runs/"+run+"/curl").Is(200).Has("slu_YOUR_KEY", "/v1/flow/"+id+"/run", `it'\''s Ada`)
	b.Get("/flows/" + h.PublishedFlow(webtest.Greeting) + "/runs/" + run + "/curl").Is(404)
	b.Get("/flows/"+id+"/api/openapi.json").Is(200).Has(`"openapi"`, "Whom to greet.")

	if err := h.Store.EraseRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(id), flow.RunID(run), flow.CodeResultNotSaved); err != nil {
		t.Fatal(err)
	}
	b.Get("/flows/" + id + "/runs/" + run + "/curl").Is(410)
}

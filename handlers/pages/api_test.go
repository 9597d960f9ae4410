package pages

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"sluice/flow"
)

// greeting takes a name and gives a text; a webhook tells somebody.
const greeting = `{"schema":"sluice.flow/v1","name":"Greet","nodes":[
 {"id":"who","kind":"input","config":{"name":"who","type":"text","example":"Ada <b>","description":"Whom to greet."}},
 {"id":"count","kind":"input","config":{"name":"count","type":"number","default":3}},
 {"id":"words","kind":"template","label":"Say hello","config":{"template":"Hello {{who}}, {{count}} times"}},
 {"id":"out","kind":"output","label":"The greeting","config":{"name":"text"}}],
 "edges":[{"from":"who.value","to":"words.who"},{"from":"count.value","to":"words.count"},{"from":"words.text","to":"out.value"}]}`

// greetingNext has an input more, one that is required now, another output, and
// a webhook.
const greetingNext = `{"schema":"sluice.flow/v1","name":"Greet","nodes":[
 {"id":"who","kind":"input","config":{"name":"who","type":"text"}},
 {"id":"count","kind":"input","config":{"name":"count","type":"number"}},
 {"id":"tone","kind":"input","config":{"name":"tone","type":"text","default":"friendly"}},
 {"id":"words","kind":"template","label":"Say hello","config":{"template":"Hello {{who}}, {{count}} times, {{tone}}"}},
 {"id":"out","kind":"output","config":{"name":"greeting"}},
 {"id":"tell","kind":"webhook","label":"Tell sales","config":{"url":"https://hooks.example.com/token-17"}}],
 "edges":[{"from":"who.value","to":"words.who"},{"from":"count.value","to":"words.count"},{"from":"tone.value","to":"words.tone"},{"from":"words.text","to":"out.value"}]}`

// live is a flow that is published.
func (h *house) live(document string) (id string) {
	h.t.Helper()
	id = h.flow(document)
	h.publish(id)
	return id
}

func TestAPI(t *testing.T) {
	t.Parallel()
	h := setup(t)
	owner, viewer := h.as(flow.MemberOwner), h.as(flow.MemberViewer)

	t.Run("shows what programs need", func(t *testing.T) {
		t.Parallel()
		id := h.live(greeting)
		page := owner.get("/flows/"+id+"/api").is(200).has("<h1>API</h1>", "v1 live", "the draft is the same", "POST", h.http.URL+"/v1/flow/"+id+"/run",
			"Whom to greet.", "required", "default 3", "The greeting</small>", `data-show="who"`, `href="/flows/`+id+`?node=who"`, "KEY=", "slu_YOUR_KEY", "/openapi.json", h.http.URL+"/mcp", "No program has called this flow yet", `href="/flows/`+id+`/form"`, `id="flow-keys"`)
		page.lacks("Ada <b>", "in v2", "Not published")
		part := owner.part().get("/flows/"+id+"/api").is(200).has(`id="api-draft"`, `id="api-try"`, `id="api-calls"`, `id="api-addresses"`)
		part.lacks("<html", "<h1>")
		if !(strings.Index(part.body, `id="api-state"`) < strings.Index(part.body, `id="api-fields"`) && strings.Index(part.body, `id="api-fields"`) < strings.Index(part.body, `id="api-snippets"`)) {
			t.Error("the sections are in another order")
		}
	})
	t.Run("says that nothing is published", func(t *testing.T) {
		t.Parallel()
		id := h.flow(greeting)
		owner.get("/flows/"+id+"/api").is(200).has("Not published yet", `data-command="publish"`, `href="/flows/`+id+`/publish"`, "This is the draft’s API", "what every program gets until then").lacks("in v1", "See what")
		viewer.get("/flows/"+id+"/api").is(200).has("Not published yet").lacks(`data-command="publish"`, "api-try-form")
	})
	t.Run("follows the draft and marks what is not live", func(t *testing.T) {
		t.Parallel()
		id := h.live(greeting)
		h.replace(id, greetingNext)
		part := owner.part().get("/flows/"+id+"/api?part=draft").is(200).has("draft differs: 1 input added, 1 input changed, 1 output added, 1 output removed", "See what", "/compare?from=1", "breaks programs that call v1",
			"in v2", "changes in v2", "gone in v2", "is required now: callers who leave it out are refused", "Tell sales", "to hooks.example.com", "This calls v1, which is live")
		part.lacks("token-17", `id="api-try"`)
		h.publish(id)
		owner.part().get("/flows/"+id+"/api?part=draft").is(200).has("v2 live", "the draft is the same").lacks("in v2", "gone in", "breaks programs")
	})
	t.Run("is in the builder, with the draft alone", func(t *testing.T) {
		t.Parallel()
		id := h.live(greeting)
		seen := h.as(flow.MemberOwner)
		seen.get("/flows/"+id).is(200).has(`id="flow-api"`, `href="/flows/`+id+`/api">How programs`, `id="pane-api" aria-labelledby="tab-api" hidden`).lacks(`id="api-snippets"`, `id="api-draft"`)
		seen.remembers("pane", "api")
		seen.get("/flows/"+id).is(200).has(`id="pane-node" aria-labelledby="tab-node" hidden`, `id="pane-api" aria-labelledby="tab-api">`, `id="api-snippets"`, `id="api-draft"`).lacks("How programs")
		seen.remembers("pane", "odd")
		seen.get("/flows/" + id).is(200).has(`id="pane-api" aria-labelledby="tab-api" hidden`)
		owner.get("/flows/" + id + "?version=1").is(200).has("Its API is here").lacks(`id="api-snippets"`)
	})
	t.Run("is nobody else's", func(t *testing.T) {
		t.Parallel()
		foreign := h.flowElsewhere()
		for _, path := range []string{"/api", "/api/calls", "/api/openapi.json", "/runs/" + "run_01jd6v0q8zmkt5ej4d7n3a0000" + "/curl"} {
			owner.get("/flows/" + foreign + path).is(404)
		}
		missing := owner.get("/flows/flow_01jd6v0q8zmkt5ej4d7n3a0000/api").is(404)
		if got := owner.get("/flows/" + foreign + "/api").is(404); withoutRequest(got) != withoutRequest(missing) {
			t.Error("a foreign flow looks different from a missing one")
		}
		owner.post("/flows/"+foreign+"/api/try", url.Values{"in.who": {"Ada"}}).is(404)
	})
}

// remembers sets a cookie as a script of the page does.
func (b *browser) remembers(name, value string) {
	b.t.Helper()
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: name, Value: value, Path: "/flows"}})
}

// withoutRequest is a page without the ID of its request.
func withoutRequest(a *answer) string {
	return strings.ReplaceAll(a.body, a.header.Get("X-Request-Id"), "")
}

func TestAPISnippets(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberViewer), h.live(greeting)
	b.get("/flows/"+id+"/api").is(200).has("Prefer: wait=30", `id="api-lang-curl"`, `&amp;manner=stream`)
	b.get("/flows/" + id + "/api?lang=curl&manner=stream").is(200).has("text/event-stream").lacks("Prefer: wait=30")
	b.part().get("/flows/"+id+"/api?part=snippets").is(200).has("text/event-stream", `href="/docs/quickstart"`).lacks("api-fields")
	b.part().get("/flows/"+id+"/api?part=snippets&manner=webhook").is(200).has("whsec_", `href="/docs/webhooks"`)
	b.part().get("/flows/" + id + "/api?part=snippets&lang=cobol&manner=shout").is(200).has("whsec_")
}

var tags = regexp.MustCompile(`<[^>]*>`)

func TestTryAPI(t *testing.T) {
	t.Parallel()
	h := setup(t)
	editor, viewer := h.as(flow.MemberEditor), h.as(flow.MemberViewer)
	id := h.live(greeting)
	try := func(b *browser, flowID string, form url.Values) *answer {
		form.Set("filled", "1")
		return b.post("/flows/"+flowID+"/api/try", form)
	}

	t.Run("sends a real request", func(t *testing.T) {
		t.Parallel()
		a := try(editor.part(), id, url.Values{"in.who": {"Ada <i>"}, "in.count": {"2"}}).is(200)
		text := html.UnescapeString(tags.ReplaceAllString(a.body, ""))
		for _, want := range []string{"POST /v1/flow/" + id + "/run HTTP/1.1", "Authorization: Bearer slu_YOUR_KEY", "Content-Type: application/json", "Prefer: wait=30", `"who": "Ada <i>"`, `"count": 2`,
			"HTTP/1.1 200 OK", `"status": "succeeded"`, "Hello Ada <i>, 2 times", "Preference-Applied: wait=30", `"trigger": "builder"`, "Open the run"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in %s", want, text)
			}
		}
		a.lacks("<i>", "<html")
		var told map[string]map[string]string
		if err := json.Unmarshal([]byte(a.header.Get("HX-Trigger")), &told); err != nil || !strings.HasPrefix(told["api:tried"]["run"], "run_") {
			t.Errorf("told %q", a.header.Get("HX-Trigger"))
		}
	})
	t.Run("works without a script, and keeps what was typed", func(t *testing.T) {
		t.Parallel()
		try(editor, id, url.Values{"in.who": {"Grace & co"}, "in.count": {""}}).is(200).has("<h1>API</h1>", "<details open>", "Grace &amp; co</textarea>", "Hello Grace", "Open the run")
	})
	t.Run("shows a refusal as what it is", func(t *testing.T) {
		t.Parallel()
		a := try(editor.part(), id, url.Values{"in.who": {""}, "in.count": {"many"}}).is(200)
		a.has("422 Unprocessable Entity", "input_invalid").lacks("Open the run", "Show it on the canvas")
		try(editor.part(), h.flow(greeting), url.Values{"in.who": {"Ada"}}).is(200).has("409 Conflict", "not_published")
	})
	t.Run("tells of the run before it has ended", func(t *testing.T) {
		t.Parallel()
		slow, let := h.waiting()
		h.publish(slow)
		s := editor.stream("/flows/"+slow+"/events?rev=0", "")
		s.next("flow:people")
		answered := make(chan *answer, 1)
		go func() { answered <- try(editor.part(), slow, url.Values{"tab": {"tab-1"}}) }()
		told := s.next("flow:tried")
		if told.detail["tab"] != "tab-1" {
			t.Errorf("told %v", told.detail)
		}
		let <- http.StatusOK
		if a := <-answered; !strings.Contains(a.body, `data-run="`+told.detail["run"].(string)+`"`) {
			t.Errorf("told of %v, answered %s", told.detail, a.body)
		}
	})
	t.Run("is not for viewers", func(t *testing.T) {
		t.Parallel()
		try(viewer, id, url.Values{"in.who": {"Ada"}}).is(403)
		viewer.get("/flows/" + id + "/api").is(200).has("Editors of this workspace").lacks("api-try-form")
	})
	t.Run("takes no more than a form may have", func(t *testing.T) {
		t.Parallel()
		try(editor.part(), id, url.Values{"in.who": {strings.Repeat("x", maxTexts+1)}}).is(422).has("Nothing was sent.")
	})
	t.Run("shows what the API says of a long body", func(t *testing.T) {
		t.Parallel()
		try(editor.part(), id, url.Values{"in.who": {strings.Repeat("x", maxForm+1)}}).is(200).has("413")
	})
	t.Run("passes a file on", func(t *testing.T) {
		t.Parallel()
		doc := h.live(`{"schema":"sluice.flow/v1","name":"Pass","nodes":[{"id":"doc","kind":"input","config":{"name":"doc","type":"file"}},{"id":"out","kind":"output","config":{"name":"doc"}}],"edges":[{"from":"doc.value","to":"out.value"}]}`)
		mime, body := multipartForm(t, url.Values{"filled": {"1"}}, "in.doc", "notes.txt", "what was said")
		editor.part().send(http.MethodPost, "/flows/"+doc+"/api/try", mime, body).is(200).has("200 OK", "notes.txt", "file_")
	})
}

func TestAPICalls(t *testing.T) {
	t.Parallel()
	h := setup(t)
	b, id := h.as(flow.MemberViewer), h.live(greeting)
	called, err := h.call(id, h.key("shop<b>"), map[string]any{"who": "it's Ada"})
	if err != nil {
		t.Fatal(err)
	}
	run := called.ID
	list := b.part().get("/flows/"+id+"/api/calls").is(200).has(run, "succeeded", "shop&lt;b&gt;", "p95", `href="/runs/`+run+`"`, "/runs/"+run+"/curl")
	_, rest, _ := strings.Cut(list.body, `data-mark="`)
	mark, _, _ := strings.Cut(rest, `"`)
	b.part().get("/flows/" + id + "/api/calls?mark=" + mark).is(204)
	b.part().get("/flows/" + id + "/api/calls?mark=other").is(200)
	b.get("/flows/" + id + "/api/calls").see("/flows/" + id + "/api#api-calls")
	b.get("/flows/"+id+"/runs/"+run+"/curl").is(200).has("slu_YOUR_KEY", "/v1/flow/"+id+"/run", `it'\''s Ada`)
	b.get("/flows/" + h.live(greeting) + "/runs/" + run + "/curl").is(404)
	b.get("/flows/"+id+"/api/openapi.json").is(200).has(`"openapi"`, "Whom to greet.")

	if err := h.store.EraseRun(t.Context(), flow.DefaultWorkspace, id, run, flow.CodeResultNotSaved); err != nil {
		t.Fatal(err)
	}
	b.get("/flows/" + id + "/runs/" + run + "/curl").is(410)
}

package api

import (
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

func TestStartRun(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.start(w.held, `{"gate": "g"}`, 202, "X-Request-Id", "mine-1")
	id, _ := a.field("run_id").(string)
	if !flow.ValidID(flow.PrefixRun, id) {
		t.Errorf("run_id is %q", id)
	}
	self := "/v1/flow/" + w.held + "/run/" + id
	for name, want := range map[string]string{
		"Location": self, "X-Request-Id": "mine-1", "Content-Type": "application/json", "Retry-After": "1", "Cache-Control": "no-store",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, wanted %q", name, got, want)
		}
	}
	a.wantFields(t, map[string]any{
		"flow_id": w.held, "version": 1, "status": "queued", "started_at": nil, "ended_at": nil, "expires_at": nil,
		"inputs": map[string]any{"gate": "g"}, "outputs": nil, "error": nil, "progress": map[string]any{"done": 0, "total": 5},
		"usage": map[string]any{"input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "reasoning_tokens": 0}, "cost": map[string]any{"usd": "0.00", "unpriced_steps": 0},
		"draft": false, "trigger": "api", "parent_run_id": nil, "metadata": map[string]any{},
		"urls": map[string]any{
			"self": publicURL + self, "result": publicURL + self + "/result", "cancel": publicURL + self + "/cancel",
			"events": publicURL + self + "/events", "dashboard": publicURL + "/flows/" + w.held + "/runs/" + id,
		},
	})
}

func TestStartRun_waits_for_the_end(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.start(w.echo, `{"ticket": "Where?"}`, 200, "Prefer", "respond-async, wait=60")
	a.wantFields(t, map[string]any{
		"status": "succeeded", "outputs": map[string]any{"answer": "Where?"}, "inputs": map[string]any{"ticket": "Where?", "tone": "friendly", "times": 1},
		"progress": map[string]any{"done": 5, "total": 5}, "usage": map[string]any{"input_tokens": 120, "output_tokens": 40, "cached_tokens": 0, "reasoning_tokens": 0}, "cost": map[string]any{"usd": "0.0013", "unpriced_steps": 0},
	})
	if got := a.header.Get("Preference-Applied"); got != "wait=60" {
		t.Errorf("Preference-Applied is %q", got)
	}
	if a.header.Get("Retry-After") != "" {
		t.Error("an ended run need not be asked for again")
	}
	for _, name := range []string{"created_at", "started_at", "ended_at", "expires_at"} {
		if s, _ := a.field(name).(string); len(s) != len("2026-01-31T12:00:00.000Z") || !strings.HasSuffix(s, "Z") {
			t.Errorf("%s is %q", name, s)
		}
	}
	late := w.start(w.held, `{"gate": "never"}`, 202, "Prefer", "wait=1")
	if got := late.header.Get("Preference-Applied"); got != "wait=1" {
		t.Errorf("Preference-Applied is %q", got)
	}
}

func TestStartRun_rejects_invalid_requests(t *testing.T) {
	t.Parallel()
	w := setup(t)
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	tests := []struct {
		name    string
		body    string
		headers []string
		status  int
		code    flow.Code
		places  string
	}{
		{name: "no body", status: 415, code: "unsupported_media_type"},
		{name: "an empty body", headers: []string{"Content-Type", "application/json"}, status: 400, code: "invalid_json", places: " required"},
		{name: "a list", body: `[]`, status: 400, code: "invalid_json", places: " wrong_type"},
		{name: "half a body", body: `{"ticket": "a`, status: 400, code: "invalid_json", places: "/ticket invalid_json"},
		{name: "trailing data", body: `{"ticket": "a"} {}`, status: 400, code: "invalid_json", places: " invalid_json"},
		{name: "a name twice", body: `{"ticket": "a", "ticket": "b"}`, status: 400, code: "invalid_json", places: "/ticket duplicate_name"},
		{name: "bad UTF-8", body: "{\"ticket\": \"\xff\"}", status: 400, code: "invalid_json", places: "/ticket invalid_json"},
		{name: "depth", body: `{"ticket": ` + deep + `}`, status: 400, code: "invalid_json"},
		{name: "another media type", body: `{}`, headers: []string{"Content-Type", "text/plain"}, status: 415, code: "unsupported_media_type"},
		{name: "another charset", body: `{}`, headers: []string{"Content-Type", "application/json; charset=latin1"}, status: 415, code: "unsupported_media_type"},
		{name: "compression", body: `{}`, headers: []string{"Content-Encoding", "gzip"}, status: 415, code: "unsupported_media_type"},
		{name: "a form", body: `ticket=a`, headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, code: "unsupported_media_type"},
		{name: "a body over 1 MiB", body: `{"ticket": "` + strings.Repeat("a", 1<<20) + `"}`, status: 413, code: "body_too_large"},
		{name: "another answer", body: `{"ticket": "a"}`, headers: []string{"Accept", "text/html"}, status: 406, code: "not_acceptable"},
		{name: "all that is wrong at once", body: `{"tickt": 1, "tone": "rude", "times": "3"}`, status: 422, code: "input_invalid",
			places: "/ticket required, /tone not_allowed, /times wrong_type, /tickt unknown"},
		{name: "null for a required input", body: `{"ticket": null}`, status: 422, code: "input_invalid", places: "/ticket required"},
		{name: "a number out of range", body: `{"ticket": "a", "times": 1e999}`, status: 422, code: "input_invalid", places: "/times out_of_range"},
		{name: "Prefer 0", body: `{"ticket": "a"}`, headers: []string{"Prefer", "wait=0"}, status: 400, code: "invalid_header"},
		{name: "Prefer 61", body: `{"ticket": "a"}`, headers: []string{"Prefer", "wait=61"}, status: 400, code: "invalid_header"},
		{name: "Prefer x", body: `{"ticket": "a"}`, headers: []string{"Prefer", "wait=x"}, status: 400, code: "invalid_header"},
		{name: "a long Idempotency-Key", body: `{"ticket": "a"}`, headers: []string{"Idempotency-Key", strings.Repeat("k", 256)}, status: 400, code: "invalid_header"},
		{name: "an Idempotency-Key that is not ASCII", body: `{"ticket": "a"}`, headers: []string{"Idempotency-Key", "schlüssel"}, status: 400, code: "invalid_header"},
		{name: "two Idempotency-Keys", body: `{"ticket": "a"}`, headers: []string{"Idempotency-Key", "a", "Idempotency-Key", "b"}, status: 400, code: "invalid_header"},
		{name: "a bad Last-Event-ID", body: `{"ticket": "a"}`, headers: []string{"Accept", "text/event-stream", "Last-Event-ID", "x"}, status: 400, code: "invalid_header"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := w.post("/v1/flow/"+w.echo+"/run", test.body, test.headers...)
			a.wantCode(t, test.status, test.code)
			if test.places != "" && a.pointers() != test.places {
				t.Errorf("problems at %s, wanted %s", a.pointers(), test.places)
			}
		})
	}
	if len(w.store.runs) != 0 {
		t.Errorf("%d runs were stored for refused requests", len(w.store.runs))
	}
}

func TestStartRun_suggests_input_names(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.post("/v1/flow/"+w.echo+"/run", `{"ticket": "a", "tonne": "formal", "run_options": {"metadat": {}}}`)
	a.wantCode(t, 422, flow.CodeInputInvalid)
	for _, want := range []string{`did you mean \"tone\"?`, `this is not a setting of run_options; did you mean \"metadata\"?`} {
		if !strings.Contains(string(a.raw), want) {
			t.Errorf("%s does not say %s", a.raw, want)
		}
	}
}

func TestStartRun_of_drafts_and_older_versions(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.publish(w.echo)
	w.post("/v1/flow/"+w.unpublished+"/run", `{"ticket": "a"}`).wantCode(t, 409, flow.CodeNotPublished)
	tests := []struct {
		name, options string
		manage        bool
		status        int
		version       any
	}{
		{"the draft without manage", `"draft"`, false, 403, nil},
		{"an old version without manage", `1`, false, 403, nil},
		{"the live version without manage", `2`, false, 202, 2},
		{"the draft", `"draft"`, true, 202, nil},
		{"an old version", `1`, true, 202, 1},
		{"no such version", `7`, true, 422, nil},
	}
	manager := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeManage}})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := request{method: "POST", path: "/v1/flow/" + w.echo + "/run", body: `{"ticket": "a", "run_options": {"version": ` + test.options + `}}`}
			if test.manage {
				r.key = manager
			}
			a := w.send(r)
			a.want(t, test.status)
			if a.status == 202 {
				a.wantFields(t, map[string]any{"version": test.version, "draft": test.version == nil})
			}
		})
	}
}

func TestStartRun_passes_options(t *testing.T) {
	t.Parallel()
	w := setup(t)
	a := w.start(w.echo, `{"ticket": "a", "run_options": {"webhook": {"url": "https://example.com/hook", "secret": "whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0"}, "metadata": {"customer": "<4711>"}, "timeout_s": 90.5, "save": false}}`, 202)
	a.wantFields(t, map[string]any{"metadata": map[string]any{"customer": "<4711>"}})
	if !strings.Contains(string(a.raw), "<4711>") {
		t.Error("text is escaped as for HTML")
	}
	s := w.runner.lastStart()
	o := s.Options
	if o.Webhook == nil || o.Webhook.URL != "https://example.com/hook" || o.Webhook.Secret == "" || !o.Discard || o.Timeout.Seconds() != 90.5 {
		t.Errorf("options are %+v", o)
	}
	if _, there := s.Given.Lookup("run_options"); there {
		t.Error("run_options went along as an input")
	}
}

func TestStartRun_rejects_invalid_options(t *testing.T) {
	t.Parallel()
	w := setup(t)
	tests := []struct{ name, options, places string }{
		{"not an object", `3`, "/run_options wrong_type"},
		{"an unknown name", `{"sav": true}`, "/run_options/sav unknown"},
		{"a version that is text", `{"version": "3"}`, "/run_options/version wrong_type"},
		{"version 0", `{"version": 0}`, "/run_options/version wrong_type"},
		{"version 1.5", `{"version": 1.5}`, "/run_options/version wrong_type"},
		{"a huge version", `{"version": 1e300}`, "/run_options/version wrong_type"},
		{"a webhook that is text", `{"webhook": "https://example.com"}`, "/run_options/webhook wrong_type"},
		{"a webhook without URL", `{"webhook": {}}`, "/run_options/webhook/url required"},
		{"a webhook with more", `{"webhook": {"url": "https://example.com", "method": "PUT"}}`, "/run_options/webhook/method unknown"},
		{"another scheme", `{"webhook": {"url": "ftp://example.com"}}`, "/run_options/webhook/url invalid"},
		{"no host", `{"webhook": {"url": "https:///x"}}`, "/run_options/webhook/url invalid"},
		{"a port out of range", `{"webhook": {"url": "https://example.com:99999/x"}}`, "/run_options/webhook/url invalid"},
		{"port 0", `{"webhook": {"url": "https://example.com:0/x"}}`, "/run_options/webhook/url invalid"},
		{"a host with a space", `{"webhook": {"url": "https://exa mple.com/x"}}`, "/run_options/webhook/url invalid"},
		{"a host that ends with a dot", `{"webhook": {"url": "https://example.com./x"}}`, "/run_options/webhook/url invalid"},
		{"a disguised address", `{"webhook": {"url": "https://0x7f.1/x"}}`, "/run_options/webhook/url invalid"},
		{"a password", `{"webhook": {"url": "https://me:pw@example.com"}}`, "/run_options/webhook/url invalid"},
		{"a long URL", `{"webhook": {"url": "https://example.com/` + strings.Repeat("a", 2048) + `"}}`, "/run_options/webhook/url invalid"},
		{"a secret of another form", `{"webhook": {"url": "https://example.com", "secret": "hunter2"}}`, "/run_options/webhook/secret invalid"},
		{"a short secret", `{"webhook": {"url": "https://example.com", "secret": "whsec_MTIz"}}`, "/run_options/webhook/secret invalid"},
		{"metadata that is a list", `{"metadata": []}`, "/run_options/metadata wrong_type"},
		{"much metadata", `{"metadata": {"a": "` + strings.Repeat("a", 16<<10) + `"}}`, "/run_options/metadata too_large"},
		{"no time", `{"timeout_s": 0}`, "/run_options/timeout_s too_small"},
		{"much time", `{"timeout_s": 1e7}`, "/run_options/timeout_s too_large"},
		{"time as text", `{"timeout_s": "60"}`, "/run_options/timeout_s wrong_type"},
		{"save as text", `{"save": "no"}`, "/run_options/save wrong_type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := w.post("/v1/flow/"+w.echo+"/run", `{"ticket": "a", "run_options": `+test.options+`}`)
			a.wantCode(t, 422, flow.CodeInputInvalid)
			if a.pointers() != test.places {
				t.Errorf("problems at %s, wanted %s", a.pointers(), test.places)
			}
		})
	}
	t.Run("options and inputs together", func(t *testing.T) {
		a := w.post("/v1/flow/"+w.echo+"/run", `{"run_options": {"save": 1, "timeout_s": -1}}`)
		if want := "/run_options/timeout_s too_small, /run_options/save wrong_type, /ticket required"; a.pointers() != want {
			t.Errorf("problems at %s, wanted %s", a.pointers(), want)
		}
	})
	w.start(w.echo, `{"ticket": "a", "run_options": null}`, 202)
	w.start(w.echo, `{"ticket": "a", "run_options": {"version": null, "webhook": null, "metadata": null, "timeout_s": null, "save": null}}`, 202)
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	w := setup(t)
	first := w.start(w.held, `{"gate": "g"}`, 202, "Idempotency-Key", "k 1")
	again := w.start(w.held, `{"gate": "g"}`, 202, "Idempotency-Key", "k 1")
	if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" {
		t.Error("Idempotent-Replayed is for the second answer alone")
	}
	if first.field("run_id") != again.field("run_id") || again.header.Get("Location") != first.header.Get("Location") {
		t.Error("another run was started")
	}
	w.post("/v1/flow/"+w.held+"/run", `{"gate":"g"}`, "Idempotency-Key", "k 1").wantCode(t, 422, flow.CodeIdempotencyMismatch)
	w.post("/v1/flow/"+w.echo+"/run", `{"gate": "g"}`, "Idempotency-Key", "k 1").wantCode(t, 422, flow.CodeIdempotencyMismatch)
	w.gates.open("g")
	w.start(w.held, `{"gate": "g"}`, 200, "Idempotency-Key", "k 1", "Prefer", "wait=60")
	w.start(w.held, `{"gate": "g"}`, 200, "Idempotency-Key", "k 1")

	run := w.addKey(flow.Key{Scopes: []flow.Scope{flow.ScopeRun}})
	w.send(request{method: "POST", path: "/v1/flow/" + w.held + "/run", key: run, body: `{"gate": "g"}`, headers: []string{"Idempotency-Key", "k 1"}}).
		wantCode(t, 422, flow.CodeIdempotencyMismatch)

	if err := w.store.EraseRun(t.Context(), "default", flow.FlowID(w.held), flow.RunID(first.field("run_id").(string)), flow.CodeRunExpired); err != nil {
		t.Fatal(err)
	}
	w.post("/v1/flow/"+w.held+"/run", `{"gate": "g"}`, "Idempotency-Key", "k 1").wantCode(t, 410, flow.CodeRunExpired)
}

// TestHeldRequests_check_the_key_again checks that a key that was revoked during the wait gets no
// outputs.
func TestHeldRequests_check_the_key_again(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]func(w *env) string{
		"start": func(w *env) string { return "/v1/flow/" + w.held + "/run" },
		"rerun": func(w *env) string { return w.endedRun(w.held, `{"gate": "first"}`) + "/rerun" },
		"wait":  func(w *env) string { return w.heldRun("g") + "?wait=60" },
	} {
		t.Run(name+" refuses a revoked key", func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.gates.open("first")
			r := request{method: "POST", path: path(w), body: `{"gate": "g"}`, headers: []string{"Prefer", "wait=60"}}
			switch name {
			case "rerun":
				r.body = `{"inputs": {"gate": "g"}}`
			case "wait":
				r.method, r.body = "GET", ""
			}
			answer := make(chan *reply)
			go func() { answer <- w.send(r) }()
			w.eventually(func() bool { return w.server.gate.held.Load() == 1 })
			w.store.mu.Lock()
			w.store.keys[flow.Hash([]byte(w.key))].RevokedAt = time.Now()
			w.store.mu.Unlock()
			w.gates.open("g")
			(<-answer).wantCode(t, 401, flow.CodeKeyRevoked)
		})
	}
}

func TestRejectedRequests_store_no_idempotency_key(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.post("/v1/flow/"+w.echo+"/run", `{}`, "Idempotency-Key", "k").wantCode(t, 422, flow.CodeInputInvalid)
	w.start(w.echo, `{"ticket": "a"}`, 202, "Idempotency-Key", "k")
}

// TestBodies_report_all_problems checks the codes and pointers of the problems of bodies that are not
// starts.
func TestBodies_report_all_problems(t *testing.T) {
	t.Parallel()
	w := setup(t)
	key := w.addKey(flow.Key{Scopes: flow.Scopes})
	run := w.endedRun(w.echo, `{"ticket": "a"}`)
	for _, test := range []struct{ path, body, places string }{
		{"/v1/flow/" + w.echo + "/publish", `{"version": 1.5, "notes": 1, "allow_breaking": "yes", "versoin": 1}`,
			"/version invalid, /notes wrong_type, /allow_breaking wrong_type, /versoin unknown_field"},
		{"/v1/apply", `{"publish": 1, "documets": []}`, "/documents required, /publish wrong_type, /documets unknown_field"},
		{"/v1/apply", `{"documents": {}, "source": null, "prune": null}`, "/documents wrong_type"},
		{"/v1/apply", `{"documents": [], "prune": true}`, "/source required"},
		{"/v1/flow/import", `{"documents": 1, "prune": true}`, "/documents wrong_type, /prune unknown_field"},
		{run + "/rerun", `{"from": "", "inputs": [], "children": "draft", "form": 1}`, "/from invalid, /inputs wrong_type, /children invalid, /form unknown"},
		{run + "/rerun", `{"from": 1, "inputs": null, "children": 2}`, "/from wrong_type, /children wrong_type"},
	} {
		a := w.send(request{method: "POST", path: test.path, body: test.body, key: key})
		a.wantCode(t, 422, flow.CodeInputInvalid)
		if a.pointers() != test.places {
			t.Errorf("%s with %s: %s, wanted %s", test.path, test.body, a.pointers(), test.places)
		}
	}
}

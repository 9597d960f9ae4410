package handlers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/webtest"
)

// notes is a noun beside the workspace, as other packages add them: with one declaration.
type notes struct {
	mu   sync.Mutex
	text map[flow.WorkspaceID]string
}

var kept = &notes{text: map[flow.WorkspaceID]string{}}

var _ = library.RegisterCompanion(&library.Companion{
	Name: "notes", Schema: "sluice.notes/v1", Title: "Notes of tests", OfWorkspace: true,
	Parse: func(o *flow.Object, _ func(string, ...string) error) (any, []flow.Problem) {
		text, ok := o.Get("text").(string)
		if !ok {
			return nil, []flow.Problem{{Pointer: "/text", Code: "invalid", Detail: "must be a text"}}
		}
		return text, nil
	},
	Write: func(content any) *flow.Object {
		o := &flow.Object{}
		o.Set("schema", "sluice.notes/v1")
		o.Set("text", content)
		return o
	},
	Read: func(_ context.Context, _ *library.Companions, of *library.CompanionOwner) (any, error) {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		return kept.text[of.WorkspaceID], nil
	},
	Plan: func(_ context.Context, _ *library.Companions, _ *library.CompanionRequest, was, wanted any) ([]library.CompanionChange, []flow.Problem, error) {
		if was == wanted {
			return nil, nil, nil
		}
		return []library.CompanionChange{{Change: library.AppliedChanged, Entry: "text", Text: "Changes the note.", Value: wanted}}, nil, nil
	},
	Apply: func(_ context.Context, _ *library.Companions, r *library.CompanionRequest, c *library.CompanionChange) error {
		kept.mu.Lock()
		defer kept.mu.Unlock()
		kept.text[r.Owner.WorkspaceID] = c.Value.(string)
		return nil
	},
	MayChange: func(*flow.Key) error { return nil },
})

// companionEnv is a server with a flow and a file of its triggers.
type companionEnv struct {
	*caller
	id string
}

func newCompanionEnv(t *testing.T) *companionEnv {
	t.Helper()
	h := webtest.Setup(t)
	id := h.PublishedFlow(webtest.PublishGreeting)
	if err := h.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "github-hook", Hosts: []string{"hooks.example.com"}}, "a secret"); err != nil {
		t.Fatal(err)
	}
	return &companionEnv{newCaller(h, nil, flow.Key{Scopes: flow.Scopes}), id}
}

// do sends a request that must get a status, and returns its response.
func (e *companionEnv) do(want int, method, path, body string, header ...string) (raw string, h http.Header) {
	e.h.T.Helper()
	r, err := http.NewRequestWithContext(e.h.T.Context(), method, e.h.Http.URL+path, strings.NewReader(body))
	if err != nil {
		e.h.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+e.text)
	r.Header.Set("Content-Type", "application/json")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		e.h.T.Fatal(err)
	}
	defer a.Body.Close()
	var b strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := a.Body.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	if a.StatusCode != want {
		e.h.T.Fatalf("%s %s: %d, want %d\n%s", method, path, a.StatusCode, want, b.String())
	}
	return b.String(), a.Header
}

const greetTriggers = `{"schema": "sluice.triggers/v1", "triggers": [
	{"name": "issues", "kind": "hook", "verify": {"scheme": "github", "secrets": ["github-hook"]}, "inputs": {"who": {"cel": "body.issue.title"}}},
	{"kind": "schedule", "name": "daily", "cron": "0 9 * * 1-5", "timezone": "Europe/Berlin", "inputs": {"who": "Ada"}}]}`

// apply applies a file beside the flow and returns what changed.
func (e *companionEnv) apply(want int, content, more string) (change string, changes []string, raw string) {
	e.h.T.Helper()
	raw, _ = e.do(want, "POST", "/v1/apply", fmt.Sprintf(`{"documents": [], "companions": [{"slug": "greet", "content": %s}]%s}`, content, more))
	var o struct {
		Companions []struct {
			Change  string
			Changes []string
		}
	}
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		e.h.T.Fatal(err)
	}
	if len(o.Companions) == 0 {
		return "", nil, raw
	}
	return o.Companions[0].Change, o.Companions[0].Changes, raw
}

// audit returns the audit log.
func (e *companionEnv) audit() []flow.AuditEntry {
	e.h.T.Helper()
	log, err := e.h.Store.ListAudit(e.h.T.Context(), flow.DefaultWorkspace, "", 1000)
	if err != nil {
		e.h.T.Fatal(err)
	}
	return log
}

func (e *companionEnv) file() (text, tag string) {
	e.h.T.Helper()
	text, h := e.do(200, "GET", "/v1/flow/"+e.id+"/companions/triggers", "")
	return text, h.Get("ETag")
}

func TestCompanions_apply_twice_changes_nothing(t *testing.T) {
	t.Parallel()
	e := newCompanionEnv(t)
	if change, changes, raw := e.apply(200, greetTriggers, `, "dry_run": true`); change != "created" || len(changes) != 2 || !strings.Contains(raw, "Weekdays at 9:00 AM, Berlin") {
		t.Errorf("the dry run says %s", raw)
	}
	if text, tag := e.file(); strings.Contains(text, "daily") || tag != `"rev-0"` {
		t.Errorf("after a dry run the file is %s, %s", text, tag)
	}
	if change, _, raw := e.apply(200, greetTriggers, ""); change != "created" {
		t.Errorf("the apply says %s", raw)
	}
	first, tag := e.file()
	hook, _ := e.do(200, "GET", "/v1/flow/"+e.id+"/hooks/issues", "")
	e.do(200, "POST", "/v1/flow/"+e.id+"/triggers/daily/pause", "")
	audits := len(e.audit())
	if change, _, raw := e.apply(200, greetTriggers, ""); change != "unchanged" {
		t.Errorf("the second apply says %s", raw)
	}
	if n := len(e.audit()); n != audits {
		t.Errorf("the second apply left %d entries in the audit log", n-audits)
	}
	if text, again := e.file(); text != first || tag != again {
		t.Errorf("the file was\n%s%s\nand is\n%s%s", first, tag, text, again)
	}
	// The file that was read is the one to apply.
	if change, _, raw := e.apply(200, first, `, "prune": true, "source": "repo"`); change != "unchanged" {
		t.Errorf("applying the file that was read says %s", raw)
	}
	// A change keeps the URL and the pause.
	if change, changes, raw := e.apply(200, strings.NewReplacer("0 9", "0 7", `"body.issue.title"`, `"body.title"`).Replace(greetTriggers), ""); change != "changed" || len(changes) != 2 {
		t.Errorf("the change says %s", raw)
	}
	var was, now struct{ URL string }
	text, _ := e.do(200, "GET", "/v1/flow/"+e.id+"/hooks/issues", "")
	_, _ = json.Unmarshal([]byte(hook), &was), json.Unmarshal([]byte(text), &now)
	if was.URL == "" || was.URL != now.URL || !strings.Contains(text, "body.title") {
		t.Errorf("the webhook was %s and is %s", hook, text)
	}
	if text, _ := e.do(200, "GET", "/v1/flow/"+e.id+"/triggers/daily", ""); !strings.Contains(text, `"on":false`) || !strings.Contains(text, "7:00 AM") {
		t.Errorf("the paused schedule is %s", text)
	}
	if text, _ := e.file(); strings.Contains(text, was.URL[len(was.URL)-43:]) || strings.Contains(text, "paused") {
		t.Errorf("the file has a secret or a state:\n%s", text)
	}
}

func TestCompanions_refuse_to_replace_edits(t *testing.T) {
	t.Parallel()
	e := newCompanionEnv(t)
	e.apply(200, greetTriggers, "")
	e.do(200, "PUT", "/v1/flow/"+e.id+"/triggers/daily", `{"cron": "0 8 * * *", "inputs": {"who": "Bob"}}`)
	edited, tag := e.file()
	if _, _, raw := e.apply(409, greetTriggers, ""); !strings.Contains(raw, `"draft_changed"`) {
		t.Errorf("an apply over an edit says %s", raw)
	}
	if text, again := e.file(); text != edited || again != tag {
		t.Errorf("a refused apply changed the file to %s", text)
	}
	if change, _, raw := e.apply(200, edited, ""); change != "unchanged" {
		t.Errorf("applying the edit says %s", raw)
	}
	if change, _, raw := e.apply(200, greetTriggers, ""); change != "changed" {
		t.Errorf("an apply after the edit was pulled says %s", raw)
	}
	e.do(200, "PUT", "/v1/flow/"+e.id+"/triggers/daily", `{"cron": "0 8 * * *", "inputs": {"who": "Bob"}}`)
	if change, _, raw := e.apply(200, greetTriggers, `, "force": true`); change != "changed" {
		t.Errorf("a forced apply says %s", raw)
	}
}

func TestCompanions_prune_what_was_applied_from_the_source(t *testing.T) {
	t.Parallel()
	e := newCompanionEnv(t)
	document := strings.Replace(webtest.PublishGreeting, "{", `{"slug": "greet", `, 1)
	e.apply(200, greetTriggers, `, "source": "repo"`)
	e.do(200, "PUT", "/v1/flow/"+e.id+"/triggers/by-hand", `{"cron": "0 8 * * *", "inputs": {"who": "Bob"}}`)
	const empty = `{"schema": "sluice.triggers/v1", "triggers": []}`
	if change, _, raw := e.apply(200, empty, `, "source": "repo", "force": true`); change != "unchanged" {
		t.Errorf("an empty file without prune says %s", raw)
	}
	raw, _ := e.do(200, "POST", "/v1/apply", fmt.Sprintf(`{"documents": [%s], "companions": [{"slug": "greet", "content": %s}], "source": "repo", "prune": true, "force": true}`, document, empty))
	if !strings.Contains(raw, "Removes the webhook issues.") || !strings.Contains(raw, "Removes the schedule daily.") || strings.Contains(raw, "by-hand") {
		t.Errorf("an empty file with prune says %s", raw)
	}
	if text, _ := e.file(); !strings.Contains(text, "by-hand") || strings.Contains(text, "daily") {
		t.Errorf("the file is %s", text)
	}
}

func TestCompanions_of_a_limited_key_are_refused_as_a_whole(t *testing.T) {
	t.Parallel()
	e := newCompanionEnv(t)
	e.apply(200, greetTriggers, "")
	limited := &companionEnv{newCaller(e.h, nil, flow.Key{Scopes: flow.Scopes, RunsPerDay: 3}), e.id}
	if change, _, raw := limited.apply(200, greetTriggers, ""); change != "unchanged" {
		t.Errorf("an equal file says %s", raw)
	}
	other := strings.Replace(webtest.PublishGreeting, "{", `{"slug": "another", `, 1)
	raw, _ := limited.do(403, "POST", "/v1/apply", fmt.Sprintf(`{"documents": [%s], "companions": [{"slug": "greet", "content": %s}]}`, other, strings.Replace(greetTriggers, "0 9", "0 10", 1)))
	if !strings.Contains(raw, "exceeds_key") {
		t.Errorf("another file says %s", raw)
	}
	e.do(404, "GET", "/v1/flow/another", "")
	_, tag := e.file()
	limited.do(403, "PUT", "/v1/flow/"+e.id+"/companions/triggers", strings.Replace(greetTriggers, "0 9", "0 10", 1), "If-Match: "+tag)
}

func TestCompanions_name_what_is_wrong(t *testing.T) {
	t.Parallel()
	e := newCompanionEnv(t)
	for content, want := range map[string]string{
		`{"schema": "sluice.trigers/v1"}`:                                                                                                                          `did you mean`,
		`{"schema": "sluice.triggers/v1", "trigers": []}`:                                                                                                          `/companions/0/content/trigers`,
		`{"schema": "sluice.triggers/v1", "triggers": [{"name": "A"}]}`:                                                                                            `/companions/0/content/triggers/0/name`,
		`{"schema": "sluice.triggers/v1", "triggers": [{"name": "a", "kind": "schedule", "crom": "@daily"}]}`:                                                      `did you mean \"cron\"?`,
		`{"schema": "sluice.triggers/v1", "triggers": [{"name": "a", "kind": "schedule", "cron": 5}]}`:                                                             `must be a text`,
		`{"schema": "sluice.triggers/v1", "triggers": [{"name": "a", "kind": "schedule", "cron": "0 25 * * *"}]}`:                                                  `/companions/0/content/triggers/0/cron`,
		`{"schema": "sluice.triggers/v1", "triggers": [{"name": "a", "kind": "hook", "verify": {"scheme": "github", "secrets": ["none"]}}]}`:                       `there is no credential \"none\"`,
		`{"schema": "sluice.triggers/v1", "triggers": [{"name": "a", "kind": "hook", "verify": {"scheme": "nothing"}}]}`:                                           `/companions/0/content/triggers/0/verify/scheme`,
		`{"schema": "sluice.triggers/v1", "triggers": [{"name": "a", "kind": "schedule", "cron": "@daily"}, {"name": "a", "kind": "schedule", "cron": "@daily"}]}`: `another trigger has the name`,
	} {
		if _, _, raw := e.apply(422, content, ""); !strings.Contains(raw, want) {
			t.Errorf("%s gets %s, which lacks %s", content, raw, want)
		}
	}
	e.apply(200, `{"schema": "sluice.triggers/v1", "triggers": [{"name": "a", "kind": "schedule", "cron": "@daily"}]}`, "")
	if _, _, raw := e.apply(422, `{"schema": "sluice.triggers/v1", "triggers": [{"name": "a", "kind": "hook", "verify": {"scheme": "none"}}]}`, ""); !strings.Contains(raw, "is a schedule") {
		t.Errorf("another kind gets %s", raw)
	}
	raw, _ := e.do(422, "POST", "/v1/apply", `{"documents": [], "companions": [{"slug": "nowhere", "content": {"schema": "sluice.triggers/v1", "triggers": []}}]}`)
	if !strings.Contains(raw, `/companions/0/slug`) {
		t.Errorf("an unknown flow gets %s", raw)
	}
}

func TestCompanions_keep_the_last_50_revisions(t *testing.T) {
	t.Parallel()
	e := newCompanionEnv(t)
	path := "/v1/flow/" + e.id + "/companions/triggers"
	e.do(428, "PUT", path, greetTriggers)
	tag := `"rev-0"`
	for i := range 52 {
		_, h := e.do(200, "PUT", path, strings.Replace(greetTriggers, "0 9", fmt.Sprintf("%d 9", i), 1), "If-Match: "+tag)
		tag = h.Get("ETag")
	}
	e.do(412, "PUT", path, greetTriggers, `If-Match: "rev-51"`)
	e.do(412, "PUT", path, greetTriggers, `If-Match: nonsense`)
	raw, _ := e.do(200, "GET", path+"/history", "")
	var o struct{ Revisions []struct{ Revision int64 } }
	if err := json.Unmarshal([]byte(raw), &o); err != nil || len(o.Revisions) != 50 || o.Revisions[0].Revision != 52 || o.Revisions[49].Revision != 3 {
		t.Errorf("the history is %s", raw)
	}
	e.do(404, "GET", path+"?revision=2", "")
	old, _ := e.do(200, "GET", path+"?revision=3", "")
	if !strings.Contains(old, `"2 9 * * 1-5"`) {
		t.Errorf("revision 3 is %s", old)
	}
	// An earlier revision undoes the later ones.
	e.do(200, "PUT", path+"?prune=true", old, "If-Match: "+tag)
	if text, _ := e.file(); text != old {
		t.Errorf("the file is %s, want %s", text, old)
	}
	named := false
	for _, a := range e.audit() {
		named = named || a.Action == "trigger.change" && strings.HasSuffix(a.Detail, "revision 53")
	}
	if !named {
		t.Error("no entry of the audit log names the revision")
	}
}

func TestCompanions_beside_the_workspace(t *testing.T) {
	t.Parallel()
	e := newCompanionEnv(t)
	raw, _ := e.do(200, "POST", "/v1/apply", `{"documents": [], "companions": [{"content": {"schema": "sluice.notes/v1", "text": "Hello"}}]}`)
	if !strings.Contains(raw, `"slug":null`) || !strings.Contains(raw, `"change":"created"`) {
		t.Errorf("the apply says %s", raw)
	}
	text, h := e.do(200, "GET", "/v1/companions/notes", "")
	if !strings.Contains(text, "Hello") || h.Get("ETag") != `"rev-1"` {
		t.Errorf("the file is %s, %s", text, h.Get("ETag"))
	}
	e.apply(200, greetTriggers, "")
	if raw, _ := e.do(200, "GET", "/v1/companions", ""); !strings.Contains(raw, `"name":"notes"`) || !strings.Contains(raw, `"slug":"greet"`) {
		t.Errorf("the list is %s", raw)
	}
	e.do(404, "GET", "/v1/companions/triggers", "")
	e.do(404, "GET", "/v1/flow/"+e.id+"/companions/notes", "")
	other := e.h.PublishedFlow(strings.Replace(webtest.PublishGreeting, "{", `{"slug": "other", `, 1))
	narrow := &companionEnv{newCaller(e.h, nil, flow.Key{Scopes: flow.Scopes, Flows: []string{other}}), e.id}
	if raw, _ := narrow.do(200, "GET", "/v1/companions", ""); strings.Contains(raw, "notes") || strings.Contains(raw, "greet") {
		t.Errorf("a key with a list of flows sees %s", raw)
	}
	narrow.do(403, "GET", "/v1/companions/notes", "")
	narrow.do(403, "GET", "/v1/flow/"+e.id+"/companions/triggers", "")
	narrow.apply(403, greetTriggers, "")
}

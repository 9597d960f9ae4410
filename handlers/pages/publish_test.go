package pages

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

const greet = `{"schema": "sluice.flow/v1", "name": "Greet", "nodes": [
	{"id": "who", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "who", "type": "text"}},
	{"id": "tone", "kind": "input", "position": {"x": 0, "y": 160}, "config": {"name": "tone", "type": "text", "default": "warm"}},
	{"id": "say", "kind": "template", "label": "Say hello", "position": {"x": 300, "y": 0}, "config": {"template": "Hello {{who}}, {{tone}}"}},
	{"id": "out", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "greeting"}}],
	"edges": [{"from": "who.value", "to": "say.who"}, {"from": "tone.value", "to": "say.tone"}, {"from": "say.text", "to": "out.value"}]}`

// broken is greet without the input "tone".
const broken = `{"schema": "sluice.flow/v1", "name": "Greet", "nodes": [
	{"id": "who", "kind": "input", "position": {"x": 0, "y": 0}, "config": {"name": "who", "type": "text"}},
	{"id": "say", "kind": "template", "label": "Say hello", "position": {"x": 300, "y": 0}, "config": {"template": "Good morning {{who}}"}},
	{"id": "out", "kind": "output", "position": {"x": 600, "y": 0}, "config": {"name": "greeting"}}],
	"edges": [{"from": "who.value", "to": "say.who"}, {"from": "say.text", "to": "out.value"}]}`

// replace makes the draft of a flow another document.
func (h *house) replace(id, document string) {
	h.t.Helper()
	if _, err := h.library.Import(context.Background(), flow.DefaultWorkspace, id, []byte(document)); err != nil {
		h.t.Fatal(err)
	}
}

// key makes a key that programs call with.
func (h *house) key(name string) *flow.Key {
	h.t.Helper()
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: name, Prefix: "slu_" + name, Hash: name, Scopes: []flow.Scope{flow.ScopeRun}}
	if err := h.store.CreateKey(context.Background(), k); err != nil {
		h.t.Fatal(err)
	}
	return k
}

// call starts a run of the live version, as a program does, and returns its end.
func (h *house) call(id string, k *flow.Key, inputs map[string]any) (*flow.Run, error) {
	h.t.Helper()
	s := flow.Start{WorkspaceID: flow.DefaultWorkspace, FlowID: id, Key: k, Trigger: flow.TriggerAPI, Given: inputs, Wait: 10 * time.Second}
	out, err := h.runner.StartRun(context.Background(), s)
	return out.Run, err
}

func (a *answer) field(name string) string {
	a.t.Helper()
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.body)
	if found == nil {
		a.t.Fatalf("there is no field %s in: %s", name, a.body)
	}
	return found[1]
}

func TestPublish(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, editor := h.flow(greet), h.as(flow.MemberEditor)
	path := "/flows/" + id
	editor.get(path).is(200).has("Publish v1", `id="publish-dialog"`)
	editor.get(path+"/publish").is(200).has("Publish as an API", "POST", "/v1/flow/"+id+"/run", "was added and is required").lacks("breaks programs")

	editor.post(path+"/publish", url.Values{"note": {"The first greeting"}}).see(path + "/versions")
	editor.get(path+"/versions").is(200).has("v1", "The first greeting", "by you", "v1 is live", "is live. POST http")
	run, err := h.call(id, h.key("production"), map[string]any{"who": "Ada", "tone": "kind"})
	if err != nil || run.Outputs["greeting"] != "Hello Ada, kind" {
		t.Fatalf("%v %+v", err, run)
	}

	h.replace(id, broken)
	shown := editor.part().get(path+"/publish").is(200).has("breaks programs that call v1", `The input &#34;tone&#34; was removed`, "<b>production</b>", "1 call in 30 days", "Publish v2 anyway").lacks("<html")
	done := editor.part().post(path+"/publish", url.Values{"draft": {shown.field("draft")}}).is(200).has("v2 is live", `id="publish-button"`, "hx-swap-oob")
	if told := done.header.Get("HX-Trigger"); !strings.Contains(told, `"flow:published"`) || !strings.Contains(told, `"version":2`) || !strings.Contains(told, `"toast"`) {
		t.Error(told)
	}
	if _, err := h.call(id, h.key("other"), map[string]any{"who": "Ada", "tone": "kind"}); err == nil {
		t.Fatal("v2 takes the input that it does not have")
	}

	editor.get(path+"/versions/1/live").is(200).has("Roll back to v1", "The input &#34;tone&#34; was added and is optional")
	editor.post(path+"/versions/1/live", nil).see(path + "/versions")
	if run, err = h.call(id, h.key("third"), map[string]any{"who": "Ada", "tone": "kind"}); err != nil || run.Version != 1 || run.Outputs["greeting"] != "Hello Ada, kind" {
		t.Fatalf("%v %+v", err, run)
	}
	editor.get(path+"/versions").has("Publish v2", "Differs from v1")
	editor.get(path+"?version=1").is(200).has("You look at a version", `data-readonly`, `data-id="tone"`).lacks("publish-button")
	editor.get(path + "?version=9").is(404)
	entries, err := h.store.ListAudit(context.Background(), flow.DefaultWorkspace, "", 10)
	if err != nil || len(entries) < 3 || entries[0].Action != "flow.live" || entries[1].Action != "flow.publish" || entries[0].Detail != "v1 in place of v2" {
		t.Errorf("%v %+v", err, entries)
	}
}

func TestPublishRefuses(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, editor := h.flow(greet), h.as(flow.MemberEditor)
	path := "/flows/" + id + "/publish"
	t.Run("a draft that nobody saw", func(t *testing.T) {
		editor.post(path, url.Values{"draft": {"older"}, "note": {"what I typed"}}).is(422).has("changed since you looked", "what I typed")
		editor.part().post(path, url.Values{"draft": {"older"}}).is(422).has("changed since you looked").lacks("<html", "<header>")
	})
	t.Run("too long a note", func(t *testing.T) {
		editor.post(path, url.Values{"note": {strings.Repeat("é", 201)}}).is(422).has("200 characters at most", "éé")
	})
	t.Run("a draft with problems", func(t *testing.T) {
		bad := h.flow(greet)
		_, err := h.library.EditFlow(context.Background(), flow.DefaultWorkspace, bad, "", flow.EditRequest{Base: 1, Tab: "t", TxID: "t", Ops: []flow.Edit{{Op: flow.OpSet, Node: "out", Field: "name", Unset: true}}})
		if err != nil {
			t.Fatal(err)
		}
		page := editor.get("/flows/"+bad+"/publish").is(200).has("Not ready to be published", "1 problem in the draft", `href="/flows/`+bad+`?node=out"`).lacks("<form method=\"post\" action=\"/flows/" + bad + "/publish")
		page.has(`data-reveal="out"`)
		editor.post("/flows/"+bad+"/publish", nil).is(422).has("Nothing was published")
		editor.get("/flows/" + bad).has(`data-command="problems"`)
		if f, _ := h.store.FindFlow(context.Background(), flow.DefaultWorkspace, bad); f.LiveVersion != 0 {
			t.Error("it is live")
		}
	})
	t.Run("nothing new", func(t *testing.T) {
		editor.post(path, nil).see("/flows/" + id + "/versions")
		editor.get(path).has("Nothing to publish")
		editor.post(path, nil).see("/flows/" + id + "/versions")
		if list, _ := h.store.ListVersions(context.Background(), flow.DefaultWorkspace, id); len(list) != 1 {
			t.Errorf("%d versions", len(list))
		}
		editor.part().get(path + "/button").is(200).has("v1 is live").lacks("<html")
	})
}

func TestVersionsAreForMembers(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id := h.flow(greet)
	if _, _, err := h.library.Publish(context.Background(), flow.DefaultWorkspace, id, "cli"); err != nil {
		t.Fatal(err)
	}
	viewer, editor := h.as(flow.MemberViewer), h.as(flow.MemberEditor)
	path := "/flows/" + id
	viewer.get(path+"/versions").is(200).has("by the command line").lacks("Restore", "Make live", "Run the draft")
	viewer.get(path + "/publish").is(200)
	viewer.get(path + "/compare?from=1&to=draft").is(200)
	for _, post := range []string{"/publish", "/versions/1/live", "/versions/1/restore", "/versions/undo"} {
		viewer.post(path+post, nil).is(403)
	}
	missing := editor.get("/flows/flow_00000000000000000000000000/versions").is(404).body
	foreign := h.foreignFlow()
	for _, get := range []string{"/versions", "/publish", "/publish/button", "/compare", "/versions/1/live"} {
		if editor.get("/flows/"+foreign+get).is(404).body != missing {
			t.Errorf("%s: a foreign flow answers otherwise than one that is missing", get)
		}
		editor.get(path + strings.Replace(get, "/1/", "/99/", 1))
	}
	for _, get := range []string{"/versions/99/live", "/versions/x/live", "/compare?from=99", "/compare?from=-1", "/compare?to=x"} {
		editor.get(path + get).is(404)
	}
	editor.post("/flows/"+foreign+"/publish", nil).is(404)
	editor.post("/flows/"+foreign+"/versions/1/restore", nil).is(404)
	h.stranger().get(path + "/versions").see("/sign-in?next=" + url.QueryEscape(path+"/versions"))
}

// foreignFlow is a flow of a workspace that nobody of the test is in.
func (h *house) foreignFlow() string {
	h.t.Helper()
	ctx := context.Background()
	if err := h.store.CreateWorkspace(ctx, flow.Workspace{ID: "foreign", Name: "Foreign"}); err != nil {
		h.t.Fatal(err)
	}
	f, err := h.library.Import(ctx, "foreign", "", []byte(greet))
	if err != nil {
		h.t.Fatal(err)
	}
	return f.ID
}

func TestRestoreVersion(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, editor := h.flow(greet), h.as(flow.MemberEditor)
	path := "/flows/" + id + "/versions"
	editor.post("/flows/"+id+"/publish", nil).see(path)
	h.replace(id, broken)
	draft := func() string {
		f, err := h.store.FindFlow(context.Background(), flow.DefaultWorkspace, id)
		if err != nil {
			t.Fatal(err)
		}
		return string(f.Draft)
	}
	before := draft()
	to := editor.post(path+"/1/restore", nil).is(303).header.Get("Location")
	if !strings.HasPrefix(to, path+"?restored=1&tx=restore-") {
		t.Fatal(to)
	}
	page := editor.get(to).has("The draft equals v1 now", "Undo", "equals the draft")
	if !strings.Contains(draft(), "tone") {
		t.Error(draft())
	}
	editor.post(path+"/undo", url.Values{"tx": {page.field("tx")}}).see(path)
	if draft() != before {
		t.Errorf("not as before: %s", draft())
	}
	editor.post(path+"/undo", url.Values{"tx": {"nobody"}}).is(410)
}

func TestCompare(t *testing.T) {
	t.Parallel()
	h := setup(t)
	id, viewer := h.flow(greet), h.as(flow.MemberViewer)
	if _, _, err := h.library.Publish(context.Background(), flow.DefaultWorkspace, id, "cli"); err != nil {
		t.Fatal(err)
	}
	viewer.get("/flows/" + id + "/compare").is(200).has("No difference")
	h.replace(id, broken)
	viewer.get("/flows/"+id+"/compare?from=1&to=draft").is(200).has(
		"Programs that rely on v1 may fail with the draft", "No key has called this flow",
		"<del>Hello</del><ins>Good morning</ins>", `class="box g-api removed"`, `class="box g-text changed"`, `class="edge removed"`,
		`href="/flows/`+id+`/compare?from=draft&amp;to=1"`, `<option value="1" selected>v1 · live</option>`)
	viewer.get("/flows/" + id + "/compare?from=draft&to=1").is(200).has("was added and is optional").lacks("may fail")
}

func TestTextDiff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ before, after, want string }{
		{"one two three", "one 2 three", "one [-two][+2] three"},
		{"", "all new", "[+all new]"},
		{"a\nb\nc\n", "a\nc\n", "a\n[-b\n]c\n"},
		{"größer als", "größer wie", "größer [-als][+wie]"},
	} {
		var got strings.Builder
		for _, p := range textDiff(tt.before, tt.after) {
			switch p.Change {
			case flow.ChangeAdded:
				fmt.Fprintf(&got, "[+%s]", p.Text)
			case flow.ChangeRemoved:
				fmt.Fprintf(&got, "[-%s]", p.Text)
			default:
				got.WriteString(p.Text)
			}
		}
		if got.String() != tt.want {
			t.Errorf("got %q, want %q", got.String(), tt.want)
		}
	}
	var many strings.Builder // more different words than runes below the surrogates
	for i := range 70_000 {
		fmt.Fprintf(&many, "w%d\n", i)
	}
	var back strings.Builder
	for _, p := range textDiff(many.String(), many.String()+"end") {
		back.WriteString(p.Text)
	}
	if back.String() != many.String()+"end" {
		t.Error("a long text does not come back whole")
	}
}

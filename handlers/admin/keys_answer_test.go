package admin_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/schedule"
	"sluice/flow/triggers"
)

// asking returns a document that asks people before it outputs a text.
func asking(settings string) string {
	return `{"schema":"sluice.flow/v1","name":"Ask","slug":"ask","nodes":[
 {"id":"ask","kind":"approval","config":{"title":"Go on?"` + settings + `}},{"id":"out","kind":"output","config":{"name":"by"}}],
 "edges":[{"from":"ask.approved","to":"out.value"}]}`
}

// ask starts a run of the flow "ask" with a key and returns the path of its question.
func (e *env) ask(key string) string {
	e.T.Helper()
	r := &reach{env: e}
	started := r.sendWith(key, "POST", "/v1/flow/ask/run", `{}`, "X-Test", "no Prefer").want(202, "")
	return e.question(flow.RunID(fmt.Sprint(started.body["run_id"])))
}

// question waits until a run asks and returns the path of its question.
func (e *env) question(id flow.RunID) string {
	e.T.Helper()
	watch := e.Runner.WatchRun(id)
	defer watch.Stop()
	for timeout := time.After(time.Minute); ; {
		list, err := e.Store.ListApprovals(context.Background(), flow.DefaultWorkspace, id)
		if err != nil {
			e.T.Fatal(err)
		}
		if len(list) > 0 {
			return "/v1/flow/ask/run/" + string(id) + "/approvals/ask"
		}
		select {
		case <-watch.Changes:
		case <-timeout:
			e.T.Fatal("the run does not ask")
		}
	}
}

// ring creates and rotates keys as a key does, or as a person if caller is nil.
func (e *env) ring(caller *flow.Key) *library.Keyring {
	return &library.Keyring{Store: e.Store, IDs: flow.NewIDs(), Now: time.Now, Caller: caller}
}

// made creates a key with all scopes: by another key, or by a person.
func (e *env) made(by *flow.Key) (*flow.Key, string) {
	e.T.Helper()
	k, actor := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "made", Scopes: flow.Scopes}, "usr_ada"
	if by != nil {
		actor = by.ID
	}
	text, err := e.ring(by).Create(e.T.Context(), flow.Actor{ID: actor}, k)
	if err != nil {
		e.T.Fatal(err)
	}
	found, err := e.Store.FindKeyByHash(e.T.Context(), flow.Hash([]byte(text)))
	if err != nil {
		e.T.Fatal(err)
	}
	return found, text
}

// rotated rotates a key: by another key, or by a person.
func (e *env) rotated(k, by *flow.Key) string {
	e.T.Helper()
	actor := "usr_ada"
	if by != nil {
		actor = by.ID
	}
	now, err := e.Store.FindKey(e.T.Context(), k.WorkspaceID, k.ID)
	if err != nil {
		e.T.Fatal(err)
	}
	_, text, err := e.ring(by).Rotate(e.T.Context(), flow.Actor{ID: actor}, k.WorkspaceID, k.ID, now.Prefix, 0)
	if err != nil {
		e.T.Fatal(err)
	}
	return text
}

// TestAnswer_refuses_related_keys lets keys answer the questions of each other's runs.
func TestAnswer_refuses_related_keys(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.PublishedFlow(asking(`,"audience":"members"`))
	const yes = `{"decision":"approved"}`
	refuse := func(why, starter, answerer string) {
		t.Helper()
		if got := e.send(answerer, "POST", e.ask(starter), yes); got.status != 403 || got.body["code"] != string(flow.CodeAnswerNotAllowed) {
			t.Errorf("%s: %d %s", why, got.status, got.raw)
		}
	}
	accept := func(why, starter, answerer string) {
		t.Helper()
		if got := e.send(answerer, "POST", e.ask(starter), yes); got.status != 200 {
			t.Errorf("%s: %d %s", why, got.status, got.raw)
		}
	}
	first, firstText := e.made(nil)
	second, secondText := e.made(nil)
	accept("two keys that a person created", firstText, secondText)
	refuse("the same key", firstText, firstText)

	child, childText := e.made(first)
	_, siblingText := e.made(first)
	_, grandchildText := e.made(child)
	refuse("a key and the one that it created", firstText, childText)
	refuse("a key and the one that created it", childText, firstText)
	refuse("two keys that the same key created", childText, siblingText)
	refuse("a key and the one two levels above", firstText, grandchildText)
	refuse("a key and a sibling of its maker", siblingText, grandchildText)
	accept("keys of different chains", secondText, grandchildText)

	childText = e.rotated(child, child)
	refuse("a key that rotated itself", firstText, childText)
	childText = e.rotated(child, nil)
	refuse("a key that a person rotated", firstText, childText)
	third, _ := e.made(nil)
	thirdText := e.rotated(third, second)
	refuse("a key that the starter rotated", secondText, thirdText)
	refuse("a key that the answerer rotated", thirdText, secondText)
	accept("a key that an unrelated one rotated", firstText, thirdText)
	fourth, _ := e.made(nil)
	fourthText := e.rotated(fourth, second)
	refuse("two keys that the same key rotated", thirdText, fourthText)
	thirdText = e.rotated(third, nil)
	refuse("a key that the starter rotated earlier", secondText, thirdText)

	if _, _, err := e.ring(nil).Revoke(t.Context(), flow.Actor{ID: "usr_ada"}, first.WorkspaceID, child.ID, false); err != nil {
		t.Fatal(err)
	}
	refuse("a chain with a revoked key", siblingText, grandchildText)
}

// TestAnswer_accepts_related_keys_with_self_approve lifts the rule in the node.
func TestAnswer_accepts_related_keys_with_self_approve(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.PublishedFlow(asking(`,"self_approve":true`))
	first, firstText := e.made(nil)
	_, childText := e.made(first)
	e.send(childText, "POST", e.ask(firstText), `{"decision":"approved"}`).want(200, "")
	e.send(firstText, "POST", e.ask(firstText), `{"decision":"rejected"}`).want(200, "")
}

// TestAnswer_refuses_keys_that_changed_the_trigger answers questions of runs that a schedule started, which have no key.
func TestAnswer_refuses_keys_that_changed_the_trigger(t *testing.T) {
	t.Parallel()
	e := setup(t)
	id := flow.FlowID(e.PublishedFlow(asking(`,"audience":"members"`)))
	f, err := e.Store.FindFlow(t.Context(), flow.DefaultWorkspace, id)
	if err != nil {
		t.Fatal(err)
	}
	rules := &library.Triggers{Store: e.Store, IDs: flow.NewIDs(), Now: time.Now, CheckExpression: func(string, ...string) error { return nil }}
	creator, creatorText := e.made(nil)
	editor, editorText := e.made(nil)
	_, childText := e.made(creator)
	_, otherText := e.made(nil)
	set := func(actor, every string) *triggers.Trigger {
		t.Helper()
		nightly, _, err := rules.Set(t.Context(), flow.Actor{ID: actor}, nil, f, "nightly", triggers.Config{Spec: schedule.Spec{Every: every}})
		if err != nil {
			t.Fatal(err)
		}
		return nightly
	}
	set(creator.ID, "24h")
	set(editor.ID, "25h")
	nightly := set("usr_ada", "26h") // after which the two keys above still count
	var questions []string
	for i := range 4 {
		planned := time.Now().Add(time.Duration(i) * time.Minute)
		started, err := e.Runner.StartRun(t.Context(), flow.Start{
			WorkspaceID: flow.DefaultWorkspace, FlowID: id, Trigger: flow.TriggerSchedule,
			Occurrence: &flow.Occurrence{TriggerID: nightly.ID, TriggerName: nightly.Name, ScheduledAt: planned, Key: triggers.KeyOf(planned), Position: flow.NewIDs().New(flow.PrefixEvent), Overlap: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		questions = append(questions, e.question(started.Run.ID))
	}
	if err := rules.Delete(t.Context(), flow.Actor{ID: "usr_ada"}, nil, nightly); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		key, who string
		status   int
	}{
		{creatorText, "the key that created the trigger", 403}, {editorText, "the key that changed it", 403},
		{childText, "a key that the creator created", 403}, {otherText, "an unrelated key", 200},
	} {
		if got := e.send(c.key, "POST", questions[i], `{"decision":"approved"}`); got.status != c.status || c.status == 403 && got.body["code"] != string(flow.CodeAnswerNotAllowed) {
			t.Errorf("%s: %d %s", c.who, got.status, got.raw)
		}
	}
}

// TestApproval_stores_no_token sends an approval link to a receiver that returns the message, and
// looks for the token in a copy of the database.
func TestApproval_stores_no_token(t *testing.T) {
	t.Parallel()
	e := &reach{env: setup(t)}
	messages := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- string(body)
		_, _ = w.Write(body)
	}))
	defer receiver.Close()
	id := e.PublishedFlow(asking(`,"url":"` + receiver.URL + `"`))
	_, key := e.env.key(flow.Key{Scopes: flow.Scopes})
	e.sendWith(key, "POST", "/v1/flow/ask/run", `{}`, "X-Test", "no wait").want(202, "")
	sent := <-messages
	_, token, found := strings.Cut(sent, "/approval/")
	if token, _, _ = strings.Cut(token, `"`); !found || len(token) != 26 || strings.Contains(token, "~") {
		t.Fatalf("sent %s", sent)
	}
	e.DeliveryIs(id, string(flow.DeliveryDelivered))
	log := e.send(key, "GET", "/v1/flow/ask/deliveries", "").want(200, "")
	if strings.Contains(log.raw, token) || strings.Count(log.raw, "/approval/…") != 2 {
		t.Errorf("the log: %s", log.raw)
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if _, err := e.Store.SQLite().ExecContext(t.Context(), "VACUUM INTO ?", path); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte(token)) || !bytes.Contains(data, []byte("/approval/~")) {
		t.Errorf("the copy of the database has the token, or not the message: %v", err)
	}
	e.send(key, "POST", "/v1/deliveries/"+regexp.MustCompile(`whd_[0-9a-z]+`).FindString(log.raw)+"/redeliver", "").want(202, "")
	if again := <-messages; again != sent {
		t.Errorf("sent again: %s", again)
	}
	if got := e.Anonymous().Get("/approval/" + token); got.Status != http.StatusOK {
		t.Errorf("the link: %d", got.Status)
	}
	stored := regexp.MustCompile(`/approval/(~[A-Z2-7]{26})`).FindString(func() string { data, _ := os.ReadFile(path); return string(data) }())
	if got := e.Anonymous().Get(stored); got.Status != http.StatusNotFound {
		t.Errorf("the stored link: %d", got.Status)
	}
}

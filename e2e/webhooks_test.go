package e2e

import (
	"encoding/json"
	"net/http"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The secrets that the receivers of these tests share with the flow.
const (
	nodeSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	runSecret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
)

// branching returns a flow with three outputs: text, ada when name is Ada, and other when it
// is not. Of the given webhooks, "hook" takes its signature from an input and "one" has a
// {{name}} in its URL.
func branching(hooks ...object) []byte {
	nodes := []object{
		input("name"), node("token", "input", object{"name": "token", "type": "text", "default": ""}),
		node("greet", "template", object{"template": "Hello {{name}}!"}),
		node("is_ada", "condition", object{"expression": `value == "Ada"`}),
		output("text"), output("ada"), output("other"),
	}
	return documentOf("Greet and tell", append(nodes, hooks...),
		"name.value > greet.name", "greet.text > out_text.value", "name.value > is_ada.value",
		"is_ada.true > out_ada.value", "is_ada.false > out_other.value", "token.value > hook.signature", "name.value > one.name")
}

// TestWebhooks checks the webhook of a node and that of a run. The reference library must
// verify both signatures.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, nil)
	s := newServer(t)
	id := s.publish(branching(
		node("hook", "webhook", object{"url": receiver.URL + "/node", "outputs": []string{"text", "ada", "other"}, "secret": nodeSecret, "signature_header": "X-Token"}),
		node("one", "webhook", object{"url": receiver.URL + "/one/{{name}}", "outputs": []string{"text"}}),
		node("skipped", "webhook", object{"url": receiver.URL + "/skipped", "outputs": []string{"other"}}),
	))
	c := s.client(s.key())
	r := c.succeed(id, object{"name": "Ada", "token": "let-me-in", "run_options": object{
		"webhook": object{"url": receiver.URL + "/run", "secret": runSecret}, "metadata": object{"order": "17"},
	}})

	m := receiver.await(t, "/node", 1)[0]
	verify(t, nodeSecret, m)
	if got := m.header.Get("X-Token"); got != "let-me-in" {
		t.Errorf("the custom signature is %q", got)
	}
	wantJSON(t, m.body, `{"ada": "Ada", "text": "Hello Ada!"}`)

	one := receiver.await(t, "/one/Ada", 1)[0]
	verify(t, s.must("flow", "secret", id, "--node", "one"), one)
	wantJSON(t, one.body, `{"text": "Hello Ada!"}`)
	whole := receiver.await(t, "/run", 1)[0]
	verify(t, runSecret, whole)
	checkRunMessage(t, whole.body, r)
	if n := len(receiver.at("/skipped")); n != 0 || c.steps(r)["skipped"].State != "skipped" {
		t.Errorf("a webhook whose only output was skipped was sent %d times; its step is %s", n, c.steps(r)["skipped"].State)
	}
}

func verify(t *testing.T, secret string, m message) {
	t.Helper()
	hook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := hook.Verify(m.body, m.header); err != nil {
		t.Errorf("the reference library does not verify the message at %s: %v", m.path, err)
	}
	forged := append([]byte(" "), m.body...)
	if hook.Verify(forged, m.header) == nil {
		t.Errorf("a changed message at %s verifies too", m.path)
	}
}

func wantJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if string(x) != string(y) {
		t.Errorf("got %s, wanted %s", x, y)
	}
}

// checkRunMessage compares the per-run webhook with the run object.
func checkRunMessage(t *testing.T, body []byte, r *run) {
	t.Helper()
	var m struct {
		Type      string
		Timestamp string
		Data      run
	}
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatal(err)
	}
	if m.Type != "run.succeeded" || m.Timestamp == "" || m.Data.ID != r.ID || m.Data.Status != "succeeded" {
		t.Errorf("the webhook of the run says %s", body)
	}
	if m.Data.Outputs["text"] != r.Outputs["text"] || m.Data.Metadata["order"] != "17" {
		t.Errorf("outputs or metadata of the run's webhook differ: %s", body)
	}
}

// deliveries returns the webhook log of a flow, by the path of the URL.
func (c *client) deliveries(base, flowID string) map[string]delivery {
	c.t.Helper()
	var log struct{ Deliveries []delivery }
	if err := json.Unmarshal(c.want(200, "GET", "/v1/flow/"+flowID+"/deliveries", nil).body, &log); err != nil {
		c.t.Fatal(err)
	}
	byPath := map[string]delivery{}
	for _, d := range log.Deliveries {
		byPath[d.URL[len(base):]] = d
	}
	return byPath
}

type delivery struct {
	ID       string `json:"delivery_id"`
	RunID    string `json:"run_id"`
	URL      string `json:"url"`
	Status   string `json:"status"`
	Next     string `json:"next_attempt_at"`
	Attempts []struct {
		Status   *int
		Response string
		Error    *string
	}
}

// answerFailures responds to each path with a different failure.
func answerFailures(w http.ResponseWriter, path string, nth int) {
	switch {
	case path == "/flaky" && nth == 1:
		http.Error(w, "not now", http.StatusServiceUnavailable)
	case path == "/gone" && nth == 1:
		http.Error(w, "moved out", http.StatusGone)
	case path == "/moved":
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(http.StatusFound)
	}
}

// TestWebhookFailures checks that a failed message is sent again under the same ID, that 410
// stops it, that a redirect is a failure, and that the log shows all of it.
func TestWebhookFailures(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, answerFailures)
	s := newServer(t)
	hook := func(id, path string) object { return node(id, "webhook", object{"url": receiver.URL + path}) }
	id := s.publish(documentOf("Tell", []object{input("name"), output("text"), hook("flaky", "/flaky"), hook("gone", "/gone"), hook("moved", "/moved")},
		"name.value > out_text.value"))
	manager := s.client(s.manager())
	manager.succeed(id, object{"name": "Ada"})

	list := receiver.await(t, "/flaky", 2) // the schedule's first pause is 5 s
	if list[0].id() != list[1].id() || string(list[0].body) != string(list[1].body) {
		t.Errorf("the second attempt has another ID or body: %s and %s", list[0].id(), list[1].id())
	}
	var log map[string]delivery
	s.waitUntil("the log knows of the second attempt", func() bool {
		log = manager.deliveries(receiver.URL, id)
		return log["/flaky"].Status == "delivered"
	})
	flaky, gone, moved := log["/flaky"], log["/gone"], log["/moved"]
	if len(flaky.Attempts) != 2 || *flaky.Attempts[0].Status != 503 || flaky.Attempts[0].Response != "not now\n" {
		t.Errorf("the log of the flaky receiver is %+v", flaky)
	}
	if gone.Status != "failed" || len(gone.Attempts) != 1 || *gone.Attempts[0].Status != 410 {
		t.Errorf("410 did not stop the delivery: %+v", gone)
	}
	if moved.Status != "pending" || moved.Attempts[0].Error == nil || *moved.Attempts[0].Status != 302 || len(receiver.at("/elsewhere")) != 0 {
		t.Errorf("a redirect must be a failure: %+v", moved)
	}
	redeliver(t, s, manager, receiver, id, gone)
}

// redeliver checks that a failed delivery can be sent again under its ID by a key that may
// manage.
func redeliver(t *testing.T, s *server, manager *client, receiver *receiver, flowID string, d delivery) {
	t.Helper()
	path := "/v1/deliveries/" + d.ID + "/redeliver"
	s.client(s.key()).rejected(403, "scope_missing", "POST", path, nil)
	manager.want(202, "POST", path, nil)
	list := receiver.await(t, "/gone", 2)
	if list[1].id() != d.ID || list[0].id() != d.ID {
		t.Errorf("redelivered as %s, wanted %s", list[1].id(), d.ID)
	}
	s.waitUntil("the log knows of the redelivery", func() bool {
		now := manager.deliveries(receiver.URL, flowID)["/gone"]
		return now.Status == "delivered" && len(now.Attempts) == 2
	})
}

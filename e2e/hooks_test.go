package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/e2e/need"
)

// hookSender sends events to an incoming webhook as GitHub does.
type hookSender struct {
	t    *testing.T
	c    *client // may set the webhook
	flow string
	path string // of the URL, with its secret
}

const hookSecret = "It's a Secret to Everybody"

// newHookSender publishes a flow with a webhook.
func newHookSender(t *testing.T, s *server) *hookSender {
	t.Helper()
	if r := s.commandWith(hookSecret, "credential", "add", "--name", "github-hook", "--host", "hooks.example.com"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	h := &hookSender{t: t, c: s.client(s.key("--scope", "edit,read"))}
	h.flow = s.publish(documentOf("Issues", []object{input("title"), node("say", "template", object{"template": "Got {{title}}"}), output("got")}, "title.value > say.title", "say.text > out_got.value"))
	h.take(h.c.want(200, "PUT", "/v1/flow/"+h.flow+"/hooks/github", object{"verify": object{"scheme": "github", "secrets": []string{"github-hook"}}}))
	return h
}

// take reads the URL of the webhook.
func (h *hookSender) take(a *response) {
	h.t.Helper()
	url := fmt.Sprint(a.object(h.t)["url"])
	at := strings.Index(url, "/h/")
	if at < 0 {
		h.t.Fatalf("no URL in %s", a.body)
	}
	h.path = url[at:]
}

// send sends an event to a server and returns the status, the body and the header of its response.
func (h *hookSender) send(base, delivery, body string) (int, string, http.Header) {
	r, err := http.NewRequest(http.MethodPost, base+h.path, strings.NewReader(body))
	if err != nil {
		h.t.Error(err)
		return 0, "", nil
	}
	h.sign(r, delivery, body)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Error(err)
		return 0, "", nil
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(data), res.Header
}

// sign adds the headers of GitHub. A body that ends in a space was changed after it was signed.
func (h *hookSender) sign(r *http.Request, delivery, body string) {
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(strings.TrimSuffix(body, " ")))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-GitHub-Delivery", delivery)
	r.Header.Set("X-GitHub-Event", "issues")
}

// runs returns how many runs the flow has.
func (h *hookSender) runs() int {
	h.t.Helper()
	return len(listAll[plannedRun](h.t, h.c, "/v1/flow/"+h.flow+"/runs", "runs"))
}

// TestHooks_through_the_program sends events to the program, over its restart, a pause, a rotation and its deletion.
func TestHooks_through_the_program(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	h := newHookSender(t, s)
	want := func(status int, delivery, body string) (string, http.Header) {
		t.Helper()
		got, text, header := h.send(s.base(), delivery, body)
		if got != status {
			t.Fatalf("%s: %d %.200s, want %d", delivery, got, text, status)
		}
		return text, header
	}
	first, _ := want(200, "d1", `{"title":"Bug"}`)
	want(401, "d2", `{"title":"Bug"} `)
	want(422, "d3", `{"title":["Bug"],"more":{}}`)
	s.stop()
	s.start()
	if again, _ := want(200, "d1", `{"title":"Bug"}`); again != first {
		t.Errorf("after a restart the same event gets %s, before %s", again, first)
	}
	if n := h.runs(); n != 1 {
		t.Errorf("%d runs of one event", n)
	}
	trigger := "/v1/flow/" + h.flow + "/triggers/github"
	h.c.want(200, "POST", trigger+"/pause", nil)
	if text, header := want(503, "d4", `{"title":"Bug"}`); header.Get("Retry-After") == "" || !strings.Contains(text, "trigger_paused") {
		t.Errorf("a paused webhook answers %s with %v", text, header)
	}
	h.c.want(200, "POST", trigger+"/resume", nil)
	want(200, "d4", `{"title":"Bug"}`)
	old := h.path
	h.take(h.c.want(200, "POST", "/v1/flow/"+h.flow+"/hooks/github/rotate", object{"overlap_s": 3600}))
	now := h.path
	want(200, "d5", `{"title":"Bug"}`)
	h.path = old
	want(200, "d6", `{"title":"Bug"}`)
	h.c.want(204, "DELETE", trigger, nil)
	gone, _ := want(404, "d7", `{"title":"Bug"}`)
	h.path = now
	if text, _ := want(404, "d8", `{"title":"Bug"}`); text != gone {
		t.Errorf("%s and %s", text, gone)
	}
	if n := h.runs(); n != 4 {
		t.Errorf("%d runs, want 4", n)
	}
	p := s.process()
	s.stop()
	if log := p.out.String() + p.errs.String(); strings.Contains(log, old[3:]) || strings.Contains(log, now[3:]) {
		t.Errorf("the log has a URL:\n%s", log)
	}
}

// TestFleetHooks_start_one_run sends one event 50 times at once to three servers on PostgreSQL, several times.
func TestFleetHooks_start_one_run(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFleet(t, fleetConfig{})
	h := newHookSender(t, f.servers[0])
	const events = 10
	for n := range events {
		var all sync.WaitGroup
		answers := make([]string, 50)
		for i := range answers {
			all.Go(func() {
				status, text, _ := h.send(f.servers[i%len(f.servers)].base(), fmt.Sprintf("d%d", n), `{"title":"Bug"}`)
				answers[i] = fmt.Sprintf("%d %.200s", status, text)
			})
		}
		all.Wait()
		for i, a := range answers {
			if a != answers[0] || !strings.HasPrefix(a, "200 ") {
				t.Errorf("event %d, request %d: %s, want %s", n, i, a, answers[0])
			}
		}
	}
	if n := h.runs(); n != events {
		t.Errorf("%d runs of %d events", n, events)
	}
	var listed struct {
		Requests []struct {
			State   string
			Repeats int
		}
	}
	if err := json.Unmarshal(h.c.want(200, "GET", "/v1/flow/"+h.flow+"/hooks/github/requests", nil).body, &listed); err != nil {
		t.Fatal(err)
	}
	for _, r := range listed.Requests {
		if r.State != "started" || r.Repeats != 49 {
			t.Errorf("an event is %+v", r)
		}
	}
	if len(listed.Requests) != events {
		t.Errorf("%d events, want %d", len(listed.Requests), events)
	}
}

package e2e

import (
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// approving returns a flow that shows a draft to a person, who may edit it, and outputs
// what was approved.
func approving(hook string, settings object) []byte {
	config := object{"title": "Send it?", "message": "To **Ada**", "values": []string{"draft", "score"}, "editable": []string{"draft", "score"}, "score": 7, "url": hook}
	for name, value := range settings {
		config[name] = value
	}
	return documentOf("Ask first", []object{
		input("draft"), node("ask", "approval", config), output("sent"), output("no"), output("late"),
	}, "draft.value > ask.draft", "ask.draft > out_sent.value", "ask.rejected > out_no.value", "ask.expired > out_late.value")
}

// waitingMessage is the webhook message that announces an approval.
type waitingMessage struct {
	Type string
	Data struct {
		RunID string `json:"run_id"`
		Title string
		Link  string
	}
}

func announced(t *testing.T, m message) (w waitingMessage) {
	t.Helper()
	if err := json.Unmarshal(m.body, &w); err != nil || w.Type != "run.waiting" || w.Data.Link == "" {
		t.Fatalf("announced %s, %v", m.body, err)
	}
	return w
}

// form posts fields as a browser does.
func (s *server) form(path string, fields url.Values) *response {
	s.t.Helper()
	return s.client("").do("POST", path, []byte(fields.Encode()), "Content-Type: application/x-www-form-urlencoded")
}

// TestApproval asks a person by a link. The run waits over kills without a worker, GET
// decides nothing, and the first of several answers counts.
func TestApproval(t *testing.T) {
	t.Parallel()
	hooks := newReceiver(t, nil)
	s := newServer(t, "SLUICE_WORKERS=1")
	(&dashboard{server: s}).person(ownerEmail, "owner")
	ask, greet := s.publish(approving(hooks.URL+"/ask", nil)), s.publish(greeting())
	c := s.client(s.key())
	r := c.start(ask, object{"draft": "Dear Ada", "run_options": object{"webhook": object{"url": hooks.URL + "/run"}}})
	w := announced(t, hooks.await(t, "/ask", 1)[0])
	if w.Data.RunID != r.ID || w.Data.Title != "Send it?" {
		t.Errorf("announced %+v", w)
	}
	waiting := func() bool { return c.do("GET", r.path(), nil).run(t).Status == "waiting" }
	s.waitUntil("the run waits", waiting)
	link, _ := url.Parse(w.Data.Link)
	s.waitUntil("both announcements are logged as delivered", func() bool { // a kill before that would repeat them
		log := c.deliveries(hooks.URL, ask)
		return log["/ask"].Status == "delivered" && log["/run"].Status == "delivered"
	})
	for range 3 {
		s.kill()
		s.start()
		c.succeed(greet, object{"name": "Ada"}) // by the only worker
		page := s.client("").want(200, "GET", link.Path, nil)
		if !waiting() || !strings.Contains(string(page.body), "<strong>Ada</strong>") || !strings.Contains(string(page.body), "Dear Ada") {
			t.Fatalf("after a kill: waiting %v, page %s", waiting(), page.body)
		}
	}
	if a := s.form(link.Path, url.Values{"decision": {"approved"}, "value.draft": {"Hello Ada"}, "value.score": {"seven"}}); a.status != 422 || !strings.Contains(string(a.body), "type a number") {
		t.Errorf("a text for a number: %d %s", a.status, a.body)
	}
	var all sync.WaitGroup
	statuses := make([]int, 4)
	for i := range statuses {
		all.Go(func() {
			statuses[i] = s.form(link.Path, url.Values{"decision": {"approved"}, "name": {"Bob"}, "comment": {"Shorter"}, "value.draft": {"Hello Ada"}, "value.score": {"8"}}).status
		})
	}
	all.Wait()
	decided := 0
	for _, status := range statuses {
		if status == 303 {
			decided++
		} else if status != 409 {
			t.Errorf("a late answer: status %d", status)
		}
	}
	if end := c.await(r); decided != 1 || end.Status != "succeeded" || end.Outputs["sent"] != "Hello Ada" || end.Outputs["no"] != nil {
		t.Errorf("%d answers counted, the run is %s with %v", decided, end.Status, end.Outputs)
	}
	if late := s.form(link.Path, url.Values{"decision": {"rejected"}}); late.status != 409 || !strings.Contains(string(late.body), "Bob has already approved this on ") {
		t.Errorf("a later answer: %d %s", late.status, late.body)
	}
	token := strings.TrimPrefix(link.Path, "/approval/")
	if log := string(c.want(200, "GET", "/v1/flow/"+ask+"/deliveries", nil).body); strings.Contains(log, token) || !strings.Contains(log, "/approval/…") {
		t.Errorf("the log of deliveries shows the link: %s", log)
	}
	if n := len(hooks.at("/ask")); n != 1 {
		t.Errorf("announced %d times", n)
	}
	told := hooks.await(t, "/run", 2)
	if body := string(told[0].body); !strings.Contains(body, `"run.waiting"`) || !strings.Contains(body, "Send it?") || strings.Contains(body, token) || !strings.Contains(string(told[1].body), `"run.succeeded"`) {
		t.Errorf("the webhook of the run was told %s, then %s", told[0].body, told[1].body)
	}
	s.client("").want(404, "GET", "/approval/nothing", nil)
}

// TestApprovalAPI answers with keys.
func TestApprovalAPI(t *testing.T) {
	t.Parallel()
	hooks := newReceiver(t, nil)
	s := newServer(t)
	ask := s.publish(approving(hooks.URL+"/ask", nil))
	starter, approver := s.client(s.key("--scope", "run,approve")), s.client(s.key("--scope", "approve", "--name", "Desk"))
	question := func(r *run) object {
		t.Helper()
		var list struct{ Approvals []object }
		if err := json.Unmarshal(approver.want(200, "GET", r.path()+"/approvals", nil).body, &list); err != nil || len(list.Approvals) != 1 {
			t.Fatalf("asks %+v, %v", list, err)
		}
		return list.Approvals[0]
	}
	begin := func() *run {
		t.Helper()
		r := starter.start(ask, object{"draft": "Dear Ada"})
		s.waitUntil("the run asks", func() bool { return starter.do("GET", r.path(), nil).run(t).Status == "waiting" })
		return r
	}
	r := begin()
	if q := question(r); q["status"] != "open" || q["title"] != "Send it?" || q["decision"] != nil {
		t.Errorf("the question is %v", q)
	}
	path := r.path() + "/approvals/ask"
	yes := object{"decision": "approved", "values": object{"draft": "Hi"}}
	s.client(s.key("--scope", "run,read")).rejected(403, "scope_missing", "POST", path, yes)
	starter.rejected(403, "answer_not_allowed", "POST", path, yes)
	approver.rejected(422, "input_invalid", "POST", path, object{"decision": "maybe"})
	approver.rejected(422, "input_invalid", "POST", path, object{"decision": "approved", "values": object{"draft": 5}})
	approver.rejected(422, "input_invalid", "POST", path, object{"decision": "approved", "values": object{"other": 5}})
	approver.rejected(404, "not_found", "POST", r.path()+"/approvals/draft", yes)
	approver.want(200, "POST", path, yes)
	approver.rejected(409, "already_decided", "POST", path, yes)
	if end := starter.await(r); end.Outputs["sent"] != "Hi" {
		t.Errorf("approved: got %v", end.Outputs)
	}
	if q := question(r); q["status"] != "approved" || q["decision"].(object)["by"] != "Desk" {
		t.Errorf("the question is then %v", q)
	}

	rejected := begin()
	approver.want(200, "POST", rejected.path()+"/approvals/ask", object{"decision": "rejected", "comment": "No"})
	if end := starter.await(rejected); end.Outputs["sent"] != nil || end.Outputs["no"].(object)["comment"] != "No" {
		t.Errorf("rejected: got %v", end.Outputs)
	}

	canceled := begin()
	starter.want(200, "POST", canceled.path()+"/cancel", nil)
	approver.rejected(409, "already_decided", "POST", canceled.path()+"/approvals/ask", yes)
	if q := question(canceled); q["status"] != "closed" {
		t.Errorf("of a canceled run the question is %v", q)
	}

	brief := s.publish(approving("", object{"expires_after": "1s"}))
	if end := starter.await(starter.start(brief, object{"draft": "Dear Ada"})); end.Status != "succeeded" || end.Outputs["late"] == nil || end.Outputs["sent"] != nil {
		t.Errorf("expired: %s with %v", end.Status, end.Outputs)
	}
}

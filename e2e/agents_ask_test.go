package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/providers/scripted"
)

// refundShop counts the requests that refunds make.
type refundShop struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
}

func newRefundShop(t *testing.T) *refundShop {
	shop := &refundShop{}
	shop.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shop.mu.Lock()
		shop.calls = append(shop.calls, r.Method+" "+r.URL.Path)
		shop.mu.Unlock()
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(shop.Close)
	return shop
}

func (s *refundShop) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.calls)
	slices.Sort(list)
	return list
}

// refunder publishes an agent that asks before each of the refunds that its model wants, and then says what it was told.
func refunder(t *testing.T, s *server, shop *refundShop, config, tool object, amounts ...int) string {
	t.Helper()
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		if r.Turn > 0 {
			var told []string
			for _, call := range r.Calls {
				told = append(told, r.Given[call.ID])
			}
			return scripted.Answer{Text: strings.Join(told, "\n")}
		}
		a := scripted.Answer{Text: "The lamp was **broken**.\u200b"}
		for i, amount := range amounts {
			a.Calls = append(a.Calls, scripted.Call{ID: fmt.Sprint("c", i), Name: "refund", Arguments: fmt.Sprintf(`{"amount": %d}`, amount)})
		}
		return a
	}))
	t.Cleanup(model.Close)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	setting := object{"description": "Refunds an order.", "approval": "always", "editable": []string{"amount"}, "params": object{"amount": object{"schema": object{"type": "number", "maximum": 100}}}}
	for name, v := range tool {
		setting[name] = v
	}
	agent := object{"model": "fake/m", "prompt": "Help."}
	for name, v := range config {
		agent[name] = v
	}
	return s.publish(documentOf("Refunds", []object{
		input("order"), node("agent", "agent", agent), output("answer"),
		node("refund", "http_request", object{"method": "POST", "url": shop.URL + "/{{order}}/{{amount}}"}, object{"tool": setting, "label": "Refund"}),
	}, "order.value > refund.order", "refund.tool > agent.tools", "agent.text > out_answer.value"))
}

// asked waits until a run has open questions at some paths, and returns them by path.
func asked(t *testing.T, s *server, c *client, r *run, paths ...string) map[string]object {
	t.Helper()
	found := map[string]object{}
	s.waitUntil("the run asks", func() bool {
		var list struct{ Approvals []object }
		if err := json.Unmarshal(c.want(200, "GET", r.path()+"/approvals", nil).body, &list); err != nil {
			t.Fatal(err)
		}
		clear(found)
		for _, q := range list.Approvals {
			found[q["path"].(string)] = q
		}
		for _, path := range paths {
			if q := found[path]; q == nil || q["status"] != "open" {
				return false
			}
		}
		return true
	})
	return found
}

// TestAgentAsks_before_each_call answers the questions of an agent with keys: in any order, with changes that the schema of the tool accepts,
// over a kill, and not with the key that started the run.
func TestAgentAsks_before_each_call(t *testing.T) {
	t.Parallel()
	hooks := newReceiver(t, nil)
	s, shop := newServer(t), newRefundShop(t)
	id := refunder(t, s, shop, object{"ask_url": hooks.URL + "/ask"}, nil, 80, 5)
	starter, desk := s.client(s.key("--scope", "run,read,approve")), s.client(s.key("--scope", "approve", "--name", "Desk"))
	r := starter.start(id, object{"order": "o-1"})
	open := asked(t, s, desk, r, "agent.1.1.ask", "agent.1.2.ask")
	q := open["agent.1.1.ask"]
	call := q["call"].(object)
	if q["title"] != "Allow Refund?" || call["tool"] != "refund" || call["effect"] != "write" || call["reason"] != "The lamp was **broken**.\u200b" || call["all"] != false || !strings.Contains(fmt.Sprint(call["bound"]), "o-1") {
		t.Errorf("the question is %v", q)
	}
	if w := announced(t, hooks.await(t, "/ask", 2)[0]); w.Data.RunID != r.ID || w.Data.Title != "Allow Refund?" {
		t.Errorf("announced %+v", w)
	}
	path := func(call string) string { return r.path() + "/approvals/agent.1." + call + ".ask" }
	yes := object{"decision": "approved"}
	starter.rejected(403, "answer_not_allowed", "POST", path("1"), yes)
	desk.rejected(422, "input_invalid", "POST", path("1"), object{"decision": "approved", "all": true})
	desk.rejected(422, "input_invalid", "POST", path("1"), object{"decision": "approved", "values": object{"amount": 500}})
	desk.rejected(422, "input_invalid", "POST", path("1"), object{"decision": "approved", "values": object{"amount": "5"}})
	desk.rejected(422, "input_invalid", "POST", path("1"), object{"decision": "approved", "values": object{"order": "o-2"}})
	desk.want(200, "POST", path("2"), yes)
	s.waitUntil("the second call is made", func() bool { return len(shop.made()) == 1 })
	s.kill()
	s.start()
	starter, desk = s.client(starter.key), s.client(desk.key)
	desk.want(200, "POST", path("1"), object{"decision": "approved", "values": object{"amount": 20}, "comment": "Half."})
	desk.rejected(409, "already_decided", "POST", path("1"), yes)
	end := starter.await(r)
	if answer := fmt.Sprint(end.Outputs["answer"]); end.Status != "succeeded" || !strings.Contains(answer, `with other arguments: {"amount":20}. Their comment: Half.`) {
		t.Errorf("the run is %s: %v %v", end.Status, end.Outputs, end.Error)
	}
	if got := strings.Join(shop.made(), ", "); got != "POST /o-1/20, POST /o-1/5" {
		t.Errorf("made %s", got)
	}
}

// TestAgentAsks_over_a_restart (R8): a question is a row of its own, so it can be answered after a restart, however much the
// agent has read before.
func TestAgentAsks_over_a_restart(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		switch r.Turn {
		case 0:
			return scripted.Answer{Calls: []scripted.Call{{ID: "c0", Name: "archive", Arguments: "{}"}}}
		case 1:
			return scripted.Answer{Calls: []scripted.Call{{ID: "c1", Name: "refund", Arguments: `{"amount": 5}`}}}
		}
		return scripted.Answer{Text: "The shop says: " + r.Given["c1"]}
	}))
	t.Cleanup(model.Close)
	s, shop := newServer(t), newRefundShop(t)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	id := s.publish(documentOf("Refunds", []object{
		node("agent", "agent", object{"model": "fake/m", "prompt": "Help."}), output("answer"),
		node("archive", "code", object{"code": "export default () => 'x'.repeat(3 << 20);"}, object{"tool": object{"description": "Reads all."}}),
		node("refund", "http_request", object{"method": "POST", "url": shop.URL + "/{{amount}}"}, object{"tool": object{"description": "Refunds.", "approval": "always"}}),
	}, "archive.tool > agent.tools", "refund.tool > agent.tools", "agent.text > out_answer.value"))
	c := s.client(s.key())
	desk := s.client(s.key("--scope", "approve", "--name", "Desk"))
	r := c.start(id, object{})
	asked(t, s, c, r, "agent.2.1.ask")
	if code := s.stop(); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	s.start()
	c, desk = s.client(c.key), s.client(desk.key)
	asked(t, s, c, r, "agent.2.1.ask")
	desk.want(200, "POST", r.path()+"/approvals/agent.2.1.ask", object{"decision": "approved"})
	if end := c.await(r); end.Status != "succeeded" || !strings.Contains(fmt.Sprint(end.Outputs["answer"]), "done") || strings.Join(shop.made(), " ") != "POST /5" {
		t.Errorf("the run is %s: %v %v, calls %v", end.Status, end.Outputs, end.Error, shop.made())
	}
}

// TestAgentAsks_for_all_calls: one answer covers the other open questions about the tool.
func TestAgentAsks_for_all_calls(t *testing.T) {
	t.Parallel()
	s, shop := newServer(t), newRefundShop(t)
	id := refunder(t, s, shop, nil, object{"approval": "amount > 0"}, 1, 2, 3)
	starter := s.client(s.key())
	r := starter.start(id, object{"order": "o-1"})
	asked(t, s, starter, r, "agent.1.1.ask", "agent.1.2.ask", "agent.1.3.ask")
	if got := s.command("run", "approve", id, r.ID, "agent.1.2.ask", "--all"); got.code != 0 {
		t.Fatal(got.errs)
	}
	if end := starter.await(r); end.Status != "succeeded" || len(shop.made()) != 3 {
		t.Errorf("the run is %s, calls %v", end.Status, shop.made())
	}
	list := s.command("run", "approvals", id, r.ID)
	if !strings.Contains(list.out, "agent.1.1.ask, the model says: The lamp was **broken**.⟨U+200B⟩") || !strings.Contains(list.out, "agent.1.3.ask.amount (editable): 3") || !strings.Contains(list.out, "agent.1.1.ask.order (set by the flow): o-1") {
		t.Errorf("listed %s", list.out)
	}
}

// TestAgentAsks_on_pages: people see plain text in which nothing is hidden, on the page of members and behind a link, which
// does not let anyone else answer.
func TestAgentAsks_on_pages(t *testing.T) {
	t.Parallel()
	hooks := newReceiver(t, nil)
	s, shop := newServer(t), newRefundShop(t)
	d := &dashboard{server: s}
	d.person(ownerEmail, "owner")
	id := refunder(t, s, shop, object{"ask_url": hooks.URL + "/ask"}, nil, 80)
	starter := s.client(s.key())
	r := starter.start(id, object{"order": "o-1"})
	asked(t, s, starter, r, "agent.1.1.ask")
	link, err := url.Parse(announced(t, hooks.await(t, "/ask", 1)[0]).Data.Link)
	if err != nil {
		t.Fatal(err)
	}
	page := string(s.client("").want(200, "GET", link.Path, nil).body)
	for _, part := range []string{"The lamp was **broken**.⟨U+200B⟩", "o-1", "Only members of the workspace may answer this."} {
		if !strings.Contains(page, part) {
			t.Errorf("the page has no %q: %s", part, page)
		}
	}
	if a := s.form(link.Path, url.Values{"decision": {"approved"}}); a.status != 422 {
		t.Errorf("somebody with the link answered: %d", a.status)
	}
	if len(shop.made()) != 0 {
		t.Errorf("made %v", shop.made())
	}
	starter.want(200, "POST", r.path()+"/cancel", nil)
}

// TestPublish_of_tools_that_never_ask needs an owner or a key with the scope admin, and is recorded.
func TestPublish_of_tools_that_never_ask(t *testing.T) {
	t.Parallel()
	s, shop := newServer(t), newRefundShop(t)
	d := &dashboard{server: s}
	d.person(ownerEmail, "owner")
	id := refunder(t, s, shop, nil, nil, 1)
	editor, admin := s.client(s.key("--scope", "read,edit")), s.client(s.key("--scope", "read,edit,admin"))
	document := func(approval string) object {
		doc := object{}
		if err := json.Unmarshal(editor.want(200, "GET", "/v1/flow/"+id+"/document?version=draft", nil).body, &doc); err != nil {
			t.Fatal(err)
		}
		for _, n := range doc["nodes"].([]any) {
			if tool, is := n.(object)["tool"].(object); is {
				tool["approval"] = approval
			}
		}
		return doc
	}
	for _, approval := range []string{"never", "amount > 50"} {
		etag := editor.want(200, "GET", "/v1/flow/"+id+"/document?version=draft", nil).header.Get("ETag")
		editor.want(200, "PUT", "/v1/flow/"+id, document(approval), "If-Match: "+etag)
		refused := editor.rejected(422, "document_invalid", "POST", "/v1/flow/"+id+"/publish", object{})
		if !strings.Contains(string(refused.body), "owner_required") {
			t.Errorf("%s: refused with %s", approval, refused.body)
		}
		admin.want(200, "POST", "/v1/flow/"+id+"/publish", object{})
	}
	if log := string(s.client("").want(200, "GET", "/settings/audit", nil, "Cookie: "+d.cookies()).body); strings.Count(log, "changes something without asking") != 2 {
		t.Errorf("the audit log is %s", log)
	}
}

// TestPublish_looks_into_flows_that_are_tools: a tool that says it only reads needs an owner if the flow that it runs changes something,
// however deep below. Going back to a version that was live needs nobody.
func TestPublish_looks_into_flows_that_are_tools(t *testing.T) {
	t.Parallel()
	s, shop := newServer(t), newRefundShop(t)
	d := &dashboard{server: s}
	d.person(ownerEmail, "owner")
	editor, admin := s.client(s.key("--scope", "read,edit")), s.client(s.key("--scope", "read,edit,admin"))
	publish := func(slug string, nodes []any, edges []any) string {
		r := editor.want(201, "POST", "/v1/flow", object{"schema": "sluice.flow/v1", "name": slug, "slug": slug, "nodes": nodes, "edges": edges})
		var f struct {
			ID string `json:"flow_id"`
		}
		if err := json.Unmarshal(r.body, &f); err != nil {
			t.Fatal(err)
		}
		return f.ID
	}
	output := object{"id": "out", "kind": "output", "config": object{"name": "out"}}
	charge := publish("charge", []any{object{"id": "pay", "kind": "http_request", "label": "Take the money", "config": object{"method": "POST", "url": shop.URL}}, output}, []any{object{"from": "pay.body", "to": "out.value"}})
	editor.want(200, "POST", "/v1/flow/"+charge+"/publish", object{})
	book := publish("book", []any{object{"id": "run", "kind": "subflow", "config": object{"flow": "charge"}}, output}, []any{object{"from": "run.outputs", "to": "out.value"}})
	editor.want(200, "POST", "/v1/flow/"+book+"/publish", object{})
	agent := func(effect string) []any {
		return []any{object{"id": "n", "kind": "agent", "label": "Desk", "config": object{"model": "openai/m", "prompt": "Go."}},
			object{"id": "book", "kind": "subflow", "config": object{"flow": "book"}, "tool": object{"description": "Books.", "effect": effect}}, output}
	}
	edges := []any{object{"from": "book.tool", "to": "n.tools"}, object{"from": "n.text", "to": "out.value"}}
	id := publish("desk", agent("write"), edges)
	editor.want(200, "POST", "/v1/flow/"+id+"/publish", object{})
	edit := func(effect string) {
		etag := editor.want(200, "GET", "/v1/flow/"+id+"/document?version=draft", nil).header.Get("ETag")
		editor.want(200, "PUT", "/v1/flow/"+id, object{"schema": "sluice.flow/v1", "name": "desk", "nodes": agent(effect), "edges": edges}, "If-Match: "+etag)
	}
	edit("read")
	refused := editor.rejected(422, "document_invalid", "POST", "/v1/flow/"+id+"/publish", object{})
	if !strings.Contains(string(refused.body), "its effect is set to read") {
		t.Errorf("refused with %s", refused.body)
	}
	for _, page := range []string{"/publish", "/run"} {
		body := string(s.client("").want(200, "GET", "/flows/"+id+page, nil, "Cookie: "+d.cookies()).body)
		for _, part := range []string{"What Desk can change", "charge", "Take the money", "asks nobody: its effect is set to read"} {
			if !strings.Contains(body, part) {
				t.Errorf("%s has no %q", page, part)
			}
		}
	}
	admin.want(200, "POST", "/v1/flow/"+id+"/publish", object{})
	edit("write")
	editor.want(200, "POST", "/v1/flow/"+id+"/publish", object{})
	editor.want(200, "POST", "/v1/flow/"+id+"/publish", object{"version": 2})
}

// TestAgentAsks_no_longer_once_it_fails: when another call fails the agent, its open question closes for people and programs, also
// while the run continues.
func TestAgentAsks_no_longer_once_it_fails(t *testing.T) {
	t.Parallel()
	s, shop := newServer(t), newRefundShop(t)
	d := &dashboard{server: s}
	d.person(ownerEmail, "owner")
	fail := make(chan struct{})
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { <-fail; w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(broken.Close)
	model := httptest.NewServer(scripted.New(func(*scripted.Request) scripted.Answer {
		return scripted.Answer{Calls: []scripted.Call{{ID: "c1", Name: "refund", Arguments: `{"amount": "5"}`}, {ID: "c2", Name: "look", Arguments: `{"id": "1"}`}}}
	}))
	t.Cleanup(model.Close)
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", model.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	id := s.publish(documentOf("Refunds", []object{
		node("agent", "agent", object{"model": "fake/m", "prompt": "Help."}, object{"on_error": "route"}), output("answer"),
		node("refund", "http_request", object{"method": "POST", "url": shop.URL + "/{{amount}}"}, object{"tool": object{"description": "Refunds.", "approval": "always"}}),
		node("look", "http_request", object{"url": broken.URL + "/{{id}}"}, object{"tool": object{"description": "Looks.", "on_error": "fail"}}),
		node("later", "delay", object{"duration": "1h"}), output("late"),
	}, "refund.tool > agent.tools", "look.tool > agent.tools", "agent.text > out_answer.value", "agent.error > later.value", "later.value > out_late.value"))
	c, desk := s.client(s.key()), s.client(s.key("--scope", "approve", "--name", "Desk"))
	r := c.start(id, object{})
	asked(t, s, desk, r, "agent.1.1.ask")
	close(fail)
	path := r.path() + "/approvals"
	s.waitUntil("the question is closed", func() bool { return strings.Contains(string(desk.want(200, "GET", path, nil).body), `"closed"`) })
	if a := desk.do("POST", path+"/agent.1.1.ask", []byte(`{"decision": "approved"}`)); a.status < 400 {
		t.Errorf("a closed question was answered: %d %s", a.status, a.body)
	}
	page := string(s.client("").want(200, "GET", "/flows", nil, "Cookie: "+d.cookies()).body)
	if run := string(s.client("").want(200, "GET", "/runs/"+r.ID, nil, "Cookie: "+d.cookies()).body); strings.Contains(page+run, "Allow refund?") && strings.Contains(run, `name="decision"`) {
		t.Errorf("the page still asks: %s", run)
	}
	if len(shop.made()) != 0 {
		t.Errorf("made %v", shop.made())
	}
	c.want(200, "POST", r.path()+"/cancel", nil)
}

package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/e2e/npm"
)

// talking returns a flow that answers the last message of a conversation.
func talking(model string) []byte {
	return documentOf("Talk", []object{
		input("q"), node("history", "input", object{"name": "messages", "type": "list", "default": []any{}}), node("tone", "input", object{"name": "tone", "type": "text", "default": "friendly"}),
		node("ask", "chat", object{"model": model, "prompt": "{{q}}", "system": "Be {{tone}}."}), output("other"), output("reply"),
	}, "q.value > ask.q", "history.value > ask.messages", "tone.value > ask.tone", "tone.value > out_other.value", "ask.text > out_reply.value")
}

// TestOpenAIClient calls a flow with the official client of OpenAI's API.
func TestOpenAIClient(t *testing.T) {
	t.Parallel()
	modules := npm.Install(t, filepath.Join("testdata", "openai"))
	s := modelServer(t)
	s.publish(talking("openai/gpt-4o"))
	s.publish(bytes.Replace(conversing("openai/gpt-4o", nil), []byte("Go on, {{tone}}, {{count}}."), []byte("Please greet Ada. {{tone}} {{count}}"), 1))
	key := s.key("--scope", "run")
	cmd := exec.Command("node", filepath.Join("testdata", "openai", "client.mjs"), modules, s.base(), key, "talk")
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type failure struct {
		Name, Code, Message string
		Status, Requests    int
	}
	var got struct {
		Text, Finish, Parts, Seen                        string
		Usage, Last                                      map[string]any
		Pieces, Models, Conversed                        []string
		Unknown, Failed, Streamed, Denied, Several, Tool failure
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const want = "Grüß dich, Ada – schön! 👋"
	if got.Text != want || got.Parts != want || got.Finish != "stop" || got.Usage["total_tokens"] != 18.0 {
		t.Errorf("answered %+v", got)
	}
	if strings.Join(got.Pieces, "") != want || len(got.Pieces) < 2 || got.Last["completion_tokens"] != 7.0 {
		t.Errorf("streamed %q, usage %v", got.Pieces, got.Last)
	}
	if got.Seen != want || strings.Join(got.Conversed, "") != want || len(got.Conversed) < 3 {
		t.Errorf("with messages: answered %q, streamed %q", got.Seen, got.Conversed)
	}
	if !slices.Contains(got.Models, "talk") || !slices.Contains(got.Models, "converse") {
		t.Errorf("models %v", got.Models)
	}
	for what, c := range map[string]struct{ got, want failure }{
		"an unknown model":    {got.Unknown, failure{Name: "NotFoundError", Code: "not_found", Status: 404, Requests: 1}},
		"a wrong key":         {got.Denied, failure{Name: "AuthenticationError", Code: "key_invalid", Status: 401, Requests: 0}},
		"several answers":     {got.Several, failure{Name: "BadRequestError", Code: "input_invalid", Status: 400, Requests: 1}},
		"another role":        {got.Tool, failure{Name: "BadRequestError", Code: "input_invalid", Status: 400, Requests: 1}},
		"a failed run":        {got.Failed, failure{Name: "APIError", Code: "run_failed", Status: 424, Requests: 1}}, // not repeated, so not paid twice
		"a failed run, later": {got.Streamed, failure{Name: "APIError", Code: "run_failed", Requests: 1}},
	} {
		if c.got.Message == "" || c.got.Name != c.want.Name || c.got.Code != c.want.Code || c.got.Status != c.want.Status || what != "a wrong key" && c.got.Requests != c.want.Requests {
			t.Errorf("%s: got %+v, want %+v", what, c.got, c.want)
		}
	}
}

// TestChatRoute calls the route as a program without a library does.
func TestChatRoute(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	var bodies = make(chan object, 10)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body object
		data := must1(io.ReadAll(r.Body)) // to the end, or a closed connection is not noticed
		_ = json.Unmarshal(data, &body)
		if strings.Contains(string(data), "hang") {
			<-r.Context().Done() // its client is gone
			close(gone)
			return
		}
		bodies <- body
		if strings.Contains(string(data), "too fast") {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		reason := "stop"
		if strings.Contains(string(data), "at length") {
			reason = "length"
		}
		_, _ = w.Write([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"" + reason + "\"}]}\n\ndata: [DONE]\n\n"))
	}))
	t.Cleanup(model.Close)
	s := newServer(t, "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL="+model.URL+"/v1")
	s.publish(talking("openai/gpt-4o"))
	other := s.publish(greeting())
	asked := s.publish(approving("", nil))
	c := s.client(s.key("--scope", "run"))
	say := func(model string, more object, messages ...any) object {
		body := object{"model": model, "messages": messages}
		for name, value := range more {
			body[name] = value
		}
		return body
	}
	user := func(text string) object { return object{"role": "user", "content": text} }
	const route = "/v1/chat/completions"

	a := c.want(200, "POST", route, say("talk", object{"metadata": object{"tone": "brief"}}, object{"role": "system", "content": "You are Bob."}, user("One"), object{"role": "assistant", "content": "Two"}, user("Three")))
	var sent []string
	for _, m := range (<-bodies)["messages"].([]any) {
		sent = append(sent, m.(object)["role"].(string)+": "+m.(object)["content"].(string))
	}
	if want := []string{"system: Be brief.\n\nYou are Bob.", "user: One", "assistant: Two", "user: Three"}; !slices.Equal(sent, want) {
		t.Errorf("the model was sent %q, want %q", sent, want)
	}
	if run := a.header.Get("X-Sluice-Run"); !strings.HasPrefix(run, "run_") || a.object(t)["id"] != "chatcmpl-"+run || a.header.Get("X-Should-Retry") != "false" {
		t.Errorf("answered %v with %v", a.object(t), a.header)
	}
	for _, stream := range []bool{false, true} {
		a := c.want(200, "POST", route, say("talk", object{"stream": stream}, user("Tell it at length")))
		if <-bodies; !strings.Contains(string(a.body), `"finish_reason":"length"`) {
			t.Errorf("an answer that was cut off at its max tokens, stream %v: %s", stream, a.body)
		}
	}
	refused := func(status int, code string, body any) {
		t.Helper()
		e, _ := c.want(status, "POST", route, body).object(t)["error"].(object)
		if e["code"] != code || e["message"] == "" {
			t.Errorf("%v: got %v, want %s", body, e, code)
		}
	}
	refused(400, "input_invalid", say("", nil, user("x")))
	refused(400, "input_invalid", say("talk", nil))
	refused(400, "input_invalid", say("talk", nil, object{"role": "assistant", "content": "x"}))
	refused(400, "input_invalid", say("talk", object{"tools": []any{object{}}}, user("x")))
	for name, v := range map[string]any{"messages": "x", "stream": "true", "stream_options": true, "metadata": []any{}, "n": "1", "tools": object{}} {
		refused(400, "input_invalid", say("talk", object{name: v}, user("x")))
	}
	refused(400, "input_invalid", say("talk", nil, object{"role": "user", "content": []any{object{"type": "image_url", "image_url": object{"url": "https://example.com/a.png"}}}}))
	long := object{"role": "user", "content": strings.Repeat("x", 2<<20)} // more than a body of other routes
	c.want(200, "POST", route, say("talk", nil, long))
	<-bodies
	refused(404, "not_found", say("nothing", nil, user("x")))
	refused(429, "provider_rate_limited", say("talk", nil, user("too fast")))
	<-bodies
	c.want(200, "POST", route, say("talk", nil, user("One"), object{"role": "assistant", "content": nil, "tool_calls": []any{object{"id": "call_1"}}}, user("Two")))
	if list := (<-bodies)["messages"].([]any); len(list) != 3 {
		t.Errorf("the model was sent %v", list)
	}
	if m := c.want(200, "GET", "/v1/models/talk", nil).object(t); m["id"] != "talk" || m["object"] != "model" || m["owned_by"] != "sluice" {
		t.Errorf("shows the model %v", m)
	}
	for _, name := range []string{"nothing", "gpt-4o"} {
		if e, _ := c.want(404, "GET", "/v1/models/"+name, nil).object(t)["error"].(object); e["code"] != "not_found" {
			t.Errorf("%s: got %v", name, e)
		}
	}
	refused(409, "run_not_ended", say(asked, nil, user("x"))) // a person has to answer first
	listed := s.client(s.key("--scope", "run", "--flow", other))
	if e, _ := listed.want(403, "POST", route, say("talk", nil, user("x"))).object(t)["error"].(object); e["code"] != "flow_not_allowed" {
		t.Errorf("a key of another flow: %v", e)
	}
	if e, _ := s.client(s.key("--scope", "read")).want(403, "POST", route, say("talk", nil, user("x"))).object(t)["error"].(object); e["code"] != "scope_missing" {
		t.Errorf("a key that may not run: %v", e)
	}
	var list struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(listed.want(200, "GET", "/v1/models", nil).body, &list); err != nil || len(list.Data) != 1 || list.Data[0].ID != "greet" {
		t.Errorf("models of a key with a list: %v, %v", list, err)
	}

	if _, err := c.tryWithin(300*time.Millisecond, "POST", route, say("talk", nil, user("hang"))); err == nil {
		t.Error("a run that hangs was answered")
	}
	<-gone // the run was canceled, and its request with it
}

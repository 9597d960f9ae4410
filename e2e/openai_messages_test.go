package e2e

import (
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// dataPixel is a picture of one point as a data URL.
const dataPixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="

// conversing returns a flow with a conversation as its input, whose marked output is the reply.
// Other outputs come before it: one that is a list, one that is a text.
func conversing(model string, settings object) []byte {
	in := object{"name": "talk", "type": "messages"}
	for name, value := range settings {
		in[name] = value
	}
	return documentOf("Converse", []object{
		node("talk", "input", in), node("count", "input", object{"name": "count", "type": "number", "default": 1}),
		node("labels", "input", object{"name": "labels", "type": "list", "default": []any{}}), node("tone", "input", object{"name": "tone", "type": "text", "default": "kind"}),
		node("ask", "chat", object{"model": model, "prompt": "Go on, {{tone}}, {{count}}."}),
		output("heard"), output("manner"), node("said", "output", object{"name": "said", "reply": true}), output("labels"),
	}, "talk.value > ask.messages", "tone.value > ask.tone", "count.value > ask.count", "talk.value > out_heard.value", "tone.value > out_manner.value",
		"ask.text > said.value", "labels.value > out_labels.value")
}

// TestChatMessages calls flows with an input of type messages over OpenAI's API.
func TestChatMessages(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = must1(io.ReadAll(r.Body))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	}))
	t.Cleanup(model.Close)
	s := newServer(t, "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL="+model.URL+"/v1")
	id := s.publish(conversing("openai/gpt-4o", nil))
	c := s.client(s.key("--scope", "run", "--scope", "read"))
	const route = "/v1/chat/completions"
	user := func(content any) object { return object{"role": "user", "content": content} }
	picture := func(url string) []any {
		return []any{object{"type": "text", "text": "What is this?", "cache_control": object{}}, object{"type": "image_url", "image_url": object{"url": url, "detail": "low"}}}
	}
	say := func(more object, messages ...any) object {
		body := object{"model": "converse", "messages": messages}
		for name, value := range more {
			body[name] = value
		}
		return body
	}

	a := c.want(200, "POST", route, say(object{"metadata": object{"count": "2.5", "labels": "red\nblue", "tone": "brief"}, "temperature": 1},
		object{"role": "developer", "content": "You are Bob.", "name": "boss"}, user("One"), object{"role": "assistant", "content": "Two", "refusal": nil}, user(picture(dataPixel))))
	if got := a.object(t)["choices"].([]any)[0].(object)["message"].(object)["content"]; got != "Hello" {
		t.Errorf("the reply is %v", got)
	}
	var run struct {
		Inputs struct {
			Talk   []struct{ Role, Content any }
			Count  float64
			Labels []string
			Tone   string
		}
	}
	raw := c.want(200, "GET", "/v1/flow/"+id+"/run/"+a.header.Get("X-Sluice-Run"), nil).body
	if err := json.Unmarshal(raw, &run); err != nil {
		t.Fatal(err)
	}
	if in := run.Inputs; len(in.Talk) != 4 || in.Talk[0].Role != "system" || in.Talk[1].Content != "One" || in.Count != 2.5 || strings.Join(in.Labels, " ") != "red blue" || in.Tone != "brief" {
		t.Errorf("inputs %+v", in)
	}
	file, _ := run.Inputs.Talk[3].Content.([]any)[1].(map[string]any)["image_url"].(map[string]any)
	if name, _ := file["file"].(string); !strings.HasPrefix(name, "file_") || file["mime"] != "image/png" || strings.Contains(string(raw), "base64") {
		t.Errorf("the picture is %v", file)
	}
	c.want(200, "GET", "/v1/files/"+file["file"].(string), nil)

	refused := func(says, param string, body any) {
		t.Helper()
		e, _ := c.want(400, "POST", route, body).object(t)["error"].(object)
		message, _ := e["message"].(string)
		if e["code"] != "input_invalid" || e["type"] != "invalid_request_error" || !strings.Contains(message, says) || param != "" && e["param"] != param {
			t.Errorf("%v: got %v, want %s", body, e, says)
		}
	}
	before := s.storedFiles()
	refused(`role "tool"`, "talk/0/role", say(nil, object{"role": "tool", "content": "x"}, user("x")))
	refused("content of a message", "talk/0/content", say(nil, object{"role": "user", "content": nil}, user("x")))
	c.want(200, "POST", route, say(nil, user("w"), object{"role": "assistant", "content": nil, "refusal": nil}, user("x")))
	refused("wanted a part", "", say(nil, user([]any{object{"type": "input_audio", "input_audio": object{}}})))
	refused("accepts image/*", "", say(nil, user(picture("data:text/plain;base64,YQ=="))))
	refused("The data URL is invalid", "", say(nil, user(picture("data:image/png;base64,?"))))
	refused("user name", "talk", say(nil, user(picture("https://ada:x@example.com/a.png"))))
	refused("wanted number", "count", say(object{"metadata": object{"count": "many"}}, user(picture(dataPixel))))
	if after := s.storedFiles(); after != before {
		t.Errorf("refused requests left %d files", after-before)
	}

	narrow := s.publish(strictly(conversing("openai/gpt-4o", object{"roles": []any{"user"}, "images": false}), "Narrow"))
	strict := func(messages ...any) object { return object{"model": "narrow", "messages": messages} }
	c.want(200, "POST", route, strict(user("x")))
	refused("accepts user", "talk/0/role", strict(object{"role": "system", "content": "x"}, user("x")))
	refused("takes no pictures", "", strict(user(picture(dataPixel))))
	// The same checks over Sluice's own API, where a message has no other members.
	problem := c.want(422, "POST", "/v1/flow/"+narrow+"/run", object{"talk": []any{object{"role": "user", "content": "x", "name": "y"}}}).object(t)
	if p := problem["errors"].([]any)[0].(object); p["pointer"] != "/talk/0/name" || p["code"] != "unknown" {
		t.Errorf("problem %v", problem)
	}

	// A picture for a flow without messages goes to its file input.
	photo := s.publish(documentOf("Look", []object{input("q"), node("photo", "input", object{"name": "photo", "type": "file"}), output("q"), output("photo")},
		"q.value > out_q.value", "photo.value > out_photo.value"))
	a = c.want(200, "POST", route, object{"model": "look", "messages": []any{user(picture(dataPixel))}})
	if out := c.want(200, "GET", "/v1/flow/"+photo+"/run/"+a.header.Get("X-Sluice-Run"), nil).object(t)["outputs"].(object); out["q"] != "What is this?" || out["photo"].(object)["mime"] != "image/png" {
		t.Errorf("outputs %v", out)
	}
}

// storedFiles counts the files in the database of the server.
func (s *server) storedFiles() (n int) {
	s.t.Helper()
	db := must1(sql.Open("sqlite3", "file:"+filepath.Join(s.dir, "sluice.db")+"?mode=ro"))
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM files WHERE erased_at = 0").Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// strictly renames a document.
func strictly(document []byte, name string) []byte {
	return []byte(strings.Replace(string(document), `"name":"Converse"`, `"name":"`+name+`"`, 1))
}

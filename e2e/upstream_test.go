package e2e

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/npm"
)

// upstream starts an independent server that speaks the formats of OpenAI,
// Anthropic and Ollama, and returns its address. What it answers is written in
// testdata/aimock/upstream.mjs.
func upstream(t *testing.T) string {
	t.Helper()
	modules := npm.Install(t, filepath.Join("testdata", "aimock"))
	cmd := exec.Command("node", filepath.Join("testdata", "aimock", "upstream.mjs"), modules)
	dieWithTests(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it ends with its input
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the upstream did not start: %v", err)
	}
	return strings.TrimSpace(line)
}

// modelServer returns a server whose OpenAI and Anthropic are the upstream, and that finds the
// upstream as an Ollama too.
func modelServer(t *testing.T) *server {
	base := upstream(t)
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t,
		"OPENAI_API_KEY=sk-test-openai", "OPENAI_BASE_URL="+base+"/v1",
		"ANTHROPIC_API_KEY=sk-test-anthropic", "ANTHROPIC_BASE_URL="+base+"/v1",
		"OLLAMA_HOST="+u.Host)
	s.awaitLocalModel()
	return s
}

// awaitLocalModel waits until the server has found the local model. The search
// gives each address 300 ms, which a busy machine can exceed, and is repeated.
func (s *server) awaitLocalModel() {
	s.t.Helper()
	id, c := s.publish(asking(object{"model": "ollama/llama3.2"})), s.client(s.key())
	s.waitUntil("the local model is found", func() bool {
		return c.await(c.start(id, object{"q": "greet"})).Status == "succeeded"
	})
}

// asking returns a flow that asks a model.
func asking(config object, edges ...string) []byte {
	nodes := []object{input("q"), node("ask", "chat", config), output("text")}
	all := append([]string{"q.value > ask.prompt", "ask.text > out_text.value"}, edges...)
	for _, e := range edges {
		_, to, _ := strings.Cut(e, " > out_")
		name, _, _ := strings.Cut(to, ".")
		nodes = append(nodes, output(name))
	}
	return documentOf("Ask", nodes, all...)
}

// TestChatUpstreams asks the same of a model in every format and streams the response.
func TestChatUpstreams(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	c := s.client(s.key())
	const want = "Grüß dich, Ada – schön! 👋"
	for _, model := range []string{"openai/gpt-4o", "anthropic/claude-sonnet-4-5", "ollama/llama3.2", ""} {
		id := s.publish(asking(object{"model": model}))
		r := c.start(id, object{"q": "Please greet Ada"})
		said := ""
		for _, e := range c.events(r, 0) {
			if e.name == "delta" {
				said = hear(t, said, e)
			}
		}
		got := c.await(r)
		if got.Status != "succeeded" || got.Outputs["text"] != want {
			t.Errorf("%q: %s %v %+v", model, got.Status, got.Outputs, got.Error)
		}
		if said != "" && said != want {
			t.Errorf("%q: the stream said %q", model, said)
		}
	}
}

// hear applies a delta to the text so far.
func hear(t *testing.T, said string, e event) string {
	t.Helper()
	var d struct {
		Path, Text string
		Reset      bool
	}
	if err := json.Unmarshal([]byte(e.data), &d); err != nil || d.Path != "ask" || e.id != 0 {
		t.Fatalf("a delta is %+v: %v", e, err)
	}
	if d.Reset {
		return d.Text
	}
	return said + d.Text
}

// TestChatUsage checks that the tokens and the cost of a call are recorded.
func TestChatUsage(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	s.must("price", "set", "openai/gpt-4o", "--input", "100", "--output", "200")
	id := s.publish(asking(object{"model": "openai/gpt-4o"}))
	a := s.client(s.key()).want(200, "POST", "/v1/flow/"+id+"/run", object{"q": "greet"}, "Prefer: wait=30").object(t)
	if usage := a["usage"].(object); usage["input_tokens"] != 11.0 || usage["output_tokens"] != 7.0 {
		t.Errorf("usage: %v", usage)
	}
	if cost := a["cost"].(object)["usd"]; cost != "0.0025" {
		t.Errorf("cost: %v", cost)
	}
}

// TestChatSchema checks that a structured response becomes ports, and that one with another
// structure fails.
func TestChatSchema(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	schema := object{"type": "object", "required": []string{"team", "urgent", "score"}, "properties": object{
		"team": object{"type": "string"}, "urgent": object{"type": "boolean"}, "score": object{"type": "number"}}}
	c := s.client(s.key())
	for _, model := range []string{"openai/gpt-4o", "ollama/llama3.2"} {
		id := s.publish(asking(object{"model": model, "schema": schema},
			"ask.team > out_team.value", "ask.urgent > out_urgent.value", "ask.score > out_score.value", "ask.json > out_all.value"))
		r := c.succeed(id, object{"q": "route this"})
		if r.Outputs["team"] != "billing" || r.Outputs["urgent"] != true || r.Outputs["score"] != 0.75 || r.Outputs["all"].(object)["team"] != "billing" {
			t.Errorf("%s: %v", model, r.Outputs)
		}
		if bad := c.await(c.start(id, object{"q": "wrong shape"})); bad.Error == nil || bad.Error.Code != "output_invalid" {
			t.Errorf("%s: an answer of another shape: %+v", model, bad)
		}
	}
}

// TestChat_maps_provider_errors checks the error codes for an upstream's errors, and that its own message is
// shown.
func TestChat_maps_provider_errors(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	c := s.client(s.key())
	tests := []struct {
		q, code, says string
		retryable     bool
	}{
		{"slow down", "provider_rate_limited", "slow down", true},
		{"no money", "provider_rejected", "quota", false},
		{"broken", "provider_unavailable", "The server had an error", true},
		{"cut me off", "provider_unavailable", "Run it again if that is acceptable.", false},
	}
	for _, model := range []string{"openai/gpt-4o", "anthropic/claude-sonnet-4-5"} {
		id := s.publish(asking(object{"model": model}))
		for _, tt := range tests {
			r := c.await(c.start(id, object{"q": tt.q}))
			if r.Error == nil || r.Error.Code != tt.code || r.Error.Retryable != tt.retryable || !strings.Contains(r.Error.Message, tt.says) {
				t.Errorf("%s, %s: %s %+v", model, tt.q, r.Status, r.Error)
			}
		}
	}
}

// TestMediaUpstreams creates embeddings, images and speech, and transcribes a recording.
func TestMediaUpstreams(t *testing.T) {
	t.Parallel()
	s := modelServer(t)
	c := s.client(s.key())
	id := s.publish(documentOf("Media", []object{
		node("vector", "embed", object{"model": "openai/text-embedding-3-small", "text": "Where is my parcel?"}),
		node("picture", "image", object{"model": "openai/gpt-image-1", "prompt": "A lighthouse"}),
		node("voice", "speech", object{"model": "openai/gpt-4o-mini-tts", "text": "Hello there", "voice": "alloy"}),
		node("words", "transcribe", object{"model": "openai/whisper-1"}),
		output("vector"), output("picture"), output("voice"), output("words"),
	}, "voice.audio > words.audio", "vector.vector > out_vector.value", "picture.image > out_picture.value",
		"voice.audio > out_voice.value", "words.text > out_words.value"))
	r := c.succeed(id, object{})
	if v := r.Outputs["vector"].([]any); len(v) != 3 || v[1] != -0.5 {
		t.Errorf("vector: %v", v)
	}
	if r.Outputs["words"] != "Where is my parcel?" {
		t.Errorf("words: %v", r.Outputs["words"])
	}
	for name, want := range map[string]string{"picture": "\x89PNG", "voice": "\xff\xfb\x90"} {
		file := r.Outputs[name].(object)
		link, _ := file["url"].(string)
		a := (&client{t, func() string { return "" }, ""}).want(200, "GET", link, nil)
		if !strings.HasPrefix(string(a.body), want) {
			t.Errorf("%s: %v holds %.40q", name, file, a.body)
		}
	}
}

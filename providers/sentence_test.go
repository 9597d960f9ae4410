package providers

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRefusal reads the forms of errors that providers use, each as its
// documentation has it.
func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, sentence, code string }{
		{"OpenAI", `{"error":{"message":"Bad","type":"invalid_request_error","param":"n","code":null}}`, "Bad", "invalid_request_error"},
		{"Anthropic", `{"type":"error","error":{"type":"not_found_error","message":"model: x"},"request_id":"req_1"}`, "model: x", "not_found_error"},
		{"Gemini", `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`, "API key not valid.", "400"},
		{"Ollama", `{"error":"model 'x' not found"}`, "model 'x' not found", ""},
		{"Mistral", `{"object":"error","message":"Unauthorized","type":"auth","code":"1000"}`, "Unauthorized", "1000"},
		{"Mistral's list", `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","n"],"msg":"Extra inputs are not permitted"}]}}`, "n: Extra inputs are not permitted", ""},
		{"FastAPI", `{"detail":[{"loc":["body","model"],"msg":"field required"},{"loc":["body",0],"msg":"wrong"}]}`, "model: field required; 0: wrong", ""},
		{"xAI", `{"code":"Some requested entity was not found","error":"The model x does not exist"}`, "The model x does not exist", "Some requested entity was not found"},
		{"Replicate", `{"title":"Unauthenticated","detail":"You did not pass a token","status":401}`, "You did not pass a token", "401"},
		{"OpenRouter", `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"busy upstream","provider_name":"X"}}}`, "Provider returned error: busy upstream", "429"},
		{"OpenRouter's moderation", `{"error":{"message":"Your input was flagged","code":403,"metadata":{"reasons":["hate"],"flagged_input":"x"}}}`, "Your input was flagged", codePolicy},
		{"a line", "upstream connect error", "upstream connect error", ""},
		{"a string", `"no"`, "no", ""},
		{"a page", "<!doctype html><h1>502</h1>", "", ""},
		{"a long text", strings.Repeat("x ", 400), "", ""},
		{"nothing", "", "", ""},
		{"controls", `{"error":{"message":"a\u001b[31m\n\u0000 b"}}`, "a [31m b", ""},
		{"a long sentence", `{"error":"` + strings.Repeat("x", 900) + `"}`, strings.Repeat("x", 600) + " …", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if r := parseRefusal([]byte(c.body)); r.sentence != c.sentence || r.code != c.code {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestWaitInText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"Rate limit reached. Please try again in 1m12.5s.":                        72*time.Second + 500*time.Millisecond,
		"Please try again in 20ms. Visit":                                         20 * time.Millisecond,
		"Please retry in 34.5s.":                                                  34*time.Second + 500*time.Millisecond,
		"Your rate limit resets in ~30s. Try again after 20 seconds":              20 * time.Second,
		"Request was throttled. Your rate limit for creating resets in 2 minutes": 0,
		"Slow down": 0,
	} {
		if strings.Contains(text, "2 minutes") {
			want = 2 * time.Minute
		}
		if got := waitInText(text); got != want {
			t.Errorf("%q: got %s, wanted %s", text, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"Incorrect API key provided: " + secret + ".", "Incorrect API key provided: [secret]."},
		{"Incorrect API key provided: sk-ab**************wxyz. You", "Incorrect API key provided: [secret]. You"},
		{"key sk-te...ghij is wrong", "key [secret] is wrong"},
		{"key sk-te…ghij is wrong", "key [secret] is wrong"},
		{"key 0123456789abc is wrong", "key [secret] is wrong"},
		{"another's key: gsk_A1b2C3d4E5f6", "another's key: [secret]"},
		{"ends with 1234567890abc", "ends with [secret]0abc"},
		{"the task-force has hf_transfer and *stars*. Wait…", "the task-force has hf_transfer and *stars*. Wait…"},
		{"Grüße 日本", "Grüße 日本"},
	} {
		if got := redact(c.text, secret); got != c.want {
			t.Errorf("%q: got %q, wanted %q", c.text, got, c.want)
		}
	}
	if got := redact("a secret of one letter is a", "a"); got != "a secret of one letter is a" {
		t.Errorf("got %q", got)
	}
}

func TestNotFoundNamesTheModel(t *testing.T) {
	t.Parallel()
	u := setup(t, refuse(404, "model_not_found", "No such thing."))
	_, err := u.client.Chat(brief(t), u.at("openai"), ChatRequest{Model: "gpt-y", Prompt: "?"}, nil)
	if e := failure(t, err); !strings.HasPrefix(e.Message, "OpenAI has no model gpt-y: No such thing.") || !strings.HasSuffix(e.Message, "Look at its list, or check the name.") {
		t.Errorf("got %q", e.Message)
	}
}

func TestNotFoundDoubtsTheBaseURL(t *testing.T) {
	t.Parallel()
	u := setup(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	_, err := u.client.Chat(brief(t), u.at("openai_compatible"), ChatRequest{Model: "gpt-y", Prompt: "?"}, nil)
	if e := failure(t, err); e.Class != ClassNotFound || e.Message != "127.0.0.1 has nothing at this address. Check the base URL, which usually ends with /v1." {
		t.Errorf("got %+v", e)
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	if got := idempotencyKey("run_1:map[3]/node"); got != "run_1:map[3]/node" {
		t.Errorf("got %q", got)
	}
	for _, key := range []string{"a b", "ü", strings.Repeat("x", 256)} {
		if got := idempotencyKey(key); len(got) != 64 || got != idempotencyKey(key) {
			t.Errorf("%q: got %q", key, got)
		}
	}
}

package nodes

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
	"sluice/outbound"
	"sluice/providers"
)

// upstream is a provider in OpenAI's format, spoken to by the real client.
type upstream struct {
	service
	fixture *fixture
	seen    chan string // path and body of each request
}

func serveModels(t *testing.T) *upstream {
	t.Helper()
	u := &upstream{fixture: newFixture(), seen: make(chan string, 100)}
	u.service = serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.seen <- r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(body)
		switch {
		case strings.Contains(string(body), "forbidden"):
			w.Header().Set("X-Request-Id", "req_7")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error": {"message": "Incorrect key: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
		case strings.Contains(string(body), "endless"), strings.Contains(string(body), "broken"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"Well \"}}]}\n\n")
			_ = http.NewResponseController(w).Flush()
			if strings.Contains(string(body), "endless") {
				<-r.Context().Done()
				u.seen <- "gone"
			}
			panic(http.ErrAbortHandler)
		case strings.Contains(string(body), "busy"):
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			answerAsModel(w, r.URL.Path, string(body))
		}
	})
	u.deps.Providers = reaching(t, outbound.Config{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	u.fixture.credentials = memoryCredentials{"house": {Provider: "openai_compatible", BaseURL: u.URL + "/v1"}}
	return u
}

// reaching returns the real client behind a guard.
func reaching(t *testing.T, guard outbound.Config) Providers {
	t.Helper()
	client, err := outbound.New(guard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return providers.NewClient(providers.Guarded(client))
}

func answerAsModel(w http.ResponseWriter, path, body string) {
	switch path {
	case "/v1/chat/completions":
		w.Header().Set("Content-Type", "text/event-stream")
		pieces := []string{"Tues", "day"}
		if strings.Contains(body, "JSON Schema") {
			pieces = []string{`{"day": `, `"Tuesday"}`}
		}
		for _, piece := range pieces {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", flow.EncodeJSON(map[string]any{"model": "m", "choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": piece}}}}))
		}
		_, _ = io.WriteString(w, "data: {\"choices\": [{\"index\": 0, \"delta\": {}, \"finish_reason\": \"stop\"}], \"usage\": {\"prompt_tokens\": 12, \"completion_tokens\": 2}}\n\ndata: [DONE]\n\n")
	case "/v1/embeddings":
		_, _ = io.WriteString(w, `{"data": [{"index": 0, "embedding": [0.5, -1]}], "usage": {"prompt_tokens": 3}}`)
	case "/v1/images/generations", "/v1/images/edits":
		_, _ = fmt.Fprintf(w, `{"data": [{"b64_json": %q}], "usage": {"input_tokens": 4}}`, base64.StdEncoding.EncodeToString([]byte(dot)))
	case "/v1/audio/speech":
		w.Header().Set("Content-Type", "audio/mpeg")
		_, _ = io.WriteString(w, "sound")
	case "/v1/audio/transcriptions":
		_, _ = io.WriteString(w, `{"text": "Good morning", "language": "english", "duration": 1.5}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// TestProviderClient calls a provider over HTTP with the real client.
func TestProviderClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		use     use
		outputs func(r ran, w *fixture) any
		want    any
		sent    []string
		usage   flow.Usage
	}{
		{"chat", ask(map[string]any{"model": "house/org/m", "system": "Be kind."}), func(r ran, _ *fixture) any { return r.Outputs }, map[string]any{"text": "Tuesday", "finish": "stop", "messages": talk("Hello there", "Tuesday")},
			[]string{"/v1/chat/completions", "Bearer secret-of-house", `"model":"org/m"`, "Be kind."}, flow.Usage{InputTokens: 12, OutputTokens: 2, UnpricedSteps: 1}},
		{"chat by a schema", ask(map[string]any{"model": "house/m", "schema": object(map[string]any{"day": kindOf("string")})}), func(r ran, _ *fixture) any { return r.Outputs },
			map[string]any{"text": `{"day": "Tuesday"}`, "json": map[string]any{"day": "Tuesday"}, "day": "Tuesday", "finish": "stop", "messages": talk("Hello there", `{"day": "Tuesday"}`)}, []string{"JSON Schema"}, flow.Usage{InputTokens: 12, OutputTokens: 2, UnpricedSteps: 1}},
		{"chat about a picture", ask(map[string]any{"model": "house/m", "images": []any{"data:image/png;base64,iVBORw0KGgo="}}), func(r ran, _ *fixture) any { return r.Outputs["text"] },
			"Tuesday", []string{"data:image/png;base64,iVBORw0KGgo="}, flow.Usage{InputTokens: 12, OutputTokens: 2, UnpricedSteps: 1}},
		{"embed", use{kind: "embed", config: map[string]any{"model": "house/m"}, ports: map[string]any{"text": "x"}}, func(r ran, _ *fixture) any { return r.Outputs["vector"] },
			[]any{number("0.5"), number("-1")}, []string{"/v1/embeddings", `"input":["x"]`}, flow.Usage{InputTokens: 3, UnpricedSteps: 1}},
		{"image", draw(map[string]any{"model": "house/m"}), func(r ran, w *fixture) any { return w.files.content(t, r.Outputs["image"]) },
			dot, []string{"/v1/images/generations", `"prompt":"a cat"`}, flow.Usage{InputTokens: 4, UnpricedSteps: 1}},
		{"image edited", draw(map[string]any{"model": "house/m", "images": "data:image/png;base64,iVBORw0KGgo="}), func(r ran, w *fixture) any { return w.files.content(t, r.Outputs["image"]) },
			dot, []string{"/v1/images/edits", `filename="file.png"`, dot}, flow.Usage{InputTokens: 4, UnpricedSteps: 1}},
		{"speech", use{kind: "speech", config: map[string]any{"model": "house/m", "text": "Hello"}}, func(r ran, w *fixture) any { return w.files.content(t, r.Outputs["audio"]) },
			"sound", []string{"/v1/audio/speech", `"input":"Hello"`, `"voice":"alloy"`}, flow.Usage{UnpricedSteps: 1}},
		{"transcribe", use{kind: "transcribe", config: map[string]any{"model": "house/whisper"}, ports: map[string]any{"audio": "data:audio/wav;base64,SGk="}},
			func(r ran, _ *fixture) any { return r.Outputs }, map[string]any{"text": "Good morning", "language": "english", "seconds": number("1.5")},
			[]string{"/v1/audio/transcriptions", `filename="file.wav"`, "Hi"}, flow.Usage{UnpricedSteps: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := serveModels(t)
			r := c.use.executeIn(t, u.fixture, u.deps)
			if r.State != flow.StepSucceeded {
				t.Fatal(r.Error)
			}
			same(t, "outputs", c.outputs(r, u.fixture), c.want)
			has(t, <-u.seen, c.sent...)
			if len(u.seen) > 0 {
				t.Errorf("asked again: %s", <-u.seen)
			}
			if r.Usage != c.usage {
				t.Errorf("usage %+v, want %+v", r.Usage, c.usage)
			}
			if text, ok := r.Outputs["text"].(string); ok && c.use.kind == "chat" && r.emitted != text {
				t.Errorf("streamed %q", r.emitted)
			}
		})
	}
	t.Run("quotes the error of the provider without the secret", func(t *testing.T) {
		t.Parallel()
		u := serveModels(t)
		r := ask(map[string]any{"model": "house/m", "prompt": "forbidden"}).executeIn(t, u.fixture, u.deps)
		if r.Error == nil || r.Error.Code != flow.CodeProviderAuth || r.Error.Retryable {
			t.Fatalf("got %+v", r.Error)
		}
		has(t, r.Error.Message, "Incorrect key", "Model: house/m.", "Credential: house.", "Request ID: req_7.")
		if strings.Contains(r.Error.Message, "secret-of-house") {
			t.Errorf("tells the secret: %s", r.Error.Message)
		}
	})
	t.Run("is retryable if the provider is busy", func(t *testing.T) {
		t.Parallel()
		u := serveModels(t)
		r := ask(map[string]any{"model": "house/m", "prompt": "busy"}).executeIn(t, u.fixture, u.deps)
		if r.Error == nil || r.Error.Code != flow.CodeProviderRateLimited || !r.Error.Retryable || len(u.seen) != 1 {
			t.Errorf("got %+v after %d requests", r.Error, len(u.seen))
		}
	})
	t.Run("does not retry after an answer broke off", func(t *testing.T) {
		t.Parallel()
		u := serveModels(t)
		r := ask(map[string]any{"model": "house/m", "prompt": "broken"}).executeIn(t, u.fixture, u.deps)
		if r.Error == nil || r.Error.Code != flow.CodeProviderUnavailable || r.Error.Retryable || len(u.seen) != 1 || r.emitted != "Well " || r.Outputs != nil {
			t.Errorf("got %+v after %d requests, streamed %q, gave %v", r.Error, len(u.seen), r.emitted, r.Outputs)
		}
	})
	t.Run("closes the connection when the run is canceled", func(t *testing.T) {
		t.Parallel()
		u, cancel := serveModels(t), make(chan struct{})
		u.fixture.signals.Cancel = cancel
		u.fixture.heard = sync.OnceFunc(func() { close(cancel) })
		r := ask(map[string]any{"model": "house/m", "prompt": "endless"}).executeIn(t, u.fixture, u.deps)
		if r.State != flow.StepCanceled || r.run.State != flow.RunCanceled {
			t.Errorf("step %s, run %s, error %v", r.State, r.run.State, r.Error)
		}
		if <-u.seen; <-u.seen != "gone" {
			t.Error("the provider continues")
		}
	})
	t.Run("reaches a private address that was discovered but not one that was typed", func(t *testing.T) {
		t.Parallel()
		u := serveModels(t)
		address := netip.MustParseAddrPort(u.Listener.Addr().String())
		u.deps.Providers = reaching(t, outbound.Config{AllowEndpoints: []netip.AddrPort{address}})
		found := server(t, "ollama", "llama3")
		found.BaseURL = u.URL + "/v1"
		u.deps.Local = servers{found}
		if r := ask(nil).executeIn(t, u.fixture, u.deps); r.State != flow.StepSucceeded || r.Outputs["text"] != "Tuesday" {
			t.Errorf("found: %v", r.Error)
		}
		if r := ask(map[string]any{"model": "house/m"}).executeIn(t, u.fixture, u.deps); r.Error == nil || r.Error.Code != flow.CodeDestinationBlocked {
			t.Errorf("typed: %v", r.Error)
		}
	})
	t.Run("does not reach a private address that a member typed", func(t *testing.T) {
		t.Parallel()
		u := serveModels(t)
		u.fixture.credentials = memoryCredentials{"inside": {Provider: "openai_compatible", BaseURL: "http://169.254.169.254/v1"}}
		r := ask(map[string]any{"model": "inside/m"}).executeIn(t, u.fixture, u.deps)
		if r.Error == nil || r.Error.Code != flow.CodeDestinationBlocked {
			t.Errorf("got %+v", r.Error)
		}
	})
}

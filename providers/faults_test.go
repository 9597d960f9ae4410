package providers

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// method is one way to call a provider, as the fault table sees it.
type method struct {
	name, provider string
	run            func(context.Context, *Client, Endpoint) error
}

// drain reads what a call gave to its end: some failures come only then.
func drain(blobs ...Blob) error {
	var failed error
	for _, b := range blobs {
		if _, err := io.Copy(io.Discard, b.Body); err != nil {
			failed = err
		}
		_ = b.Body.Close()
	}
	return failed
}

var tune = Media{Name: "a.mp3", MIME: "audio/mpeg", Size: 4, Open: content("tune")}

var methods = []method{
	{"Chat", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Chat(ctx, at, ChatRequest{Model: "m", Prompt: "?"}, nil)
		return err
	}},
	{"Chat on Anthropic's wire", "anthropic", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Chat(ctx, at, ChatRequest{Model: "m", Prompt: "?"}, nil)
		return err
	}},
	{"Embed", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Embed(ctx, at, EmbedRequest{Model: "m", Texts: []string{"a"}})
		return err
	}},
	{"Image", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		r, err := c.Image(ctx, at, ImageRequest{Model: "m", Prompt: "?"})
		if err != nil {
			return err
		}
		return drain(r.Images...)
	}},
	{"Image to edit", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		r, err := c.Image(ctx, at, ImageRequest{Model: "m", Prompt: "?", Images: []Media{tune}})
		if err != nil {
			return err
		}
		return drain(r.Images...)
	}},
	{"Speech", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		b, err := c.Speech(ctx, at, SpeechRequest{Model: "m", Text: "?"})
		if err != nil {
			return err
		}
		return drain(*b)
	}},
	{"Transcribe", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Transcribe(ctx, at, TranscribeRequest{Model: "m", Audio: tune})
		return err
	}},
	{"Models", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Models(ctx, at)
		return err
	}},
	{"Models of Anthropic", "anthropic", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Models(ctx, at)
		return err
	}},
	{"Test", "openai", func(ctx context.Context, c *Client, at Endpoint) error { return c.Test(ctx, at) }},
}

// refuse answers with a status and OpenAI's form of an error, repeating parts
// of the secret as providers do.
func refuse(status int, code, sentence string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Request-Id", "req_42")
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":{"message":"`+sentence+` (`+secret+`, `+secret[:6]+`****`+secret[24:]+`)","type":"t","code":"`+code+`"}}`)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   Error // Message: a part of it
	}{
		{"401", refuse(401, "invalid_api_key", "Incorrect API key provided"), Error{Kind: KindAuth, Message: "Incorrect API key provided ([secret], [secret])"}},
		{"402", refuse(402, "x", "Pay first"), Error{Kind: KindRejected, Message: "no money left"}},
		{"403", refuse(403, "x", "Not in your country"), Error{Kind: KindAuth, Message: "Not in your country"}},
		{"404", refuse(404, "model_not_found", "The model does not exist"), Error{Kind: KindNotFound, Message: "The model does not exist"}},
		{"422", refuse(422, "x", "n must be 1"), Error{Kind: KindRejected, Message: "n must be 1"}},
		{"429", refuse(429, "rate_limit_exceeded", "Slow down"), Error{Kind: KindRateLimited, Retryable: true, Message: "Slow down"}},
		{"429 with Retry-After", refuse(429, "x", "Slow down", "Retry-After", "7"), Error{Kind: KindRateLimited, Retryable: true, After: 7 * time.Second}},
		{"429 with the wait in its words", refuse(429, "x", "Please try again in 1.2s."), Error{Kind: KindRateLimited, Retryable: true, After: 1200 * time.Millisecond}},
		{"429 without money", refuse(429, "insufficient_quota", "You exceeded your current quota"), Error{Kind: KindRejected, Message: "You exceeded your current quota"}},
		{"408", refuse(408, "x", "Too slow"), Error{Kind: KindRateLimited, Retryable: true}},
		{"500", refuse(500, "x", "Oops"), Error{Kind: KindUnavailable, Retryable: true, Message: "Oops"}},
		{"503 with Retry-After", refuse(503, "x", "Soon", "Retry-After", "9"), Error{Kind: KindUnavailable, Retryable: true, After: 9 * time.Second}},
		{"529", refuse(529, "overloaded_error", "Overloaded"), Error{Kind: KindUnavailable, Retryable: true, Message: "529 Overloaded"}},
		{"a redirect", refuse(307, "x", "x", "Location", "/elsewhere"), Error{Kind: KindRejected, Message: "redirected"}},
	} {
		for _, m := range methods {
			t.Run(c.name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				u := setup(t, c.answer)
				e := failure(t, m.run(brief(t), u.client, u.at(m.provider)))
				if e.Kind != c.want.Kind || e.Retryable != c.want.Retryable || e.After != c.want.After || !strings.Contains(e.Message, c.want.Message) {
					t.Errorf("got %+v", e)
				}
				if e.RequestID != "req_42" {
					t.Errorf("the request ID is %q", e.RequestID)
				}
				if strings.Contains(e.Message, secret[:9]) || strings.Contains(e.Message, "****") {
					t.Errorf("a part of the secret is in %q", e.Message)
				}
				if wanted := map[bool]int{true: 2, false: 1}[m.name == "Test" && e.Kind == KindNotFound]; len(u.asked()) != wanted {
					t.Errorf("asked %d times", len(u.asked()))
				}
			})
		}
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	for _, m := range methods {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(http.ResponseWriter, *http.Request) {})
			u.Close()
			e := failure(t, m.run(brief(t), u.client, u.at(m.provider)))
			if e.Kind != KindUnavailable || !e.Retryable || !strings.Contains(e.Message, "refused") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// begun is the front of a good answer to each method, in the form of its wire.
func begun(path string, body []byte) (mime, front string) {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return "text/event-stream", delta("Hello")
	case strings.HasSuffix(path, "/messages"):
		return "text/event-stream", strings.Join(claude(claudeText("Hello")), "")
	case strings.HasSuffix(path, "/speech"):
		return "audio/mpeg", "ID3"
	case strings.Contains(path, "/images/"):
		return "application/json", `{"data":[{"b64_json":"`
	}
	return "application/json", `{"data":[{"id":"`
}

func TestReset(t *testing.T) {
	t.Parallel()
	for _, m := range methods {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, r *http.Request) {
				mime, front := begun(r.URL.Path, nil)
				w.Header().Set("Content-Type", mime)
				_, _ = io.WriteString(w, front)
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			e := failure(t, m.run(brief(t), u.client, u.at(m.provider)))
			if e.Kind != KindUnavailable || !e.Retryable {
				t.Errorf("got %+v", e)
			}
			if strings.HasPrefix(m.name, "Chat") && !strings.Contains(e.Message, "broke off after 5 characters") {
				t.Errorf("got %q", e.Message)
			}
			if len(u.asked()) != 1 {
				t.Errorf("asked %d times", len(u.asked()))
			}
		})
	}
}

func TestStreamEndsEarly(t *testing.T) {
	t.Parallel()
	for _, m := range methods[:2] {
		for name, front := range map[string]bool{"with nothing": false, "in the middle": true} {
			t.Run(m.name+" "+name, func(t *testing.T) {
				t.Parallel()
				u := setup(t, func(w http.ResponseWriter, r *http.Request) {
					if _, text := begun(r.URL.Path, nil); front {
						stream(w, text)
					}
				})
				if e := failure(t, m.run(brief(t), u.client, u.at(m.provider))); e.Kind != KindUnavailable || !e.Retryable {
					t.Errorf("got %+v", e)
				}
			})
		}
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	for name, events := range map[string][]string{
		"no JSON":    {"event: x\ndata: }{\n\n"},
		"cut JSON":   {"event: message_start\ndata: {\"type\":\"mess\n\n"},
		"a number":   {"event: message_start\ndata: 17\n\n"},
		"bytes":      {"event: message_start\ndata: \xff\xfe\x00\n\n"},
		"other JSON": {"event: message_start\ndata: [[[]]]\n\n"},
	} {
		for _, m := range methods[:2] {
			t.Run(m.name+" "+name, func(t *testing.T) {
				t.Parallel()
				u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, events...) })
				e := failure(t, m.run(brief(t), u.client, u.at(m.provider)))
				if e.Kind != KindBadAnswer && e.Kind != KindUnavailable {
					t.Errorf("got %+v", e)
				}
			})
		}
	}
	for _, m := range methods {
		t.Run(m.name+" a page", func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = io.WriteString(w, "<html>Welcome</html>")
			})
			e := failure(t, m.run(brief(t), u.client, u.at(m.provider)))
			if e.Kind != KindBadAnswer && e.Kind != KindUnavailable || strings.Contains(e.Message, "html") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestErrorInStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, provider, event string
		want                  Error
	}{
		{"OpenRouter", "openrouter", data(`{"id":"g","error":{"code":502,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"The GPU burns\"}}","provider_name":"X"}},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`),
			Error{Kind: KindUnavailable, Retryable: true, Message: "The GPU burns"}},
		{"OpenAI", "openai", data(`{"error":{"type":"server_error","code":null,"message":"The server had an error"}}`), Error{Kind: KindUnavailable, Retryable: true, Message: "The server had an error"}},
		{"Groq without money", "groq", data(`{"error":{"code":"insufficient_quota","message":"Empty"}}`), Error{Kind: KindRejected, Message: "no money left"}},
		{"Anthropic overloaded", "anthropic", event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), Error{Kind: KindUnavailable, Retryable: true, Message: "529 Overloaded"}},
		{"Anthropic limited", "anthropic", event("error", `{"type":"error","error":{"type":"rate_limit_error","message":"Later"}}`), Error{Kind: KindRateLimited, Retryable: true, Message: "Later"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, c.event) })
			_, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
			if e := failure(t, err); e.Kind != c.want.Kind || e.Retryable != c.want.Retryable || !strings.Contains(e.Message, c.want.Message) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestHalfCharacters sends an answer byte by byte, and characters split between
// two events as well.
func TestHalfCharacters(t *testing.T) {
	t.Parallel()
	raw := func(text string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
	}
	rawClaude := func(text string) string {
		return event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"`+text+`"}}`)
	}
	for provider, events := range map[string][]string{
		"openai":    {raw("Gr\xc3"), raw("\xbc\xc3\x9fe "), raw("\xf0\x9f"), raw("\x98"), raw("\x80!\xe2"), finish("stop"), done},
		"anthropic": claude(rawClaude("Gr\xc3"), rawClaude("\xbc\xc3\x9fe "), rawClaude("\xf0\x9f"), rawClaude("\x98"), rawClaude("\x80!\xe2"), claudeEnd("end_turn")),
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				for _, b := range []byte(strings.Join(events, "")) {
					_, _ = w.Write([]byte{b})
					w.(http.Flusher).Flush()
				}
			})
			var pieces []string
			r, err := u.client.Chat(brief(t), u.at(provider), ChatRequest{Model: "m", Prompt: "?"}, func(s string) { pieces = append(pieces, s) })
			if err != nil || r.Text != "Grüße 😀!\uFFFD" || strings.Join(pieces, "") != r.Text {
				t.Fatalf("got %+v in %q, %v", r, pieces, err)
			}
			for _, p := range pieces[:len(pieces)-1] {
				if strings.ContainsRune(p, '\uFFFD') {
					t.Errorf("half a character was passed on in %q", pieces)
				}
			}
		})
	}
}

// endless writes a pattern until its reader goes, at most 10 GB, and counts.
func endless(w http.ResponseWriter, sent *atomic.Int64, pattern string) {
	chunk := []byte(strings.Repeat(pattern, 1+(64<<10)/len(pattern)))
	for sent.Load() < 10<<30 {
		n, err := w.Write(chunk)
		sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// TestHugeAnswers is not parallel: it looks at the memory of the process.
func TestHugeAnswers(t *testing.T) {
	for _, c := range []struct {
		name    string
		status  int
		mime    string
		front   string
		pattern string
		chat    bool  // for chat alone
		most    int64 // bytes that may be sent
	}{
		{"one endless line", 200, "text/event-stream", "data: ", "x", false, 160 << 20},
		{"one endless event", 200, "text/event-stream", "", "data: {\n", true, 16 << 20},
		{"one endless text", 200, "text/event-stream", "", delta(strings.Repeat("text ", 4000)), true, 64 << 20},
		{"an endless refusal", 400, "application/json", `{"error":{"message":"`, "x", false, 16 << 20},
		{"an endless list", 200, "application/json", `{"data":[`, `{"id":"x"},`, false, 160 << 20},
		{"an endless picture", 200, "application/json", `{"data":[{"b64_json":"`, "AAAA", false, 160 << 20},
		{"an endless name", 200, "application/json", `{"`, "AAAA", false, 160 << 20},
	} {
		for _, m := range methods {
			if c.chat && m.provider != "openai" || c.chat && m.name != "Chat" || m.name == "Speech" {
				continue // speech streams to whoever reads it
			}
			t.Run(c.name+"/"+m.name, func(t *testing.T) {
				var sent atomic.Int64
				u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", c.mime)
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.front)
					endless(w, &sent, c.pattern)
				})
				base, stop := watchHeap()
				err := m.run(brief(t), u.client, u.at(m.provider))
				peak := stop()
				failure(t, err)
				if peak > base+64<<20 {
					t.Errorf("the heap grew by %d MiB", (peak-base)>>20)
				}
				if n := sent.Load(); n > c.most {
					t.Errorf("%d MiB were sent", n>>20)
				}
			})
		}
	}
}

// watchHeap measures what is in use now and at the most until stop.
func watchHeap() (base uint64, stop func() uint64) {
	runtime.GC()
	base = heap()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := base
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
				most = max(most, heap())
			}
		}
	}()
	return base, func() uint64 { close(done); return <-peak }
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSpeechIsBounded reads a recording without an end.
func TestSpeechIsBounded(t *testing.T) {
	t.Parallel()
	b := &answerBody{ReadCloser: io.NopCloser(zeros{}), ctx: t.Context(), session: &session{preset: Preset{Title: "X"}}, limit: maxStream, left: maxStream}
	n, err := io.Copy(io.Discard, b)
	if e := failure(t, err); e.Kind != KindTooLarge || n != maxStream || !strings.Contains(e.Message, "512 MiB") {
		t.Errorf("got %d bytes and %+v", n, e)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestSlowAnswers ends a trickle by the deadline, and by cancelling, of which
// the upstream hears.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	for _, m := range methods {
		for _, how := range []error{context.DeadlineExceeded, context.Canceled} {
			t.Run(m.name+"/"+how.Error(), func(t *testing.T) {
				t.Parallel()
				gone, started := make(chan struct{}), make(chan struct{})
				u := setup(t, func(w http.ResponseWriter, r *http.Request) {
					mime, front := begun(r.URL.Path, nil)
					w.Header().Set("Content-Type", mime)
					trickle(w, r, []byte(front+strings.Repeat(" ", 1<<10)), started)
					close(gone)
				})
				ctx, cancel := context.WithCancel(brief(t))
				if how == context.DeadlineExceeded {
					ctx, cancel = context.WithTimeout(brief(t), 100*time.Millisecond)
				} else {
					go func() { <-started; cancel() }()
				}
				defer cancel()
				if err := m.run(ctx, u.client, u.at(m.provider)); !errors.Is(err, how) {
					t.Errorf("got %v, wanted %v", err, how)
				}
				select {
				case <-gone:
				case <-brief(t).Done():
					t.Error("the upstream never heard of it")
				}
			})
		}
	}
}

// trickle writes a byte now and then until the caller is gone.
func trickle(w http.ResponseWriter, r *http.Request, text []byte, started chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		_, _ = w.Write(text[i%len(text):][:1])
		w.(http.Flusher).Flush()
		if i == 3 {
			close(started)
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}

// TestNothingFromTheEnvironment is not parallel: it sets the environment that
// the client libraries would read.
func TestNothingFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET",
		"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_FEDERATION_RULE_ID"} {
		t.Setenv(name, "leaked-value")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/leaked-value")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/leaked-value")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Leak: leaked-value")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Leak: leaked-value")
	for _, m := range methods {
		for _, s := range []string{"", secret} {
			u := setup(t, refuse(500, "x", "x"))
			at := u.at(m.provider)
			at.Secret = s
			failure(t, m.run(brief(t), u.client, at))
			c := u.last(t)
			var all bytes.Buffer
			_ = c.header.Write(&all)
			if strings.Contains(all.String()+c.path+c.query+string(c.body), "leaked-value") {
				t.Errorf("%s sent something of the environment: %s", m.name, all.String())
			}
			if s == "" && (c.header.Get("Authorization") != "" || c.header.Get("X-Api-Key") != "") {
				t.Errorf("%s let itself in without a secret", m.name)
			}
			for name := range c.header {
				if strings.HasPrefix(name, "X-Stainless") || name == "User-Agent" && c.header.Get(name) != "Sluice" {
					t.Errorf("%s sent %s: %s", m.name, name, c.header.Get(name))
				}
			}
		}
	}
}

// TestRedirectsGetNoSecret wants a redirect to end the call at the first host.
func TestRedirectsGetNoSecret(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, m := range methods {
			other := setup(t, func(http.ResponseWriter, *http.Request) {})
			u := setup(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL+"/v1/take", status) })
			if e := failure(t, m.run(brief(t), u.client, u.at(m.provider))); e.Kind != KindRejected {
				t.Errorf("%s: got %+v", m.name, e)
			}
			if len(other.asked()) != 0 {
				t.Errorf("%s followed a redirect with status %d", m.name, status)
			}
		}
	}
}

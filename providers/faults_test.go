package providers

import (
	"context"
	"io"
	"net/http"
	"strings"
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
	{"Chat on the Responses wire", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Chat(ctx, at, ChatRequest{Model: "m", Prompt: "?", WebSearch: true}, nil)
		return err
	}},
	{"Chat at Azure", "azure", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Chat(ctx, at, ChatRequest{Model: "m", Prompt: "?"}, nil)
		return err
	}},
	{"Chat with Gemini", "gemini", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Chat(ctx, at, ChatRequest{Model: "m", Prompt: "?", ThinkingBudget: 9}, nil)
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
	{"Test", "openai", func(ctx context.Context, c *Client, at Endpoint) error {
		_, err := c.Test(ctx, at)
		return err
	}},
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
		{"401", refuse(401, "invalid_api_key", "Incorrect API key provided"), Error{Class: ClassAuth, Message: "Incorrect API key provided ([secret], [secret])"}},
		{"400 for the secret", refuse(400, "x", "Incorrect API key provided"), Error{Class: ClassAuth, Message: "does not accept the secret"}},
		{"402", refuse(402, "x", "Pay first"), Error{Class: ClassRejected, Message: "no money left"}},
		{"403", refuse(403, "x", "Not in your country"), Error{Class: ClassAuth, Message: "Not in your country"}},
		{"404", refuse(404, "model_not_found", "The model does not exist"), Error{Class: ClassNotFound, Message: "The model does not exist"}},
		{"422", refuse(422, "x", "n must be 1"), Error{Class: ClassRejected, Message: "n must be 1"}},
		{"429", refuse(429, "rate_limit_exceeded", "Slow down"), Error{Class: ClassRateLimited, Retryable: true, Message: "Slow down"}},
		{"429 with Retry-After", refuse(429, "x", "Slow down", "Retry-After", "7"), Error{Class: ClassRateLimited, Retryable: true, After: 7 * time.Second}},
		{"429 with the wait in its words", refuse(429, "x", "Please try again in 1.2s."), Error{Class: ClassRateLimited, Retryable: true, After: 1200 * time.Millisecond}},
		{"429 without money", refuse(429, "insufficient_quota", "You exceeded your current quota"), Error{Class: ClassRejected, Message: "You exceeded your current quota"}},
		{"408", refuse(408, "x", "Too slow"), Error{Class: ClassRateLimited, Retryable: true}},
		{"400 for a context that is too long", refuse(400, "context_length_exceeded", "This model has a context of 8192 tokens"), Error{Class: ClassRejected, Message: "a context of 8192 tokens"}},
		{"500", refuse(500, "x", "Oops"), Error{Class: ClassUnavailable, Retryable: true, Message: "Oops"}},
		{"503 with Retry-After", refuse(503, "x", "Soon", "Retry-After", "9"), Error{Class: ClassUnavailable, Retryable: true, After: 9 * time.Second}},
		{"529", refuse(529, "overloaded_error", "Overloaded"), Error{Class: ClassUnavailable, Retryable: true, Message: "529 Overloaded"}},
		{"a redirect", refuse(307, "x", "x", "Location", "/elsewhere"), Error{Class: ClassRejected, Message: "redirected"}},
	} {
		for _, m := range methods {
			t.Run(c.name+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				u := setup(t, c.answer)
				e := failure(t, m.run(brief(t), u.client, u.at(m.provider)))
				if e.Class != c.want.Class || e.Retryable != c.want.Retryable || e.After != c.want.After || !strings.Contains(e.Message, c.want.Message) {
					t.Errorf("got %+v", e)
				}
				if e.RequestID != "req_42" {
					t.Errorf("the request ID is %q", e.RequestID)
				}
				if strings.Contains(e.Message, secret[:9]) || strings.Contains(e.Message, "****") {
					t.Errorf("a part of the secret is in %q", e.Message)
				}
				if wanted := map[bool]int{true: 2, false: 1}[m.name == "Test" && e.Class == ClassNotFound]; len(u.asked()) != wanted {
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
			if e.Class != ClassUnavailable || !e.Retryable || !strings.Contains(e.Message, "refused") {
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
	case strings.HasSuffix(path, "/responses"):
		return "text/event-stream", data(`{"type":"response.output_text.delta","delta":"Hello"}`)
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
			chat := strings.HasPrefix(m.name, "Chat")
			paid := !strings.HasPrefix(m.name, "Models") && m.name != "Test" // an answer that began is not paid for again unasked
			if e.Class != ClassUnavailable || e.Retryable == paid {
				t.Errorf("got %+v", e)
			}
			if chat && (!strings.Contains(e.Message, "broke off after 5 characters") || !strings.Contains(e.Message, "Run it again if that is acceptable")) {
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
	for _, m := range methods[:5] {
		for name, front := range map[string]bool{"with nothing": false, "in the middle": true} {
			t.Run(m.name+" "+name, func(t *testing.T) {
				t.Parallel()
				u := setup(t, func(w http.ResponseWriter, r *http.Request) {
					if _, text := begun(r.URL.Path, nil); front {
						stream(w, text)
					}
				})
				if e := failure(t, m.run(brief(t), u.client, u.at(m.provider))); e.Class != ClassUnavailable || e.Retryable == front {
					t.Errorf("got %+v", e)
				}
			})
		}
	}
}

// TestChatPaid wants what a failed call cost, as far as it is known, and no
// advice to try again where an answer had begun.
func TestChatPaid(t *testing.T) {
	t.Parallel()
	cut, reading := Usage{InputTokens: 17, OutputTokens: 1, CacheRead: 4, CacheWrite: 2, Incomplete: true}, Usage{InputTokens: 7, OutputTokens: 3}
	later := event("error", `{"type":"error","error":{"type":"rate_limit_error","message":"Later"}}`)
	for _, c := range []struct {
		name, provider string
		events         []string
		class          ErrorClass
		retryable      bool
		want           *Usage
	}{
		{"nothing came", "openai", nil, ClassUnavailable, true, nil},
		{"a text came", "openai", []string{delta("Hello")}, ClassUnavailable, false, &Usage{Incomplete: true}},
		{"a text and figures came", "openai", []string{usage(7, 3), delta("Hello")}, ClassUnavailable, false, &Usage{InputTokens: 7, OutputTokens: 3, Incomplete: true}},
		{"an error came behind a text", "openai", []string{delta("Hello"), data(`{"error":{"type":"server_error","message":"Oops"}}`)}, ClassUnavailable, false, &Usage{Incomplete: true}},
		{"garbage came behind a text", "openai", []string{delta("Hello"), data("}{")}, ClassBadAnswer, false, &Usage{Incomplete: true}},
		{"a filter stopped it", "openai", []string{delta("Hello"), finish("content_filter"), usage(7, 3), done}, ClassRejected, false, &reading},
		{"the model refused", "openai", []string{data(`{"choices":[{"index":0,"delta":{"refusal":"No."}}]}`), finish("stop"), usage(7, 3), done}, ClassRejected, false, &reading},
		{"Anthropic broke off", "anthropic", claude(claudeText("Hello")), ClassUnavailable, false, &cut},
		{"Anthropic broke off before a word", "anthropic", claude(), ClassUnavailable, true, &cut},
		{"Anthropic was busy before a word", "anthropic", []string{later}, ClassRateLimited, true, nil},
		{"Anthropic was busy behind a text", "anthropic", claude(claudeText("Hello"), later), ClassRateLimited, false, &cut},
		{"Anthropic refused", "anthropic", claude(claudeText("Well"), claudeEnd("refusal")), ClassRejected, false, &Usage{InputTokens: 17, OutputTokens: 9, CacheRead: 4, CacheWrite: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, c.events...) })
			r, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
			if e := failure(t, err); e.Class != c.class || e.Retryable != c.retryable {
				t.Errorf("got %+v", e)
			}
			unrefused := c.want == nil && c.class != ClassRateLimited || c.want != nil && c.want.Incomplete
			if Lost(err) != unrefused {
				t.Errorf("the bill is lost: %v", Lost(err))
			}
			if (r == nil) != (c.want == nil) || r != nil && (r.Usage != *c.want || r.Text != "") {
				t.Errorf("got %+v, wanted %+v", r, c.want)
			}
		})
	}
}

// TestChatRepairFails has the first answer paid for already: it is not asked for
// once more because the second is not to be had.
func TestChatRepairFails(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]http.HandlerFunc{
		"is put off": refuse(429, "x", "Slow down", "Retry-After", "7"), "is unavailable": refuse(500, "x", "Oops"),
		"breaks off": func(w http.ResponseWriter, _ *http.Request) { stream(w, delta("{")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var u *upstream
			u = setup(t, func(w http.ResponseWriter, r *http.Request) {
				if len(u.asked()) == 1 {
					stream(w, says("Bern!")...)
					return
				}
				fails(w, r)
			})
			r, err := u.client.Chat(brief(t), u.at("openai_compatible"), ChatRequest{Model: "m", Prompt: "?", Schema: schemaOf(t, roomy)}, nil)
			if e := failure(t, err); e.Retryable || e.After != 0 || !strings.Contains(e.Message, "it is not JSON") || strings.Count(e.Message, "Run it again") != 1 {
				t.Errorf("got %+v", e)
			}
			if r == nil || r.Usage != (Usage{InputTokens: 7, OutputTokens: 3, Incomplete: name == "breaks off"}) || Lost(err) != r.Usage.Incomplete || len(u.asked()) != 2 {
				t.Errorf("got %+v after %d calls", r, len(u.asked()))
			}
		})
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
		for _, m := range methods[:5] {
			t.Run(m.name+" "+name, func(t *testing.T) {
				t.Parallel()
				u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, events...) })
				e := failure(t, m.run(brief(t), u.client, u.at(m.provider)))
				if e.Class != ClassBadAnswer && e.Class != ClassUnavailable {
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
			if e.Class != ClassBadAnswer && e.Class != ClassUnavailable || strings.Contains(e.Message, "html") {
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
			Error{Class: ClassUnavailable, Retryable: true, Message: "The GPU burns"}},
		{"OpenAI", "openai", data(`{"error":{"type":"server_error","code":null,"message":"The server had an error"}}`), Error{Class: ClassUnavailable, Retryable: true, Message: "The server had an error"}},
		{"Groq without money", "groq", data(`{"error":{"code":"insufficient_quota","message":"Empty"}}`), Error{Class: ClassRejected, Message: "no money left"}},
		{"Anthropic overloaded", "anthropic", event("error", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), Error{Class: ClassUnavailable, Retryable: true, Message: "529 Overloaded"}},
		{"Anthropic limited", "anthropic", event("error", `{"type":"error","error":{"type":"rate_limit_error","message":"Later"}}`), Error{Class: ClassRateLimited, Retryable: true, Message: "Later"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, c.event) })
			_, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
			if e := failure(t, err); e.Class != c.want.Class || e.Retryable != c.want.Retryable || !strings.Contains(e.Message, c.want.Message) {
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

package providers

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestChat(t *testing.T) {
	t.Parallel()
	t.Run("streams an answer on OpenAI's wire", func(t *testing.T) {
		t.Parallel()
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			stream(w, ": waiting\n\n", data(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`), delta("Good "), delta("morning"),
				data(`{"error":null,"novelty":{"a":[1]},"choices":[{"index":0,"delta":{"content":".","reasoning_content":"hm"},"strange":1}]}`),
				"event: novelty\nid: 4\nretry: 10\ndata: {\"choices\":[]}\n\n", finish("stop"), usage(12, 4), done)
		})
		temperature, topP := 0.2, 0.9
		var got []string
		r, err := u.client.Chat(brief(t), u.at("openai"), ChatRequest{Model: "gpt-x", System: "Be kind.", Prompt: "Hello", Temperature: &temperature,
			TopP: &topP, MaxTokens: 50, Stop: []string{"END"}, Key: "run_1:write"}, func(s string) { got = append(got, s) })
		if err != nil {
			t.Fatal(err)
		}
		want := ChatResult{Text: "Good morning.", Model: "m-2026", Stop: "stop", Usage: Usage{InputTokens: 12, OutputTokens: 4}}
		if !reflect.DeepEqual(*r, want) {
			t.Errorf("got %+v, wanted %+v", *r, want)
		}
		if !reflect.DeepEqual(got, []string{"Good ", "morning", "."}) {
			t.Errorf("emitted %q", got)
		}
		sent := u.last(t)
		if sent.path != "/v1/chat/completions" || sent.header.Get("Authorization") != "Bearer "+secret || sent.header.Get("Idempotency-Key") != "run_1:write" {
			t.Errorf("asked %s with %v", sent.path, sent.header)
		}
		wantBody := map[string]any{
			"model": "gpt-x", "stream": true, "stream_options": map[string]any{"include_usage": true}, "max_completion_tokens": 50.0,
			"temperature": 0.2, "top_p": 0.9, "stop": []any{"END"},
			"messages": []any{map[string]any{"role": "system", "content": "Be kind."}, map[string]any{"role": "user", "content": "Hello"}},
		}
		if body := sent.json(t); !reflect.DeepEqual(body, wantBody) {
			t.Errorf("sent %v, wanted %v", body, wantBody)
		}
	})
	t.Run("streams an answer on Anthropic's wire", func(t *testing.T) {
		t.Parallel()
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			stream(w, claude(event("ping", `{"type":"ping"}`), event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
				claudeText("Good "), claudeText("day"), event("novelty", `{"type":"novelty","x":1}`), claudeEnd("end_turn"))...)
		})
		var got []string
		r, err := u.client.Chat(brief(t), u.at("anthropic"), ChatRequest{Model: "claude-x", System: "Be kind.", Prompt: "Hello", Stop: []string{"END"}, Key: "k"},
			func(s string) { got = append(got, s) })
		if err != nil {
			t.Fatal(err)
		}
		want := ChatResult{Text: "Good day", Model: "claude-x", Stop: "stop", Usage: Usage{InputTokens: 17, OutputTokens: 9, CacheRead: 4, CacheWrite: 2}}
		if !reflect.DeepEqual(*r, want) || !reflect.DeepEqual(got, []string{"Good ", "day"}) {
			t.Errorf("got %+v and %q, wanted %+v", *r, got, want)
		}
		sent := u.last(t)
		if sent.path != "/v1/messages" || sent.header.Get("X-Api-Key") != secret || sent.header.Get("Anthropic-Version") != "2023-06-01" || sent.header.Get("Authorization") != "" {
			t.Errorf("asked %s with %v", sent.path, sent.header)
		}
		wantBody := map[string]any{"model": "claude-x", "max_tokens": 4096.0, "stream": true, "stop_sequences": []any{"END"},
			"system":   []any{map[string]any{"type": "text", "text": "Be kind."}},
			"messages": []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "Hello"}}}}}
		if body := sent.json(t); !reflect.DeepEqual(body, wantBody) {
			t.Errorf("sent %v, wanted %v", body, wantBody)
		}
	})
	t.Run("needs no emit and no secret", func(t *testing.T) {
		t.Parallel()
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says("yes")...) })
		at := u.at("ollama")
		at.Secret = ""
		r, err := u.client.Chat(brief(t), at, ChatRequest{Model: "m", Prompt: "?"}, nil)
		if err != nil || r.Text != "yes" {
			t.Fatalf("got %+v, %v", r, err)
		}
		if _, ok := u.last(t).header["Authorization"]; ok {
			t.Error("an empty secret was sent")
		}
	})
	t.Run("fails when the length ends it before a word", func(t *testing.T) {
		t.Parallel()
		for provider, events := range map[string][]string{
			"openai":    {finish("length"), usage(3, 9), done},
			"mistral":   {finish("model_length"), done},
			"anthropic": claude(claudeEnd("max_tokens")),
		} {
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, events...) })
			r, err := u.client.Chat(brief(t), u.at(provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
			if e := failure(t, err); e.Class != ClassBadAnswer || e.Retryable || !strings.Contains(e.Message, "used up its tokens") || r == nil || r.Stop != "length" {
				t.Errorf("%s: got %+v, %v", provider, r, err)
			}
		}
	})
	t.Run("is content with a whole answer whose stream breaks behind it", func(t *testing.T) {
		t.Parallel()
		for provider, events := range map[string][]string{
			"openai":    {delta("whole"), finish("stop")},
			"anthropic": claude(claudeText("whole"), event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`)),
		} {
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
				stream(w, events...)
				panic(http.ErrAbortHandler)
			})
			r, err := u.client.Chat(brief(t), u.at(provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
			if err != nil || r.Text != "whole" {
				t.Errorf("%s: got %+v, %v", provider, r, err)
			}
		}
	})
}

// TestChatTokens reads tokens of caches and of reasoning in the formats of providers.
func TestChatTokens(t *testing.T) {
	t.Parallel()
	openAI := func(usage string) []string {
		return []string{delta("x"), finish("stop"), data(`{"choices":[],"usage":` + usage + `}`), done}
	}
	for name, c := range map[string]struct {
		provider string
		events   []string
		want     Usage
	}{
		"openai": {"openai", openAI(`{"prompt_tokens":100,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":30}}`),
			Usage{InputTokens: 100, OutputTokens: 50, CacheRead: 64, Reasoning: 30}},
		"deepseek": {"deepseek", openAI(`{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":40}`), Usage{InputTokens: 100, OutputTokens: 5, CacheRead: 40}},
		"xai":      {"xai", openAI(`{"prompt_tokens":10,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":30}}`), Usage{InputTokens: 10, OutputTokens: 35, Reasoning: 30}},
		"odd":      {"openai", openAI(`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":[],"completion_tokens_details":"none"}`), Usage{InputTokens: 10, OutputTokens: 5}},
		"free":     {"openrouter", openAI(`{"prompt_tokens":10,"completion_tokens":5,"cost":0}`), Usage{InputTokens: 10, OutputTokens: 5, CostKnown: true}},
		"anthropic": {"anthropic", []string{
			event("message_start", `{"type":"message_start","message":{"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":70,"cache_creation":{"ephemeral_1h_input_tokens":15},"output_tokens":1}}}`),
			claudeText("x"), event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`), event("message_stop", `{"type":"message_stop"}`),
		}, Usage{InputTokens: 100, OutputTokens: 9, CacheRead: 70, CacheWrite: 20, CacheWriteHour: 15}},
	} {
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, c.events...) })
		r, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
		if err != nil || r.Usage != c.want {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

func TestChatCost(t *testing.T) {
	t.Parallel()
	for provider, cost := range map[string]string{"openrouter": `0.0012345`, "perplexity": `{"total_cost":0.0012345,"request_cost":0.001}`} {
		u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
			stream(w, delta("x"), finish("stop"), data(`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2,"cost":`+cost+`}}`), done)
		})
		r, err := u.client.Chat(brief(t), u.at(provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
		if err != nil || r.Usage != (Usage{InputTokens: 1, OutputTokens: 2, CostNanoUSD: 1_234_500, CostKnown: true}) {
			t.Errorf("%s: got %+v, %v", provider, r, err)
		}
		_, asked := u.last(t).json(t)["usage"]
		if asked != (provider == "openrouter") {
			t.Errorf("%s: asked for the price: %v", provider, asked)
		}
	}
}

func TestChatImages(t *testing.T) {
	t.Parallel()
	linked := Media{URL: "https://example.com/cat.png"}
	inline := Media{Name: "cat.png", MIME: "image/png", Size: 3, Open: content("cat")}
	part := func(url string) any {
		return map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}}
	}
	source := func(fields ...any) any {
		m := map[string]any{}
		for i := 0; i < len(fields); i += 2 {
			m[fields[i].(string)] = fields[i+1]
		}
		return map[string]any{"type": "image", "source": m}
	}
	text := map[string]any{"type": "text", "text": "What is it?"}
	for _, c := range []struct {
		name, provider string
		image          Media
		want           []any
		class          ErrorClass
	}{
		{"goes as a link", "openai", linked, []any{text, part("https://example.com/cat.png")}, ""},
		{"goes as data", "openai", inline, []any{text, part("data:image/png;base64,Y2F0")}, ""},
		{"is data already", "gemini", Media{URL: "data:image/gif;base64,Y2F0"}, []any{text, part("data:image/gif;base64,Y2F0")}, ""},
		{"goes as data to a local server", "ollama", inline, []any{text, part("data:image/png;base64,Y2F0")}, ""},
		{"cannot be a link for a local server", "ollama", linked, nil, ClassIncompatible},
		{"is a link for Anthropic", "anthropic", linked, []any{source("type", "url", "url", "https://example.com/cat.png"), text}, ""},
		{"is content for Anthropic", "anthropic", inline, []any{source("type", "base64", "media_type", "image/png", "data", "Y2F0"), text}, ""},
		{"is too large", "openai", Media{Name: "huge.png", MIME: "image/png", Size: 21 << 20, Open: content("")}, nil, ClassBadRequest},
		{"is larger than it says", "openai", Media{Name: "huge.png", MIME: "image/png", Open: content(strings.Repeat("x", 20<<20+1))}, nil, ClassBadRequest},
		{"has no type", "openai", Media{Name: "cat", Open: content("cat")}, nil, ClassBadRequest},
		{"is nothing", "openai", Media{}, nil, ClassBadRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/messages" {
					stream(w, claude(claudeText("A cat"), claudeEnd("end_turn"))...)
					return
				}
				stream(w, says("A cat")...)
			})
			_, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "What is it?", Images: []Media{c.image}}, nil)
			if c.class != "" {
				if e := failure(t, err); e.Class != c.class || len(u.asked()) != 0 {
					t.Errorf("got %s %q after %d calls", e.Class, e.Message, len(u.asked()))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			messages := u.last(t).json(t)["messages"].([]any)
			if got := messages[0].(map[string]any)["content"]; !reflect.DeepEqual(got, c.want) {
				t.Errorf("sent %v, wanted %v", got, c.want)
			}
		})
	}
}

// TestChatDialects checks which parameters each preset sends, as its record has
// them.
func TestChatDialects(t *testing.T) {
	t.Parallel()
	for _, p := range Presets() {
		if p.Wire != WireOpenAI {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, says(`{"a":"b"}`)...) })
			schema := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}, "required": []any{"a"}}
			if _, err := u.client.Chat(brief(t), u.at(p.Name), ChatRequest{Model: "m", Prompt: "?", MaxTokens: 9, Schema: schema}, nil); err != nil {
				t.Fatal(err)
			}
			body := u.last(t).json(t)
			if body[p.MaxTokens] != 9.0 || body[otherName(p.MaxTokens)] != nil {
				t.Errorf("sent the limit as %v and %v", body[maxTokens], body[maxCompletionTokens])
			}
			if (body["stream_options"] != nil) != p.StreamUsage {
				t.Errorf("sent stream_options %v", body["stream_options"])
			}
			format, _ := body["response_format"].(map[string]any)
			want := map[SchemaMode]any{SchemaStrict: "json_schema", SchemaJSON: "json_object", SchemaNone: nil}[p.Schema]
			if format["type"] != want {
				t.Errorf("sent response_format %v, wanted %v", format["type"], want)
			}
			prompted := strings.Contains(string(u.last(t).body), "JSON Schema")
			if prompted != (p.Schema != SchemaStrict) {
				t.Errorf("the schema is in the prompt: %v", prompted)
			}
		})
	}
}

// TestChatAdapts checks that a parameter refused by name is put in its other
// form once, and that other refusals are passed on.
func TestChatAdapts(t *testing.T) {
	t.Parallel()
	refuse := func(w http.ResponseWriter, param, message string) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":{"message":"` + message + `","type":"invalid_request_error","param":"` + param + `","code":null}}`))
	}
	schema := map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}, "required": []any{"a"}}
	for _, c := range []struct {
		name, provider, param, message string
		has                            func(call) bool // what the server refuses
		calls                          int
		class                          ErrorClass
	}{
		{"max_tokens", "openai_compatible", "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
			func(c call) bool { return strings.Contains(string(c.body), `"max_tokens"`) }, 2, ""},
		{"max_completion_tokens", "openai", "", "Unrecognized request argument supplied: max_completion_tokens",
			func(c call) bool { return strings.Contains(string(c.body), `"max_completion_tokens"`) }, 2, ""},
		{"json_schema", "groq", "response_format", "This model does not support response format `json_schema`.",
			func(c call) bool { return strings.Contains(string(c.body), `"json_schema"`) }, 2, ""},
		{"stream_options", "openai_compatible", "stream_options", "include_usage: Extra inputs are not permitted",
			func(c call) bool { return strings.Contains(string(c.body), `"stream_options"`) }, 2, ""},
		{"both names of the limit", "openai", "", "max_tokens and max_completion_tokens are unknown parameters.",
			func(c call) bool { return true }, 2, ClassRejected},
		{"temperature", "openai", "temperature", "Unsupported value: 'temperature' does not support 0.5 with this model.",
			func(c call) bool { return true }, 1, ClassRejected},
		{"a value that is too large", "openai_compatible", "max_tokens", "max_tokens is too large: 9. This model supports at most 8 completion tokens.",
			func(c call) bool { return true }, 1, ClassRejected},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var u *upstream
			u = setup(t, func(w http.ResponseWriter, _ *http.Request) {
				if calls := u.asked(); c.has(calls[len(calls)-1]) {
					refuse(w, c.param, c.message)
					return
				}
				stream(w, says(`{"a":"b"}`)...)
			})
			_, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "?", MaxTokens: 9, Schema: schema, Key: "k"}, nil)
			calls := u.asked()
			if len(calls) != c.calls {
				t.Errorf("asked %d times, wanted %d", len(calls), c.calls)
			}
			if c.class == "" && err != nil {
				t.Fatal(err)
			}
			if c.class != "" {
				if e := failure(t, err); e.Class != c.class || !strings.Contains(e.Message, strings.TrimSuffix(c.message, ".")) {
					t.Errorf("got %s %q", e.Class, e.Message)
				}
			}
			if len(calls) == 2 && calls[1].header.Get("Idempotency-Key") == calls[0].header.Get("Idempotency-Key") {
				t.Error("two bodies went under one key")
			}
		})
	}
}

func TestChatRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, provider string
		events         []string
		says           string
	}{
		{"a refusal", "openai", []string{data(`{"choices":[{"index":0,"delta":{"refusal":"I cannot help"}}]}`), data(`{"choices":[{"index":0,"delta":{"refusal":" with that."}}]}`), finish("stop"), done}, "I cannot help with that."},
		{"a content filter", "openai", []string{delta("Well"), finish("content_filter"), done}, "content filter of OpenAI"},
		{"a refusal of Anthropic", "anthropic", claude(claudeEnd("refusal")), "safety rules"},
		{"a policy event", "openai", []string{data(`{"error":{"message":"Your input was flagged","type":"invalid_request_error","code":"content_policy_violation"}}`)}, "Your input was flagged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, c.events...) })
			_, err := u.client.Chat(brief(t), u.at(c.provider), ChatRequest{Model: "m", Prompt: "?"}, nil)
			if e := failure(t, err); e.Class != ClassRejected || e.Retryable || !strings.Contains(e.Message, c.says) {
				t.Errorf("got %s %q", e.Class, e.Message)
			}
		})
	}
}

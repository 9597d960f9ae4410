package providers

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// TestSettings holds what each wire is sent for the settings of a chat.
func TestSettings(t *testing.T) {
	t.Parallel()
	seed, long := int64(7), strings.Repeat("You know these rules. ", 300)
	object := func(pairs ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	marked := []any{object("type", "text", "text", long, "cache_control", object("type", "ephemeral"))}
	for _, c := range []struct {
		name, provider string
		request        ChatRequest
		want           map[string]any // of the body; nil: absent
	}{
		{"effort", "openai", ChatRequest{Effort: "high", Seed: &seed}, object("reasoning_effort", "high", "seed", 7.0, "thinking", nil)},
		{"budget as effort", "openai", ChatRequest{ThinkingBudget: 5000}, object("reasoning_effort", "medium")},
		{"nothing unasked", "openai", ChatRequest{}, object("reasoning_effort", nil, "seed", nil, "tools", nil, "extra_body", nil)},
		{"Mistral's seed", "mistral", ChatRequest{Seed: &seed}, object("random_seed", 7.0, "seed", nil)},
		{"Gemini's budget", "gemini", ChatRequest{ThinkingBudget: 900},
			object("extra_body", object("google", object("thinking_config", object("thinking_budget", 900.0))), "reasoning_effort", nil)},
		{"Gemini's effort", "gemini", ChatRequest{Effort: "low"}, object("reasoning_effort", "low", "extra_body", nil)},
		{"OpenRouter's effort", "openrouter", ChatRequest{Effort: "low", WebSearch: true}, object("reasoning", object("effort", "low"), "plugins", []any{object("id", "web")})},
		{"OpenRouter's budget", "openrouter", ChatRequest{ThinkingBudget: 900}, object("reasoning", object("max_tokens", 900.0))},
		{"adaptive thinking", "anthropic", ChatRequest{Effort: "high", Seed: &seed},
			object("thinking", object("type", "adaptive"), "output_config", object("effort", "high"), "max_tokens", 28672.0, "seed", nil)},
		{"a thinking budget", "anthropic", ChatRequest{ThinkingBudget: 2000}, object("thinking", object("type", "enabled", "budget_tokens", 2000.0), "max_tokens", 6096.0, "output_config", nil)},
		{"no thinking", "anthropic", ChatRequest{Effort: "none"}, object("thinking", nil, "max_tokens", 4096.0)},
		{"Anthropic's search", "anthropic", ChatRequest{WebSearch: true}, object("tools", []any{object("type", "web_search_20250305", "name", "web_search", "max_uses", 5.0)}, "tool_choice", nil)},
		{"Perplexity searches always", "perplexity", ChatRequest{WebSearch: true}, object("tools", nil, "web_search", nil)},
		{"a long system prompt", "anthropic", ChatRequest{System: long}, object("system", marked)},
		{"a short system prompt", "anthropic", ChatRequest{System: "Be kind."}, object("system", []any{object("type", "text", "text", "Be kind.")})},
		{"a long system prompt through OpenRouter", "openrouter", ChatRequest{Model: "anthropic/claude-x", System: long}, object("messages",
			[]any{object("role", "system", "content", marked), object("role", "user", "content", "?")})},
		{"a long system prompt elsewhere", "openai", ChatRequest{System: long}, object("messages",
			[]any{object("role", "system", "content", long), object("role", "user", "content", "?")})},
		{"extra", "openai", ChatRequest{Extra: object("service_tier", "flex", "stream_options", object("more", true), "temperature", nil)},
			object("service_tier", "flex", "stream_options", object("include_usage", true, "more", true))},
		{"extra for Anthropic", "anthropic", ChatRequest{Extra: object("top_k", 5), Effort: "low"}, object("top_k", 5.0, "thinking", object("type", "adaptive"))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			u := setup(t, answerAs)
			if c.request.Prompt = "?"; c.request.Model == "" {
				c.request.Model = "m"
			}
			if _, err := u.client.Chat(brief(t), u.at(c.provider), c.request, nil); err != nil {
				t.Fatal(err)
			}
			body := u.last(t).json(t)
			for name, want := range c.want {
				if !reflect.DeepEqual(body[name], want) {
					t.Errorf("%s is %v, wanted %v", name, body[name], want)
				}
			}
		})
	}
}

// answerAs answers in the format of the path.
func answerAs(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		stream(w, claude(claudeText("hi"), claudeEnd("end_turn"))...)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		stream(w, data(`{"type":"response.output_text.delta","delta":"hi"}`), responsesEnd)
	default:
		stream(w, says("hi")...)
	}
}

const responsesEnd = "event: response.completed\ndata: " +
	`{"type":"response.completed","response":{"model":"m-2026","status":"completed","output":[{"type":"web_search_call"},{"type":"message"}],` +
	`"usage":{"input_tokens":30,"input_tokens_details":{"cached_tokens":10},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}}}` + "\n\n"

func TestResponses(t *testing.T) {
	t.Parallel()
	var events []string
	u := setup(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, events...) })
	ask := func(r ChatRequest, answer ...string) (*ChatResult, error) {
		events = answer
		r.Model, r.WebSearch = "m", true
		return u.client.Chat(brief(t), u.at("openai"), r, nil)
	}
	text := func(s string) string { return data(`{"type":"response.output_text.delta","delta":"` + s + `"}`) }
	dot := Media{MIME: "image/png", Size: 3, Open: content("dot")}
	got, err := ask(ChatRequest{System: "Be kind.", Prompt: "Look", Images: []Media{dot}, Effort: "low", MaxTokens: 50,
		History: []ChatTurn{{Role: "user", Parts: []ChatPart{{Text: "One"}}}, {Role: "assistant", Parts: []ChatPart{{Text: "Two"}, {Text: "Three"}}}}},
		data(`{"type":"response.created","response":{"error":null,"usage":null}}`), text("Good "), text("day"), responsesEnd)
	if err != nil {
		t.Fatal(err)
	}
	want := ChatResult{Text: "Good day", Model: "m-2026", Stop: "stop", Usage: Usage{InputTokens: 30, CacheRead: 10, OutputTokens: 9, Reasoning: 4, Searches: 1}}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, wanted %+v", *got, want)
	}
	sent := u.last(t)
	wantBody := map[string]any{"model": "m", "stream": true, "store": false, "instructions": "Be kind.", "max_output_tokens": 50.0,
		"reasoning": map[string]any{"effort": "low"}, "tools": []any{map[string]any{"type": "web_search"}}, "input": []any{
			map[string]any{"role": "user", "content": "One"},
			map[string]any{"role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": "Two"}, map[string]any{"type": "output_text", "text": "Three"}}},
			map[string]any{"role": "user", "content": []any{map[string]any{"type": "input_text", "text": "Look"}, map[string]any{"type": "input_image", "image_url": "data:image/png;base64,ZG90"}}},
		}}
	if body := sent.json(t); sent.path != "/v1/responses" || !reflect.DeepEqual(body, wantBody) {
		t.Errorf("sent %s %v, wanted %v", sent.path, body, wantBody)
	}
	schema := map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"type": "number"}}, "required": []any{"n"}, "additionalProperties": false}
	if got, err = ask(ChatRequest{Prompt: "?", Schema: schema}, text(`{\"n\": 3}`), responsesEnd); err != nil || got.JSON == nil {
		t.Errorf("by a schema: %+v, %v", got, err)
	}
	format, _ := u.last(t).json(t)["text"].(map[string]any)
	if f, _ := format["format"].(map[string]any); f["type"] != "json_schema" || f["strict"] != true || f["schema"] == nil || f["name"] != "answer" {
		t.Errorf("asked for the format %v", format)
	}
	if got, err = ask(ChatRequest{Prompt: "?"}, text("Lon"), data(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`)); err != nil || got.Stop != "length" {
		t.Errorf("cut off: %+v, %v", got, err)
	}
	for name, c := range map[string]struct {
		events []string
		class  ErrorClass
		says   string
	}{
		"an error":         {[]string{data(`{"type":"error","code":"rate_limit_exceeded","message":"Later","param":null}`)}, ClassRateLimited, "Later"},
		"a failure":        {[]string{data(`{"type":"response.failed","response":{"error":{"code":"server_error","message":"Oops"},"usage":{"input_tokens":3}}}`)}, ClassUnavailable, "Oops"},
		"a refusal":        {[]string{data(`{"type":"response.refusal.done","refusal":"I do not"}`), responsesEnd}, ClassRejected, "I do not"},
		"a content filter": {[]string{data(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`)}, ClassRejected, "content filter"},
		"a cut stream":     {[]string{text("Well")}, ClassUnavailable, "broke off"},
	} {
		_, err := ask(ChatRequest{Prompt: "?"}, c.events...)
		if e := failure(t, err); e.Class != c.class || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if _, err = ask(ChatRequest{Prompt: "?", Stop: []string{"x"}}); failure(t, err).Class != ClassIncompatible {
		t.Errorf("with stop sequences: %v", err)
	}
}

// TestThinkingAdapts asks models of Anthropic of both generations.
func TestThinkingAdapts(t *testing.T) {
	t.Parallel()
	for refused, request := range map[string]ChatRequest{
		"adaptive": {Effort: "medium"},
		"enabled":  {ThinkingBudget: 2000},
	} {
		t.Run(refused, func(t *testing.T) {
			t.Parallel()
			u := setup(t, func(w http.ResponseWriter, r *http.Request) { answerAs(w, r) })
			u.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := make([]byte, 4096)
				n, _ := r.Body.Read(body)
				if strings.Contains(string(body[:n]), `"type":"`+refused+`"`) {
					refuse(400, "invalid_request_error", "thinking.type: '"+refused+"' is not supported by this model")(w, r)
					return
				}
				u.calls = append(u.calls, call{body: body[:n]})
				answerAs(w, r)
			})
			request.Model, request.Prompt = "claude-x", "?"
			if r, err := u.client.Chat(brief(t), u.at("anthropic"), request, nil); err != nil || r.Text != "hi" {
				t.Fatalf("%+v, %v", r, err)
			}
			if thinking, _ := u.last(t).json(t)["thinking"].(map[string]any); thinking["type"] == refused || thinking["type"] == nil {
				t.Errorf("asked with %v", thinking)
			}
		})
	}
}

// TestAzure uses the header and the addresses of Azure, with a version in the query too.
func TestAzure(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"/openai/v1", "/openai/deployments/my-gpt?api-version=2024-10-21"} {
		u := setup(t, answerAs)
		at := u.at("azure")
		at.BaseURL = u.URL + base
		if _, err := u.client.Chat(brief(t), at, ChatRequest{Model: "my-gpt", Prompt: "?"}, nil); err != nil {
			t.Fatal(err)
		}
		path, query, _ := strings.Cut(base, "?")
		if c := u.last(t); c.path != path+"/chat/completions" || c.query != query || c.header.Get("Api-Key") != secret || c.header.Get("Authorization") != "" {
			t.Errorf("asked %s?%s with %v", c.path, c.query, c.header)
		}
	}
	if _, err := setup(t, answerAs).client.Chat(brief(t), Endpoint{Provider: "azure"}, ChatRequest{Model: "m", Prompt: "?"}, nil); !strings.Contains(failure(t, err).Message, "base URL") {
		t.Error(err)
	}
}

func TestSearchIsNotGuessed(t *testing.T) {
	t.Parallel()
	u := setup(t, answerAs)
	for _, p := range []string{"gemini", "openai_compatible", "groq", "ollama"} {
		_, err := u.client.Chat(brief(t), u.at(p), ChatRequest{Model: "m", Prompt: "?", WebSearch: true}, nil)
		if e := failure(t, err); e.Class != ClassIncompatible || !strings.Contains(e.Message, "web search") {
			t.Errorf("%s: %+v", p, e)
		}
	}
	if len(u.asked()) > 0 {
		t.Error("was sent anyway")
	}
}

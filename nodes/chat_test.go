package nodes

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/providers"
)

func TestChat(t *testing.T) {
	t.Parallel()
	t.Run("sends settings and streams the answer", func(t *testing.T) {
		t.Parallel()
		got := &calls{}
		u := ask(map[string]any{
			"model": "openai/gpt-x", "system": "Be {{tone}}.", "prompt": "{{q}} and \\{{this}}", "temperature": number("0.5"), "max_tokens": number("30"),
			"top_p": number("0"), "stop": []any{"\n", ""}, "seed": number("-4"), "reasoning_effort": "low", "thinking_budget": number("2000"), "web_search": true,
			"extra": map[string]any{"top_k": number("5")},
		})
		u.ports = map[string]any{"tone": "kind", "q": "{{tone}}?"}
		r := u.execute(t, Deps{Providers: fakeProviders{got}})
		if r.State != flow.StepSucceeded {
			t.Fatal(r.Error)
		}
		const answer = "You said: {{tone}}? and {{this}}"
		same(t, "outputs", r.Outputs, map[string]any{"text": answer, "finish": "stop", "messages": talk("{{tone}}? and {{this}}", answer)})
		if r.emitted != answer {
			t.Errorf("streamed %q", r.emitted)
		}
		request := got.requests[0].(providers.ChatRequest)
		if *request.Temperature != 0.5 || *request.TopP != 0 || request.MaxTokens != 30 || request.System != "Be kind." || request.Key != "run_1:n" ||
			len(request.Stop) != 1 || request.Stop[0] != "\n" || *request.Seed != -4 || request.Effort != "low" || request.ThinkingBudget != 2000 || !request.WebSearch ||
			flow.Text(request.Extra["top_k"]) != "5" {
			t.Errorf("sent %+v", request)
		}
		if r.Usage.InputTokens != 5 || r.Usage.OutputTokens != 5 {
			t.Errorf("usage %+v", r.Usage)
		}
	})
	t.Run("omits settings that are not set", func(t *testing.T) {
		t.Parallel()
		got := &calls{}
		ask(map[string]any{"model": "openai/gpt-x"}).succeeds(t, Deps{Providers: fakeProviders{got}})
		request := got.requests[0].(providers.ChatRequest)
		if request.Temperature != nil || request.TopP != nil || request.MaxTokens != 0 || request.Stop != nil || request.Schema != nil || request.Images != nil {
			t.Errorf("sent %+v", request)
		}
	})
	for _, c := range []struct {
		name  string
		ports map[string]any
		says  string
	}{
		{"an empty prompt", map[string]any{"prompt": " "}, `"prompt" is empty`},
		{"a temperature out of range", map[string]any{"temperature": number("2.1")}, `"temperature" must be a number from 0 to 2`},
		{"a top_p out of range", map[string]any{"top_p": number("-1")}, `"top_p" must be`},
		{"no tokens", map[string]any{"max_tokens": number("0")}, `"max_tokens" must be a whole number`},
		{"half a token", map[string]any{"max_tokens": number("1.5")}, `"max_tokens" must be a whole number`},
		{"too many stops", map[string]any{"stop": []any{"a", "b", "c", "d", "e"}}, `"stop" has 5`},
		{"an unknown effort", map[string]any{"reasoning_effort": "extreme"}, `"reasoning_effort" must be one of none`},
		{"no budget", map[string]any{"thinking_budget": number("0")}, `"thinking_budget" must be`},
		{"half a seed", map[string]any{"seed": number("0.5")}, `"seed" must be`},
		{"another model in extra", map[string]any{"extra": map[string]any{"model": "x"}}, `it must not set "model"`},
		{"an extra that is no object", map[string]any{"extra": "[1]"}, "wanted a JSON object"},
		{"an invalid schema", map[string]any{"schema": map[string]any{"type": "text"}}, "The schema cannot be used"},
		{"a schema that is no JSON", map[string]any{"schema": "{"}, "The schema cannot be used"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			t.Parallel()
			u, got := ask(map[string]any{"model": "openai/gpt-x"}), &calls{}
			u.ports = c.ports
			has(t, u.fails(t, Deps{Providers: fakeProviders{got}}, flow.CodeInputInvalid).Message, c.says)
			if len(got.requests) > 0 {
				t.Error("the request was sent anyway")
			}
		})
	}
	t.Run("retries with the same idempotency key", func(t *testing.T) {
		t.Parallel()
		busy := &busyOnce{}
		u := ask(map[string]any{"model": "openai/gpt-x"})
		kinds := New(Deps{Providers: busy})
		doc, inputs := u.document(kinds.Find("chat"))
		doc.Nodes[0].Retry = &flow.Retry{Attempts: 2}
		r := runDocument(t, kinds, doc, inputs)
		if r.State != flow.StepSucceeded || len(busy.keys) != 2 || busy.keys[0] != busy.keys[1] || r.Usage.InputTokens == 0 {
			t.Errorf("state %s, error %v, keys %v, usage %+v", r.State, r.Error, busy.keys, r.Usage)
		}
	})
}

// busyOnce returns a rate limit error for the first call.
type busyOnce struct {
	fakeProviders
	keys []string
}

func (b *busyOnce) Chat(ctx context.Context, at providers.Endpoint, r providers.ChatRequest, emit func(string)) (*providers.ChatResult, error) {
	if b.keys = append(b.keys, r.Key); len(b.keys) == 1 {
		return nil, &providers.Error{Class: providers.ClassRateLimited, Message: "OpenAI asks to slow down.", Retryable: true}
	}
	return b.fakeProviders.Chat(ctx, at, r, emit)
}

// talk returns a conversation of one turn.
func talk(prompt, answer string) []any {
	return []any{map[string]any{"role": "user", "content": prompt}, map[string]any{"role": "assistant", "content": answer}}
}

// object returns the JSON Schema of an object.
func object(properties map[string]any) map[string]any {
	return map[string]any{"type": "object", "properties": properties}
}

func kindOf(name string) map[string]any { return map[string]any{"type": name} }

// answering returns the same answer for every schema.
type answering struct {
	fakeProviders
	value any
}

func (a answering) Chat(_ context.Context, _ providers.Endpoint, r providers.ChatRequest, _ func(string)) (*providers.ChatResult, error) {
	result := &providers.ChatResult{Text: string(flow.EncodeJSON(a.value))}
	if r.Schema != nil {
		result.JSON = a.value
	}
	return result, nil
}

func TestChatSchema(t *testing.T) {
	t.Parallel()
	schema := object(map[string]any{
		"answer": map[string]any{"type": "string", "title": "Answer", "description": "What to reply."}, "score": kindOf("number"), "urgent": kindOf("boolean"),
		"tags": kindOf("array"), "maybe": map[string]any{"type": []any{"string", "null"}}, "text": kindOf("string"), "error": kindOf("string"),
	})
	value := map[string]any{"answer": "Tuesday", "score": number("0.9"), "tags": []any{"a"}, "maybe": nil, "text": "own", "error": "own"}
	u := ask(map[string]any{"model": "openai/gpt-x", "schema": schema})
	t.Run("outputs properties as ports", func(t *testing.T) {
		t.Parallel()
		same(t, "outputs", u.succeeds(t, Deps{Providers: answering{value: value}}), map[string]any{
			"text": string(flow.EncodeJSON(value)), "json": value, "answer": "Tuesday", "score": number("0.9"), "tags": []any{"a"}, "maybe": nil, "finish": "",
			"messages": talk("Hello there", string(flow.EncodeJSON(value))),
		})
	})
	t.Run("types its ports", func(t *testing.T) {
		t.Parallel()
		kind := New(Deps{}).For(&flow.Node{Kind: "chat", Config: u.config})
		var got []string
		for _, p := range kind.Outputs {
			got = append(got, p.Name+" "+string(p.Type))
		}
		same(t, "ports", got, []string{"text text", "json json", "finish text", "messages list", "answer text", "maybe json", "score number", "tags list", "urgent boolean"})
		if p := kind.Outputs[4]; p.Title != "Answer" || p.Help != "What to reply." {
			t.Errorf("got %+v", p)
		}
	})
	t.Run("keeps the port of a property named messages", func(t *testing.T) {
		t.Parallel()
		own := ask(map[string]any{"model": "openai/gpt-x", "schema": object(map[string]any{"messages": kindOf("array")})})
		same(t, "messages", own.succeeds(t, Deps{Providers: answering{value: map[string]any{"messages": []any{"a"}}}})["messages"], []any{"a"})
	})
	t.Run("skips nodes connected to a missing property", func(t *testing.T) {
		t.Parallel()
		for from, want := range map[string]flow.StepState{"chat.answer": flow.StepSucceeded, "chat.urgent": flow.StepSkipped} {
			doc := chatTo(u.config, from)
			if r := runDocument(t, New(Deps{Providers: answering{value: value}}), doc, nil); r.State != want {
				t.Errorf("%s: got %s, want %s", from, r.State, want)
			}
		}
	})
	t.Run("outputs json only with a schema", func(t *testing.T) {
		t.Parallel()
		plain := ask(map[string]any{"model": "openai/gpt-x"})
		if r := runDocument(t, New(Deps{Providers: answering{value: value}}), chatTo(plain.config, "chat.json"), nil); r.State != flow.StepSkipped {
			t.Errorf("got %s", r.State)
		}
	})
	t.Run("accepts a schema from an edge", func(t *testing.T) {
		t.Parallel()
		for _, given := range []any{schema, string(flow.EncodeJSON(schema))} {
			by := ask(map[string]any{"model": "openai/gpt-x"})
			by.ports = map[string]any{"schema": given}
			same(t, "json", by.succeeds(t, Deps{Providers: answering{value: value}})["json"], value)
		}
		blank := ask(map[string]any{"model": "openai/gpt-x"})
		blank.ports = map[string]any{"schema": ""}
		if _, given := blank.succeeds(t, Deps{Providers: answering{value: value}})["json"]; given {
			t.Error("an empty text is taken for a schema")
		}
	})
	t.Run("rejects an answer that is not an object", func(t *testing.T) {
		t.Parallel()
		u.fails(t, Deps{Providers: answering{value: "text"}}, flow.CodeOutputInvalid)
	})
	t.Run("validates edges from its ports", func(t *testing.T) {
		t.Parallel()
		kinds := New(Deps{})
		for from, want := range map[string]string{"chat.answer": "", "chat.tags": "", "chat.nothing": "dangling", "chat.error": "dangling"} {
			got := ""
			for _, p := range document.Validate(chatTo(u.config, from), kinds) {
				got += p.Code
			}
			if got != want {
				t.Errorf("%s: got %q, want %q", from, got, want)
			}
		}
	})
	t.Run("checks types of edges from properties", func(t *testing.T) {
		t.Parallel()
		doc := chatTo(u.config, "chat.tags")
		doc.Nodes[1] = flow.Node{ID: "n", Kind: "summarize", Config: map[string]any{}}
		doc.Edges[0].To = "n.text"
		if problems := document.Validate(doc, New(Deps{})); len(problems) != 1 || problems[0].Code != "wrong_type" {
			t.Errorf("got %v", problems)
		}
	})
}

// chatTo returns a flow with a chat node that is connected to an output n.
func chatTo(config map[string]any, from string) *flow.Document {
	return &flow.Document{Schema: flow.Schema, Name: "Test",
		Nodes: []flow.Node{{ID: "chat", Kind: "chat", Config: config}, {ID: "n", Kind: "output", Config: map[string]any{"name": "o"}}},
		Edges: []flow.Edge{{From: from, To: "n.value"}}}
}

func TestChatSchema_rejects_invalid_schema(t *testing.T) {
	t.Parallel()
	large := map[string]any{}
	for i := range 900 {
		large[strings.Repeat("p", 60)+string(flow.Number(i))] = kindOf("string")
	}
	for _, c := range []struct {
		name   string
		schema any
		says   string
	}{
		{"no object", "x", "wanted a JSON Schema of an object"},
		{"a list", []any{}, "wanted a JSON Schema of an object"},
		{"another type", kindOf("array"), "wanted a JSON Schema of an object"},
		{"an empty schema", map[string]any{}, "wanted a JSON Schema of an object"},
		{"a wrong keyword", object(map[string]any{"a": kindOf("words")}), "at /properties/a/type"},
		{"a wrong form", map[string]any{"type": "object", "required": "a"}, "at /required"},
		{"another document", object(map[string]any{"a": map[string]any{"$ref": "https://example.com/s.json"}}), "another document"},
		{"a file", object(map[string]any{"a": map[string]any{"$ref": "file:///etc/passwd"}}), "another document"},
		{"another dialect", map[string]any{"type": "object", "$schema": "https://example.com/dialect"}, "another document"},
		{"a reference to nowhere", object(map[string]any{"a": map[string]any{"$ref": "#/$defs/x"}}), "not a JSON Schema"},
		{"a large one", object(large), "larger than 64 KiB"},
		{"one that never ends", doubling(22), "more than 5,000 parts"},
		{"a pattern that is too long", object(map[string]any{"a": map[string]any{"pattern": strings.Repeat("a", 2000)}}), "longer than 1,000 characters"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			t.Parallel()
			problems := ask(map[string]any{"schema": c.schema}).problems(t)
			if len(problems) != 1 || problems[0].Pointer != "/nodes/0/config/schema" || problems[0].Code != "invalid" {
				t.Fatalf("got %v", problems)
			}
			has(t, problems[0].Detail, c.says)
		})
	}
	t.Run("rejects an invalid schema from an edge before the call", func(t *testing.T) {
		t.Parallel()
		got := &calls{}
		by := ask(map[string]any{"model": "openai/gpt-x"})
		by.ports = map[string]any{"schema": doubling(400)}
		has(t, by.fails(t, Deps{Providers: fakeProviders{got}}, flow.CodeInputInvalid).Message, "The schema cannot be used: it has more than 5,000 parts")
		if len(got.requests) > 0 {
			t.Errorf("asked %v", got.requests)
		}
	})
	t.Run("resolves local references", func(t *testing.T) {
		t.Parallel()
		schema := object(map[string]any{"a": map[string]any{"$ref": "#/$defs/x"}})
		schema["$defs"] = map[string]any{"x": kindOf("string")}
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		if problems := ask(map[string]any{"schema": schema}).problems(t); len(problems) > 0 {
			t.Error(problems)
		}
	})
	t.Run("accepts properties of any form", func(t *testing.T) {
		t.Parallel()
		for _, properties := range []any{nil, "x", []any{}, map[string]any{"": 1, "a": nil, "b": []any{}}} {
			shape := chatPorts(&flow.Node{Config: map[string]any{"schema": map[string]any{"properties": properties}}})
			for _, p := range shape.Outputs {
				if p.Name == "" || p.Type != flow.TypeJSON || p.Help == "" {
					t.Errorf("got %+v", p)
				}
			}
		}
	})
}

// doubling returns a schema in which each level refers to the next one twice, so that
// validation takes twice as long with every level.
func doubling(levels int) map[string]any {
	defs := map[string]any{"l" + strconv.Itoa(levels): kindOf("object")}
	for i := range levels {
		next := map[string]any{"$ref": "#/$defs/l" + strconv.Itoa(i+1)}
		defs["l"+strconv.Itoa(i)] = map[string]any{"allOf": []any{next, next}}
	}
	return map[string]any{"type": "object", "$ref": "#/$defs/l0", "$defs": defs}
}

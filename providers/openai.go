package providers

import (
	"context"
	"sluice/flow/value"
	"sluice/flow/wording"
)

// Finish reasons of results, the same for all wire formats.
const (
	stopEnd    = "stop"
	stopLength = "length"
	stopCalls  = "calls"
	stopPause  = "pause_turn"
)

// answerName is the name of the schema in requests.
const answerName = "answer"

// askOpenAI makes a call of OpenAI's chat completions, which most providers and local
// servers implement. It returns the partial reply together with an error.
func (s *session) askOpenAI(ctx context.Context, talk *conversation, out *textEmitter) (*reply, error) {
	talk.origin = "chat:" + s.preset.Name
	stream, err := s.stream(ctx, s.base.JoinPath("chat/completions").String(), talk.openAIBody(), talk.key())
	if err != nil {
		return nil, err
	}
	defer stream.close()
	return s.readOpenAI(stream, talk, out)
}

// openAIBody returns the body of a chat call. Settings that are not set are left out,
// so the provider's defaults apply. Extra is merged last and can replace anything.
func (c *conversation) openAIBody() map[string]any {
	body := map[string]any{"model": c.Model, "messages": c.openAIMessages(), "stream": true}
	if c.Temperature != nil {
		body["temperature"] = *c.Temperature
	}
	if c.TopP != nil {
		body["top_p"] = *c.TopP
	}
	if c.MaxTokens > 0 {
		body[c.dialect.maxTokens] = c.MaxTokens
	}
	if len(c.Stop) > 0 {
		body["stop"] = c.Stop
	}
	if c.Seed != nil {
		body[c.session.preset.seedField()] = *c.Seed
	}
	c.setThinking(body)
	c.setTools(body)
	if c.agent && !c.use(featStream) {
		body["stream"] = false
	} else if c.dialect.streamUsage {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if format := c.responseFormat(); format != nil {
		body["response_format"] = format
	}
	if c.session.preset.Name == nameOpenRouter {
		body["usage"] = map[string]any{"include": true} // includes the cost
		if c.WebSearch {
			body["plugins"] = []any{map[string]any{"id": "web"}}
		}
	}
	return mergePatch(body, c.Extra)
}

// seedField returns the name of the parameter for the seed.
func (p *Preset) seedField() string {
	if p.Name == nameMistral {
		return "random_seed"
	}
	return "seed"
}

// mergePatch applies a JSON Merge Patch (RFC 7396) to an object.
func mergePatch(target, patch map[string]any) map[string]any {
	for name, v := range patch {
		if v == nil {
			delete(target, name)
		} else if object, ok := value.AsObject(v); ok {
			target[name] = mergeObject(target[name], object)
		} else {
			target[name] = v
		}
	}
	return target
}

// mergeObject applies a patch to a member of an object, which it does not change.
func mergeObject(old any, patch *value.Object) *value.Object {
	merged := &value.Object{}
	if o, ok := value.AsObject(old); ok {
		merged = o.Clone()
	}
	for name, v := range patch.All() {
		if v == nil {
			merged.Delete(name)
		} else if object, ok := value.AsObject(v); ok {
			merged.Set(name, mergeObject(merged.Get(name), object))
		} else {
			merged.Set(name, v)
		}
	}
	return merged
}

// turn returns a message in OpenAI's format. content is a text, or a list of parts.
func turn(role string, content any) map[string]any {
	return map[string]any{"role": role, "content": content}
}

// openAIMessages returns the messages, with the system prompt first and, in a second
// attempt, the invalid answer and the request to correct it last.
func (c *conversation) openAIMessages() []any {
	var list []any
	if system := c.instructions(); system != "" {
		list = append(list, turn("system", c.systemContent(system)))
	}
	for _, m := range c.turns {
		if text, isText := m.plain(); isText {
			list = append(list, turn(m.role, text)) // servers without vision take text only
		} else if m.role == "assistant" && c.agent {
			list = append(list, c.openAICalls(m)...)
		} else {
			list = append(list, c.openAIUser(m)...)
		}
	}
	if c.repair != nil {
		list = append(list, turn("assistant", c.repair.answer), turn("user", c.repair.request()))
	}
	return list
}

// openAIUser returns a message of a user: one for each result, and one for everything else.
func (c *conversation) openAIUser(m message) (list []any) {
	rest := message{role: m.role}
	for _, p := range m.parts {
		if p.result == nil {
			rest.parts = append(rest.parts, p)
			continue
		}
		result := turn("tool", p.result.Text)
		result["tool_call_id"] = c.sentID(p.result.CallID)
		list = append(list, result)
	}
	if text, isText := rest.plain(); isText {
		return append(list, turn(m.role, text))
	} else if len(rest.parts) > 0 {
		list = append(list, turn(m.role, rest.openAIParts()))
	}
	return list
}

// noSignature is Gemini's sign for a call that another model made, which has no signature.
const noSignature = "skip_thought_signature_validator"

// openAICalls returns a message of the model with its calls, or nothing if all of it was opaque.
func (c *conversation) openAICalls(m message) []any {
	parts, members := c.kept(m)
	if len(parts) == 0 {
		return nil
	}
	var calls []any
	for i, p := range parts {
		if p.call != nil {
			calls = append(calls, withMembers(map[string]any{"id": c.sentID(p.call.ID), "type": "function",
				"function": map[string]any{"name": sentName(p.call.Name), "arguments": sentArguments(p.call.Arguments)}}, members[i]))
		}
	}
	answer := turn("assistant", joinedText(parts))
	if len(calls) > 0 && len(members) == 0 && !c.use(featBare) {
		answer["reasoning_content"] = ""
		if c.session.preset.Name == nameGemini {
			delete(answer, "reasoning_content")
			first, _ := calls[0].(map[string]any)
			first["extra_content"] = map[string]any{"google": map[string]any{"thought_signature": noSignature}}
		}
	}
	if len(calls) > 0 {
		if answer["tool_calls"] = calls; answer["content"] == "" {
			answer["content"] = nil
		}
	}
	return []any{withMembers(answer, members[-1])}
}

// setTools sets the tools in OpenAI's format.
func (c *conversation) setTools(body map[string]any) {
	tools := c.tools()
	if len(tools) == 0 {
		return
	}
	list := make([]any, len(tools))
	for i := range tools {
		schema, strict := c.parameters(&tools[i])
		function := map[string]any{"name": tools[i].Name, "parameters": schema}
		if c.session.preset.Name == nameGemini && value.Len(schema.Get("properties")) == 0 {
			delete(function, "parameters") // an object without properties is refused
		}
		if tools[i].Description != "" {
			function["description"] = tools[i].Description
		}
		if strict {
			function["strict"] = true
		}
		list[i] = map[string]any{"type": "function", "function": function}
	}
	body["tools"] = list
	switch choice := c.choice(true); choice {
	case "":
	case ChoiceNone, ChoiceRequired:
		body["tool_choice"] = choice
	default:
		body["tool_choice"] = map[string]any{"type": "function", "function": map[string]any{"name": choice}}
	}
	if !c.Parallel && c.session.preset.Name != nameGemini && c.use(featParallel) {
		body["parallel_tool_calls"] = false
	}
}

// systemContent returns the system prompt. A long one gets a cache mark if the provider passes
// marks on to Anthropic.
func (c *conversation) systemContent(system string) any {
	if c.marks && len(system) >= minCached {
		return []any{cached(system, false)}
	}
	return system
}

// openAIParts returns the texts and pictures of a message in their order. Pictures are
// sent as data URLs, because providers cannot reach files of this server.
func (m message) openAIParts() []any {
	parts := make([]any, len(m.parts))
	for i, p := range m.parts {
		if parts[i] = textBlock(p.text); p.picture != nil {
			parts[i] = map[string]any{"type": "image_url", "image_url": map[string]any{"url": p.picture.dataURL()}}
		}
	}
	return parts
}

// responseFormat returns the setting that asks for JSON in the strictest form that the
// provider supports. It is nil if no schema is set or nothing is supported; then only
// the prompt asks.
func (c *conversation) responseFormat() map[string]any {
	switch {
	case c.form == nil || c.dialect.schema == SchemaNone || c.hidesAnswer():
		return nil
	case c.dialect.schema == SchemaJSON:
		return map[string]any{"type": "json_object"}
	}
	if len(c.offered) > 0 {
		c.sent |= featFormat
	}
	ask := map[string]any{"name": answerName, "schema": c.form.schema, "strict": false}
	if c.form.strict != nil {
		ask["schema"], ask["strict"] = c.form.strict, true
	}
	return map[string]any{"type": "json_schema", "json_schema": ask}
}

// request returns the prompt that asks for a corrected answer.
func (r *repair) request() string {
	return "This answer is not valid: " + wording.Period(r.wrong) + " Answer again with one JSON value that is valid by the schema, and with nothing else."
}

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
)

// answerName is the name of the schema in requests.
const answerName = "answer"

// askOpenAI makes a call of OpenAI's chat completions, which most providers and local
// servers implement. It returns the partial reply together with an error.
func (s *session) askOpenAI(ctx context.Context, talk *conversation, out *textEmitter) (*reply, error) {
	stream, err := s.stream(ctx, s.base.JoinPath("chat/completions").String(), s.openAIBody(talk), talk.key())
	if err != nil {
		return nil, err
	}
	defer stream.close()
	return s.readOpenAI(stream, out)
}

// openAIBody returns the body of a chat call. Settings that are not set are left out,
// so the provider's defaults apply. Extra is merged last and can replace anything.
func (s *session) openAIBody(talk *conversation) map[string]any {
	body := map[string]any{"model": talk.Model, "messages": talk.openAIMessages(), "stream": true}
	if talk.Temperature != nil {
		body["temperature"] = *talk.Temperature
	}
	if talk.TopP != nil {
		body["top_p"] = *talk.TopP
	}
	if talk.MaxTokens > 0 {
		body[talk.dialect.maxTokens] = talk.MaxTokens
	}
	if len(talk.Stop) > 0 {
		body["stop"] = talk.Stop
	}
	if talk.Seed != nil {
		body[s.preset.seedField()] = *talk.Seed
	}
	s.setThinking(body, &talk.ChatRequest)
	if talk.dialect.streamUsage {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if format := talk.responseFormat(); format != nil {
		body["response_format"] = format
	}
	if s.preset.Name == nameOpenRouter {
		body["usage"] = map[string]any{"include": true} // includes the cost
		if talk.WebSearch {
			body["plugins"] = []any{map[string]any{"id": "web"}}
		}
	}
	return mergePatch(body, talk.Extra)
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
		} else {
			list = append(list, turn(m.role, m.openAIParts()))
		}
	}
	if c.repair != nil {
		list = append(list, turn("assistant", c.repair.answer), turn("user", c.repair.request()))
	}
	return list
}

// systemContent returns the system prompt. A long one gets a cache mark if the provider passes
// marks on to Anthropic.
func (c *conversation) systemContent(system string) any {
	if c.marks && len(system) >= minCached {
		return []any{cached(system)}
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
	case c.form == nil || c.dialect.schema == SchemaNone:
		return nil
	case c.dialect.schema == SchemaJSON:
		return map[string]any{"type": "json_object"}
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

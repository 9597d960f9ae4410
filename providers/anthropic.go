package providers

import (
	"cmp"
	"context"
	"sluice/flow/value"
	"strings"
)

// anthropicMaxTokens is sent if a request sets no limit, because the API requires one.
// All current models accept it.
const anthropicMaxTokens = 4096

// askAnthropic sends a conversation to Anthropic's Messages API and reads the streamed answer.
func (s *session) askAnthropic(ctx context.Context, talk *conversation, out *textEmitter) (*reply, error) {
	base := *s.base
	base.Path = strings.TrimSuffix(base.Path, "/v1") // optional in a base URL
	stream, err := s.stream(ctx, base.JoinPath("v1/messages").String(), talk.anthropicBody(), talk.key())
	if err != nil {
		return nil, err
	}
	defer stream.close()
	return s.readAnthropic(stream, out, talk.form != nil && talk.dialect.schema == SchemaStrict)
}

// anthropicBody returns the request. max_tokens is required by this API, so it has a default.
func (c *conversation) anthropicBody() map[string]any {
	body := map[string]any{
		"model": c.Model, "max_tokens": cmp.Or(c.MaxTokens, anthropicMaxTokens), "messages": c.anthropicMessages(), "stream": true,
	}
	c.setAnthropicThinking(body)
	if len(c.Stop) > 0 {
		body["stop_sequences"] = c.Stop
	}
	if system := c.instructions(); system != "" {
		body["system"] = []any{cached(system)}
	}
	if c.Temperature != nil {
		body["temperature"] = *c.Temperature
	}
	if c.TopP != nil {
		body["top_p"] = *c.TopP
	}
	if c.form != nil && c.dialect.schema == SchemaStrict {
		body["tools"] = []any{map[string]any{"name": answerName, "input_schema": c.form.toolSchema()}}
		body["tool_choice"] = map[string]any{"type": "tool", "name": answerName}
	}
	if c.WebSearch {
		body["tools"] = []any{map[string]any{"type": "web_search_20250305", "name": "web_search", "max_uses": maxSearches}}
	}
	return mergePatch(body, c.Extra)
}

// textBlock returns a content block with text.
func textBlock(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

// toolSchema returns the schema as the input schema of the tool that a model is forced to
// use. It is sent unchanged, because tools have no strict mode.
func (f *form) toolSchema() *value.Object {
	schema := f.schema.Clone()
	schema.Delete("$schema")
	schema.Set("type", "object")
	return schema
}

// anthropicMessages returns the turns as messages with content blocks.
func (c *conversation) anthropicMessages() []any {
	var list []any
	for _, m := range c.turns {
		parts := make([]any, len(m.parts))
		for i, p := range m.parts {
			if parts[i] = textBlock(cmp.Or(p.text, "…")); p.picture != nil { // an empty text is refused
				parts[i] = map[string]any{"type": "image", "source": p.picture.anthropicSource()}
			}
		}
		list = append(list, turn(m.role, parts))
	}
	if c.repair != nil {
		answer := cmp.Or(strings.TrimSpace(c.repair.answer), "…") // an empty text is refused
		list = append(list, turn("assistant", []any{textBlock(answer)}), turn("user", []any{textBlock(c.repair.request())}))
	}
	return list
}

// anthropicSource returns the source of an image block: a URL, or the content in base64.
func (p picture) anthropicSource() map[string]any {
	if p.url != "" {
		return map[string]any{"type": "url", "url": p.url}
	}
	return map[string]any{"type": "base64", "media_type": p.mime, "data": p.data}
}

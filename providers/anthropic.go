package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sluice/flow/value"
)

// anthropicMaxTokens is sent if a request sets no limit, because the API requires one.
// All current models accept it.
const anthropicMaxTokens = 4096

// TurnMaxTokens is that limit for requests with tools, because 4,096 cuts arguments of calls. Older
// models refuse it and get the other one.
const TurnMaxTokens = 16384

// anthropicLimit returns the limit on tokens without thinking.
func (c *conversation) anthropicLimit() int {
	switch {
	case c.MaxTokens > 0:
		return c.MaxTokens
	case len(c.offered) > 0 && c.use(featRoom):
		return TurnMaxTokens
	}
	return anthropicMaxTokens
}

// maxPauses bounds how often one answer is continued after the provider paused it.
const maxPauses = 5

// askAnthropic sends a conversation to Anthropic's Messages API and reads the streamed answer. An
// answer of Turn that the provider paused, as it does with long searches, is continued.
func (s *session) askAnthropic(ctx context.Context, talk *conversation, out *textEmitter) (*reply, error) {
	talk.origin, talk.paused = "anthropic:"+s.preset.Name, nil
	var before reply
	for range maxPauses {
		r, err := s.askAnthropicOnce(ctx, talk, out)
		if talk.paused != nil {
			if r == nil {
				r = &reply{}
			}
			r.usage.add(before.usage)
			r.items = append(before.items, r.items...)
		}
		if err != nil || r.stop != stopPause {
			return r, err
		}
		r.usage.Incomplete = r.usage.Incomplete || !r.billed
		before, talk.paused, out.called = *r, r.items, true
	}
	return &before, s.unfinished(&before, finishUnusable)
}

// askAnthropicOnce makes one request of askAnthropic.
func (s *session) askAnthropicOnce(ctx context.Context, talk *conversation, out *textEmitter) (*reply, error) {
	base := *s.base
	base.Path = strings.TrimSuffix(base.Path, "/v1") // optional in a base URL
	stream, err := s.stream(ctx, base.JoinPath("v1/messages").String(), talk.anthropicBody(), talk.key())
	if err != nil {
		return nil, err
	}
	defer stream.close()
	return s.readAnthropic(stream, talk, out)
}

// anthropicBody returns the request. max_tokens is required by this API, so it has a default.
func (c *conversation) anthropicBody() map[string]any {
	body := map[string]any{
		"model": c.Model, "max_tokens": c.anthropicLimit(), "messages": c.anthropicMessages(), "stream": !c.agent || c.use(featStream),
	}
	c.setAnthropicThinking(body)
	if len(c.Stop) > 0 {
		body["stop_sequences"] = c.Stop
	}
	if system := c.instructions(); system != "" {
		body["system"] = []any{cached(system, c.agent)}
	}
	if c.Temperature != nil {
		body["temperature"] = *c.Temperature
	}
	if c.TopP != nil {
		body["top_p"] = *c.TopP
	}
	c.setAnthropicTools(body)
	return mergePatch(body, c.Extra)
}

// setAnthropicTools sets the tools and the format of the answer, which without tools is that of a
// tool that the model must call.
func (c *conversation) setAnthropicTools(body map[string]any) {
	var tools []any
	for _, t := range c.tools() {
		schema, strict := c.parameters(&t)
		tool := map[string]any{"name": t.Name, "input_schema": schema}
		if t.Description != "" {
			tool["description"] = t.Description
		}
		if strict {
			tool["strict"] = true
		}
		tools = append(tools, tool)
	}
	if c.forcesAnswer() {
		tools = []any{map[string]any{"name": answerName, "input_schema": c.form.toolSchema()}}
		body["tool_choice"] = map[string]any{"type": "tool", "name": answerName}
	}
	if c.WebSearch {
		tools = append(tools, map[string]any{"type": "web_search_20250305", "name": "web_search", "max_uses": maxSearches})
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	if len(c.offered) == 0 {
		return
	}
	if body["system"] == nil {
		tools[len(tools)-1].(map[string]any)["cache_control"] = ephemeral()
	}
	if choice := c.anthropicChoice(); choice != nil {
		body["tool_choice"] = choice
	}
	if c.form != nil && c.dialect.schema == SchemaStrict && !c.hidesAnswer() {
		config, _ := body["output_config"].(map[string]any)
		if config == nil {
			config = map[string]any{}
		}
		config["format"] = map[string]any{"type": "json_schema", "schema": c.form.strict}
		body["output_config"] = config
		c.sent |= featFormat
	}
}

// forcesAnswer reports whether the answer on Anthropic's wire is the input of a tool.
func (c *conversation) forcesAnswer() bool {
	return c.form != nil && c.dialect.schema == SchemaStrict && len(c.offered) == 0
}

// anthropicChoice returns the choice of the tool, or nil. With thinking none can be forced.
func (c *conversation) anthropicChoice() map[string]any {
	choice := map[string]any{"type": "auto"}
	switch name := c.choice(!c.anthropicThinks()); name {
	case "":
	case ChoiceNone:
		return map[string]any{"type": "none"}
	case ChoiceRequired:
		choice["type"] = "any"
	default:
		choice["type"], choice["name"] = "tool", name
	}
	if !c.Parallel && c.use(featParallel) {
		choice["disable_parallel_tool_use"] = true
	} else if choice["type"] == "auto" {
		return nil
	}
	return choice
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

// anthropicMessages returns the turns as messages with content blocks. The end of the last two
// messages of the user is marked for the cache: the next turn finds the one that is now last.
func (c *conversation) anthropicMessages() []any {
	var list []any
	turns, marks := c.turns, 2
	if c.paused != nil {
		turns = append(slices.Clip(turns), message{role: "assistant"})
		for i := range c.paused {
			_, p, _ := c.readItem(context.Background(), &c.paused[i], nil) // an answer has no pictures
			turns[len(turns)-1].parts = append(turns[len(turns)-1].parts, p)
		}
	}
	if !c.agent {
		marks = 0
	}
	for i := len(turns) - 1; i >= 0; i-- {
		blocks := c.anthropicBlocks(turns[i])
		if len(blocks) == 0 {
			continue
		}
		if turns[i].role == "user" && marks > 0 {
			blocks[len(blocks)-1].(map[string]any)["cache_control"] = ephemeral()
			marks--
		}
		list = append(list, turn(turns[i].role, blocks))
	}
	slices.Reverse(list)
	if c.repair != nil {
		answer := cmp.Or(strings.TrimSpace(c.repair.answer), "…") // an empty text is refused
		list = append(list, turn("assistant", []any{textBlock(answer)}), turn("user", []any{textBlock(c.repair.request())}))
	}
	return list
}

// anthropicBlocks returns a message as content blocks.
func (c *conversation) anthropicBlocks(m message) (blocks []any) {
	parts := m.parts
	if c.agent && m.role == "assistant" {
		if parts, _ = c.kept(m); len(parts) == 0 && !isOpaque(m) {
			parts = m.parts // only blank text
		}
	}
	for _, p := range parts {
		switch {
		case p.picture != nil:
			blocks = append(blocks, map[string]any{"type": "image", "source": p.picture.anthropicSource()})
		case p.opaque != nil:
			blocks = append(blocks, p.opaque.Raw)
		case p.call != nil:
			blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.sentID(p.call.ID), "name": sentName(p.call.Name), "input": json.RawMessage(sentArguments(p.call.Arguments))})
		case p.result != nil:
			result := map[string]any{"type": "tool_result", "tool_use_id": c.sentID(p.result.CallID)}
			if p.result.Text != "" {
				result["content"] = p.result.Text
			}
			if p.result.Error {
				result["is_error"] = true
			}
			blocks = append(blocks, result)
		default:
			blocks = append(blocks, textBlock(cmp.Or(p.text, "…"))) // an empty text is refused
		}
	}
	return blocks
}

// isOpaque reports whether a message has parts that only its provider understands.
func isOpaque(m message) bool {
	return slices.ContainsFunc(m.parts, func(p part) bool { return p.opaque != nil })
}

// anthropicSource returns the source of an image block: a URL, or the content in base64.
func (p picture) anthropicSource() map[string]any {
	if p.url != "" {
		return map[string]any{"type": "url", "url": p.url}
	}
	return map[string]any{"type": "base64", "media_type": p.mime, "data": p.data}
}

package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"strings"
)

// anthropicMaxTokens is sent if a request sets no limit, because the API requires one.
// All current models accept it.
const anthropicMaxTokens = 4096

// askAnthropic sends a conversation to Anthropic's Messages API and reads the streamed answer.
func (s *session) askAnthropic(ctx context.Context, talk *conversation, out *outlet) (*reply, error) {
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
func (f *form) toolSchema() map[string]any {
	schema := maps.Clone(f.schema)
	delete(schema, "$schema")
	schema["type"] = "object"
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

// anthropicEvent holds the fields of all event types that are used.
type anthropicEvent struct {
	Type    string `json:"type"`
	Message struct {
		Model string         `json:"model"`
		Usage anthropicUsage `json:"usage"`
	} `json:"message"`
	Delta struct {
		Text        texts  `json:"text"`
		PartialJSON texts  `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
		StopDetails struct {
			Explanation string `json:"explanation"`
		} `json:"stop_details"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

// anthropicUsage counts tokens. Unlike OpenAI's, InputTokens excludes the tokens read from
// and written to the cache; the total input is the sum of the three.
type anthropicUsage struct {
	InputTokens   count        `json:"input_tokens"`
	CacheCreation count        `json:"cache_creation_input_tokens"`
	CacheRead     count        `json:"cache_read_input_tokens"`
	OutputTokens  count        `json:"output_tokens"`
	Cached        tokenDetails `json:"cache_creation"`
	Details       tokenDetails `json:"output_tokens_details"`
	Tools         struct {
		Searches count `json:"web_search_requests"`
	} `json:"server_tool_use"`
}

// anthropicStream is the state of a streamed answer.
type anthropicStream struct {
	reply
	form    bool // the answer is the input of a tool; other text is ignored
	refusal string
	ended   bool
}

// readAnthropic reads the stream to its end. The answer is complete once the stop reason has
// arrived, even if the connection breaks afterwards.
func (s *session) readAnthropic(stream *events, out *outlet, form bool) (*reply, error) {
	got := anthropicStream{form: form}
	for !got.ended && stream.next() {
		if err := s.takeAnthropic(&got, stream.data, out); err != nil {
			return &got.reply, err
		}
	}
	whole := got.ended || got.stop != "" || got.refusal != ""
	if stream.err != nil && !whole {
		return &got.reply, s.streamFailed(stream.err)
	}
	got.text = out.end()
	return s.ended(&got.reply, whole, got.refusal)
}

// takeAnthropic handles one event of the stream.
func (s *session) takeAnthropic(got *anthropicStream, data []byte, out *outlet) error {
	var event anthropicEvent
	if json.Unmarshal(data, &event) != nil {
		return s.notUnderstood()
	}
	switch event.Type {
	case "error":
		return s.refusedInStream(data)
	case "message_start":
		u := event.Message.Usage
		got.model = event.Message.Model
		got.usage.InputTokens = int64(u.InputTokens + u.CacheCreation + u.CacheRead)
		got.usage.OutputTokens = int64(u.OutputTokens)
		got.usage.CacheRead, got.usage.CacheWrite = int64(u.CacheRead), int64(u.CacheCreation)
		got.usage.CacheWriteHour = min(int64(u.Cached.Hour), got.usage.CacheWrite)
	case "content_block_delta":
		if got.form {
			return out.write(string(event.Delta.PartialJSON))
		}
		return out.write(string(event.Delta.Text))
	case "message_delta":
		got.finish(&event)
	case "message_stop":
		got.ended = true
	}
	return nil // pings and unknown event types
}

// finish records the stop reason and the final token counts.
func (got *anthropicStream) finish(event *anthropicEvent) {
	got.usage.OutputTokens = cmp.Or(int64(event.Usage.OutputTokens), got.usage.OutputTokens)
	got.usage.Reasoning = int64(event.Usage.Details.Thinking)
	got.usage.Searches = int64(event.Usage.Tools.Searches)
	switch reason := event.Delta.StopReason; reason {
	case "end_turn", "stop_sequence", "tool_use":
		got.stop = stopEnd
	case "max_tokens", "model_context_window_exceeded":
		got.stop = stopLength
	case "refusal":
		got.refusal = cmp.Or(event.Delta.StopDetails.Explanation, "its safety rules do not allow it")
	case "":
	default:
		got.stop = reason
	}
}

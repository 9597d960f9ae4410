package providers

import (
	"context"
	"encoding/json"
	"maps"
	"math"

	"github.com/tidwall/gjson"
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
func (s *session) askOpenAI(ctx context.Context, talk *conversation, out *outlet) (*reply, error) {
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
	for name, value := range patch {
		object, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(target, name)
		case isObject:
			below := map[string]any{}
			if old, ok := target[name].(map[string]any); ok {
				below = maps.Clone(old)
			}
			target[name] = mergePatch(below, object)
		default:
			target[name] = value
		}
	}
	return target
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
	return "This answer is not valid: " + sentenceEnd(r.wrong) + " Answer again with one JSON value that is valid by the schema, and with nothing else."
}

// openAIChunk holds the fields of an event that are used. Servers send null for missing ones.
type openAIChunk struct {
	Error   any    `json:"error"`
	Model   string `json:"model"`
	Choices []struct {
		Index        int    `json:"index"`
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			Content texts  `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"delta"`
	} `json:"choices"`
	Usage *openAIUsage `json:"usage"`
}

// openAIUsage has the token counts of a response. Providers use different names for
// cached tokens, so several fields are read.
type openAIUsage struct {
	PromptTokens     count           `json:"prompt_tokens"`
	CompletionTokens count           `json:"completion_tokens"`
	Cost             json.RawMessage `json:"cost"`
	Prompt           tokenDetails    `json:"prompt_tokens_details"`
	CacheHit         count           `json:"prompt_cache_hit_tokens"` // DeepSeek
	Completion       tokenDetails    `json:"completion_tokens_details"`
}

// tokenDetails is the breakdown of a token count. OpenAI and Anthropic have different parts.
type tokenDetails struct {
	Cached, Write, Reasoning, Hour, Thinking count
}

// UnmarshalJSON never fails, for the same reason as that of count.
func (d *tokenDetails) UnmarshalJSON(data []byte) error {
	for name, n := range map[string]*count{
		"cached_tokens": &d.Cached, "cache_write_tokens": &d.Write, "reasoning_tokens": &d.Reasoning,
		"ephemeral_1h_input_tokens": &d.Hour, "thinking_tokens": &d.Thinking,
	} {
		if v := gjson.GetBytes(data, name); v.Exists() {
			_ = n.UnmarshalJSON([]byte(v.Raw))
		}
	}
	return nil
}

// texts is a text, or the text parts of a list: reasoning models of Mistral send their
// thoughts as parts of another type. Its bytes are kept unchanged, because some servers
// split characters between chunks.
type texts string

// UnmarshalJSON never fails: a value that is not text counts as empty.
func (t *texts) UnmarshalJSON(data []byte) error {
	value := gjson.ParseBytes(data)
	if value.Type == gjson.String {
		*t = texts(value.Str)
	}
	for _, part := range value.Array() {
		*t += texts(part.Get("text").Str)
	}
	return nil
}

// count is a token count; any positive JSON number below 1e15, otherwise 0.
type count int64

// UnmarshalJSON never fails: an invalid count must not discard a paid answer.
func (n *count) UnmarshalJSON(data []byte) error {
	var f float64
	if json.Unmarshal(data, &f) == nil && f > 0 && f < 1e15 {
		*n = count(f)
	}
	return nil
}

// openAIStream is the state of a streamed answer.
type openAIStream struct {
	reply
	refusal string
	ended   bool // the model has finished; only usage follows
}

// readOpenAI reads the stream of a response. If it ends without "[DONE]" or a finish
// reason, it was cut off, and the reply so far is returned with an error.
func (s *session) readOpenAI(stream *events, out *outlet) (*reply, error) {
	var got openAIStream
	for stream.next() {
		if string(trimmed(stream.data)) == "[DONE]" {
			got.ended = true
			break
		}
		if err := s.takeOpenAI(&got, stream.data, out); err != nil {
			return &got.reply, err
		}
	}
	if stream.err != nil && !got.ended {
		return &got.reply, s.streamFailed(stream.err)
	}
	got.text = out.end()
	return s.ended(&got.reply, got.ended, got.refusal)
}

// takeOpenAI adds a chunk to the reply and emits its text. Providers can send an error
// in the middle of a stream, after the status 200.
func (s *session) takeOpenAI(got *openAIStream, data []byte, out *outlet) error {
	var chunk openAIChunk
	if json.Unmarshal(data, &chunk) != nil {
		return s.notUnderstood()
	}
	if chunk.Error != nil && chunk.Error != "" {
		return s.refusedInStream(data)
	}
	if chunk.Model != "" {
		got.model = chunk.Model
	}
	if chunk.Usage != nil {
		got.usage = s.openAIUsage(chunk.Usage)
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // only one choice was requested
		}
		if choice.FinishReason != "" {
			got.stop, got.ended = choice.FinishReason, true
		}
		got.refusal += choice.Delta.Refusal
		if err := out.write(string(choice.Delta.Content)); err != nil {
			return err
		}
	}
	return nil
}

// openAIUsage converts usage, and the cost if the provider reports one: OpenRouter in
// usage.cost, Perplexity in usage.cost.total_cost, both in dollars.
func (s *session) openAIUsage(u *openAIUsage) Usage {
	usage := Usage{InputTokens: int64(u.PromptTokens), OutputTokens: int64(u.CompletionTokens)}
	usage.CacheRead = min(int64(max(u.Prompt.Cached, u.CacheHit)), usage.InputTokens)
	usage.CacheWrite = min(int64(u.Prompt.Write), usage.InputTokens-usage.CacheRead)
	usage.Reasoning = int64(u.Completion.Reasoning)
	if s.preset.Name == "xai" { // xAI counts reasoning separately from the answer
		usage.OutputTokens += usage.Reasoning
	}
	usage.Reasoning = min(usage.Reasoning, usage.OutputTokens)
	var dollars float64
	switch s.preset.Name {
	case nameOpenRouter:
		usage.CostKnown = json.Unmarshal(u.Cost, &dollars) == nil && len(u.Cost) > 0
	case namePerplexity:
		var cost struct {
			Total float64 `json:"total_cost"`
		}
		_ = json.Unmarshal(u.Cost, &cost)
		dollars, usage.CostKnown = cost.Total, cost.Total > 0
	}
	if usage.CostKnown = usage.CostKnown && dollars >= 0 && dollars < 1e6; usage.CostKnown { // larger values are implausible
		usage.CostNanoUSD = int64(math.Round(dollars * 1e9))
	}
	return usage
}

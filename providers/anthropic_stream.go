package providers

import (
	"cmp"
	"encoding/json"

	"sluice/flow/value"
)

// anthropicEvent holds the fields of all event types that are used.
type anthropicEvent struct {
	Type    word             `json:"type"`
	Message anthropicMessage `json:"message"`
	Index   count            `json:"index"`
	Block   json.RawMessage  `json:"content_block"`
	Delta   struct {
		Text        texts           `json:"text"`
		PartialJSON texts           `json:"partial_json"`
		Thinking    texts           `json:"thinking"`
		Signature   texts           `json:"signature"`
		StopReason  word            `json:"stop_reason"`
		StopDetails json.RawMessage `json:"stop_details"`
	} `json:"delta"`
	Usage anthropicUsage `json:"usage"`
}

// anthropicMessage is an answer: whole if it is not streamed, else without its content.
type anthropicMessage struct {
	Model       word              `json:"model"`
	Content     []json.RawMessage `json:"content"`
	StopReason  word              `json:"stop_reason"`
	StopDetails json.RawMessage   `json:"stop_details"`
	Usage       anthropicUsage    `json:"usage"`
}

// anthropicUsage counts tokens. Unlike OpenAI's, InputTokens excludes the tokens read from
// and written to the cache; the total input is the sum of the three.
type anthropicUsage struct {
	InputTokens   count           `json:"input_tokens"`
	CacheCreation count           `json:"cache_creation_input_tokens"`
	CacheRead     count           `json:"cache_read_input_tokens"`
	OutputTokens  count           `json:"output_tokens"`
	Cached        tokenDetails    `json:"cache_creation"`
	Details       tokenDetails    `json:"output_tokens_details"`
	Tools         json.RawMessage `json:"server_tool_use"`
	Tier          word            `json:"service_tier"`
}

// merge takes over the counts that a later event has. They are totals. Some servers send the
// input only at the end.
func (u *anthropicUsage) merge(later *anthropicUsage) {
	u.InputTokens = cmp.Or(later.InputTokens, u.InputTokens)
	u.CacheCreation = cmp.Or(later.CacheCreation, u.CacheCreation)
	u.CacheRead = cmp.Or(later.CacheRead, u.CacheRead)
	u.OutputTokens = cmp.Or(later.OutputTokens, u.OutputTokens)
	u.Cached.Hour = cmp.Or(later.Cached.Hour, u.Cached.Hour)
	u.Details.Thinking = cmp.Or(later.Details.Thinking, u.Details.Thinking)
	u.Tier = cmp.Or(later.Tier, u.Tier)
	if len(later.Tools) > 0 {
		u.Tools = later.Tools
	}
}

// usage converts the counts.
func (u *anthropicUsage) usage() Usage {
	searches := value.Raw(u.Tools).Get("web_search_requests").Int()
	return Usage{
		InputTokens: int64(u.InputTokens + u.CacheCreation + u.CacheRead), OutputTokens: int64(u.OutputTokens),
		CacheRead: int64(u.CacheRead), CacheWrite: int64(u.CacheCreation), CacheWriteHour: min(int64(u.Cached.Hour), int64(u.CacheCreation)),
		Reasoning: int64(u.Details.Thinking), Searches: max(searches, 0), Tier: string(u.Tier),
	}
}

// anthropicStream is the state of an answer.
type anthropicStream struct {
	reply
	counts  anthropicUsage
	form    bool            // the answer is the input of a tool
	input   json.RawMessage // of the tool, if it came with the start of its block
	aside   []byte          // text beside the tool
	refusal string
	ended   bool

	agent  bool // calls and thinking count
	blocks []*anthropicBlock
}

// readAnthropic reads an answer to its end, streamed or not. It is complete once the stop
// reason has arrived, even if the connection breaks afterwards.
func (s *session) readAnthropic(stream *events, talk *conversation, out *textEmitter) (*reply, error) {
	got := anthropicStream{form: talk.forcesAnswer(), agent: talk.agent}
	for !got.ended && stream.next() {
		err := s.takeAnthropic(&got, stream.data, out)
		if got.usage = got.counts.usage(); err != nil {
			return &got.reply, err
		}
		if got.stop != "" {
			stream.linger(s.lingerUsage)
		}
	}
	whole := got.ended || stream.done || got.stop != "" || got.refusal != ""
	if stream.err != nil && !whole {
		return &got.reply, stream.err
	}
	if err := got.useBlocks(out); err != nil {
		return &got.reply, err
	}
	got.text = out.end()
	if got.agent {
		got.items = got.anthropicItems(talk)
	}
	if got.agent && got.stop == stopPause && whole {
		got.whole = true
		return &got.reply, nil
	}
	return s.ended(stream, &got.reply, whole, got.refusal)
}

// useBlocks takes the answer from elsewhere if no input of the tool was streamed: from the
// start of its block, or from the text of a model that did not use the tool.
func (got *anthropicStream) useBlocks(out *textEmitter) error {
	if !got.form || out.hasText() {
		return nil
	}
	if len(got.input) > 0 {
		return out.write(string(got.input))
	}
	return out.write(string(got.aside))
}

// takeAnthropic handles one event of the stream, or a whole message.
func (s *session) takeAnthropic(got *anthropicStream, data []byte, out *textEmitter) error {
	var event anthropicEvent
	if json.Unmarshal(data, &event) != nil {
		return s.notUnderstood()
	}
	switch event.Type {
	case "message":
		return s.takeMessage(got, data, out)
	case "message_start":
		got.model = string(event.Message.Model)
		got.counts.merge(&event.Message.Usage)
		return got.takeBlocks(event.Message.Content, out)
	case "content_block_start":
		return got.takeBlock(int(event.Index), event.Block, out)
	case "content_block_delta":
		if err := got.addDelta(&event, out); err != nil {
			return err
		}
		if got.form {
			got.aside = append(got.aside, event.Delta.Text...)
			return out.write(string(event.Delta.PartialJSON))
		}
		return out.write(string(event.Delta.Text))
	case "message_delta":
		got.counts.merge(&event.Usage)
		got.finish(event.Delta.StopReason, event.Delta.StopDetails, event.Usage.OutputTokens > 0)
	case "message_stop":
		got.ended = true
	}
	return nil // pings and unknown event types
}

// takeMessage handles an answer that is not streamed.
func (s *session) takeMessage(got *anthropicStream, data []byte, out *textEmitter) error {
	var message anthropicMessage
	if json.Unmarshal(data, &message) != nil {
		return s.notUnderstood()
	}
	got.model, got.ended = string(message.Model), true
	got.counts.merge(&message.Usage)
	got.finish(message.StopReason, message.StopDetails, message.Usage.OutputTokens > 0)
	return got.takeBlocks(message.Content, out)
}

// takeBlocks adds content blocks.
func (got *anthropicStream) takeBlocks(blocks []json.RawMessage, out *textEmitter) error {
	for i, block := range blocks {
		if err := got.takeBlock(i, block, out); err != nil {
			return err
		}
	}
	return nil
}

// takeBlock adds what a content block has from its start: usually nothing, as deltas follow.
func (got *anthropicStream) takeBlock(index int, data json.RawMessage, out *textEmitter) error {
	block := value.Raw(data).Members()
	if got.agent {
		got.blocks = append(got.blocks, &anthropicBlock{index: index, start: data, kind: block["type"].Text(), text: []byte(unquote(block["text"]))})
		if out.called = out.called || block["type"].Text() == "tool_use"; out.count(len(data)) != nil {
			return out.count(0)
		}
	}
	switch kind, input := block["type"].Text(), block["input"]; {
	case kind == "tool_use" && input.IsFilled():
		got.input = json.RawMessage(input)
	case kind != "text":
	case got.form:
		got.aside = append(got.aside, unquote(block["text"])...)
	default:
		return out.write(unquote(block["text"]))
	}
	return nil
}

// finish records the stop reason. The stop reason tool_use is fine only if an answer was asked
// for as the input of a tool. billed means that the counts are final.
func (got *anthropicStream) finish(reason word, details json.RawMessage, billed bool) {
	got.billed = got.billed || billed
	switch {
	case reason == "end_turn", reason == "stop_sequence", reason == "tool_use" && got.form:
		got.stop = stopEnd
	case reason == "max_tokens", reason == "model_context_window_exceeded":
		got.stop = stopLength
	case reason == "refusal":
		got.refusal = cmp.Or(value.Raw(details).Get("explanation").Text(), "its safety rules do not allow it")
	case reason != "":
		got.stop = string(reason)
	}
}

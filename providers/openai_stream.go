package providers

import (
	"encoding/json"

	"sluice/flow/value"
)

// openAIChunk holds the fields of an event that are used, and those of an answer that is not
// streamed, which has a message instead of a delta. Servers send null for missing ones.
type openAIChunk struct {
	Model       word            `json:"model"`
	ServiceTier word            `json:"service_tier"`
	Usage       json.RawMessage `json:"usage"`
	Choices     []openAIChoice  `json:"choices"`
	Groq        struct {
		Usage json.RawMessage `json:"usage"`
	} `json:"x_groq"`
}

// openAIChoice is a part of one answer. Only one is requested.
type openAIChoice struct {
	Index        count           `json:"index"`
	FinishReason word            `json:"finish_reason"`
	Delta        *openAIMessage  `json:"delta"`
	Message      *openAIMessage  `json:"message"`
	Usage        json.RawMessage `json:"usage"` // Moonshot
}

// openAIMessage is an answer, or a part of it.
type openAIMessage struct {
	Content   texts             `json:"content"`
	Refusal   word              `json:"refusal"`
	Calls     []openAICall      `json:"tool_calls"`
	Reasoning texts             `json:"reasoning_content"` // DeepSeek and others
	Details   []json.RawMessage `json:"reasoning_details"` // OpenRouter
	Extra     json.RawMessage   `json:"extra_content"`     // Gemini
}

// openAIStream is the state of an answer.
type openAIStream struct {
	reply
	refusal string
	ended   bool // the model has finished; only usage follows

	agent     bool              // calls and reasoning count
	output    []json.RawMessage // of the Responses API
	calls     callJoiner
	reasoning reasoning
}

// readOpenAI reads an answer, streamed or not. If a stream ends without "[DONE]" or a finish
// reason, it was cut off, and the reply so far is returned with an error.
func (s *session) readOpenAI(stream *events, talk *conversation, out *textEmitter) (*reply, error) {
	got := openAIStream{agent: talk.agent}
	for stream.next() {
		if err := s.takeOpenAI(&got, stream, out); err != nil {
			return &got.reply, err
		}
	}
	if stream.err != nil && !got.ended {
		return &got.reply, stream.err
	}
	got.text = out.end()
	if talk.agent {
		got.items = got.openAIItems(talk)
	}
	return s.ended(stream, &got.reply, got.ended || stream.done, got.refusal)
}

// takeOpenAI adds a chunk to the reply and emits its text.
func (s *session) takeOpenAI(got *openAIStream, stream *events, out *textEmitter) error {
	var chunk openAIChunk
	if json.Unmarshal(stream.data, &chunk) != nil {
		return s.notUnderstood()
	}
	if chunk.Model != "" {
		got.model = string(chunk.Model)
	}
	if chunk.ServiceTier != "" {
		got.usage.Tier = string(chunk.ServiceTier)
	}
	for _, usage := range []json.RawMessage{chunk.Groq.Usage, chunk.Usage} {
		s.setUsage(&got.reply, usage)
	}
	for i := range chunk.Choices {
		if choice := &chunk.Choices[i]; choice.Index == 0 {
			if err := s.takeChoice(got, choice, out); err != nil {
				return err
			}
		}
	}
	switch {
	case got.ended && got.billed:
		stream.linger(s.lingerUsage)
	case got.ended:
		stream.linger(s.lingerEnd)
	}
	return nil
}

// takeChoice adds the text of a choice. Perplexity repeats the whole message beside each delta,
// and others after the last one, so a message counts only before any text.
func (s *session) takeChoice(got *openAIStream, choice *openAIChoice, out *textEmitter) error {
	s.setUsage(&got.reply, choice.Usage)
	if choice.FinishReason != "" {
		got.stop, got.ended = string(choice.FinishReason), true
	}
	message := choice.Delta
	if message == nil && out.size() == 0 {
		message = choice.Message
	}
	if message == nil {
		return nil
	}
	got.refusal += string(message.Refusal)
	if got.agent {
		n := got.reasoning.add(message)
		for i := range message.Calls {
			n += got.calls.add(&message.Calls[i])
			out.called = true
		}
		if err := out.count(n); err != nil {
			return err
		}
	}
	return out.write(string(message.Content))
}

// openAIItems returns the answer as items: what must be sent back, the text, the calls.
func (got *openAIStream) openAIItems(talk *conversation) (list []Item) {
	if members := got.reasoning.members(); members != nil {
		list = append(list, talk.opaque(ofMessage, members))
	}
	if got.text != "" {
		list = append(list, Item{Type: ItemText, Role: "assistant", Text: got.text})
	}
	return append(list, got.calls.items(talk)...)
}

// reasoning is what a provider wants back with the message of the model.
type reasoning struct {
	text    []byte
	details []map[string]json.RawMessage
	extra   json.RawMessage
}

// add adds the reasoning of a chunk and returns the number of its bytes.
func (r *reasoning) add(m *openAIMessage) (n int) {
	r.text = append(r.text, m.Reasoning...)
	n = len(m.Reasoning)
	for _, d := range m.Details {
		n += len(d)
		var detail map[string]json.RawMessage
		if json.Unmarshal(d, &detail) != nil || detail == nil {
			continue
		}
		if last := len(r.details) - 1; last >= 0 && sameDetail(r.details[last], detail) {
			joinDetail(r.details[last], detail)
		} else {
			r.details = append(r.details, detail)
		}
	}
	if value.Raw(m.Extra).IsFilled() {
		r.extra = m.Extra
	}
	return n + len(m.Extra)
}

// sameDetail reports whether two fragments belong to the same detail.
func sameDetail(a, b map[string]json.RawMessage) bool {
	return string(a["type"]) == string(b["type"]) && string(a["index"]) == string(b["index"]) && b["data"] == nil
}

// joinDetail adds a fragment to a detail: its texts are continued, other members replaced.
func joinDetail(detail, more map[string]json.RawMessage) {
	for name, v := range more {
		if string(v) == "null" {
			continue
		}
		if name == "text" || name == "summary" {
			v, _ = json.Marshal(wellFormed(unquote(value.Raw(detail[name])) + unquote(value.Raw(v))))
		}
		detail[name] = v
	}
}

// members returns the members of the message to send back, or nil.
func (r *reasoning) members() map[string]any {
	m := map[string]any{}
	if len(r.text) > 0 {
		m["reasoning_content"] = wellFormed(string(r.text))
	}
	if len(r.details) > 0 {
		m["reasoning_details"] = r.details
	}
	if len(r.extra) > 0 {
		m["extra_content"] = r.extra
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

package providers

import (
	"encoding/json"
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

// openAIMessage is the text of an answer, or a part of it.
type openAIMessage struct {
	Content texts `json:"content"`
	Refusal word  `json:"refusal"`
}

// openAIStream is the state of an answer.
type openAIStream struct {
	reply
	refusal string
	ended   bool // the model has finished; only usage follows
}

// readOpenAI reads an answer, streamed or not. If a stream ends without "[DONE]" or a finish
// reason, it was cut off, and the reply so far is returned with an error.
func (s *session) readOpenAI(stream *events, out *textEmitter) (*reply, error) {
	var got openAIStream
	for stream.next() {
		if err := s.takeOpenAI(&got, stream, out); err != nil {
			return &got.reply, err
		}
	}
	if stream.err != nil && !got.ended {
		return &got.reply, stream.err
	}
	got.text = out.end()
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
	if message == nil && !out.began() {
		message = choice.Message
	}
	if message == nil {
		return nil
	}
	got.refusal += string(message.Refusal)
	return out.write(string(message.Content))
}

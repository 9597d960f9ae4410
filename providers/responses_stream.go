package providers

import (
	"encoding/json"

	"sluice/flow/value"
)

// responsesEvent holds the fields of all event types that are used. Without a type it is a
// response that is not streamed.
type responsesEvent struct {
	Type     word            `json:"type"`
	Item     json.RawMessage `json:"item"`
	Delta    texts           `json:"delta"`
	Refusal  word            `json:"refusal"`
	Response responseAnswer  `json:"response"`
}

// responseAnswer is a response of the Responses API.
type responseAnswer struct {
	Object      word              `json:"object"`
	Status      word              `json:"status"`
	Model       word              `json:"model"`
	ServiceTier word              `json:"service_tier"`
	Error       json.RawMessage   `json:"error"`
	Incomplete  json.RawMessage   `json:"incomplete_details"`
	Output      []json.RawMessage `json:"output"`
	Usage       *struct {
		Input   count        `json:"input_tokens"`
		Output  count        `json:"output_tokens"`
		Read    tokenDetails `json:"input_tokens_details"`
		Written tokenDetails `json:"output_tokens_details"`
	} `json:"usage"`
}

// readResponses reads a response up to its final event, streamed or not. A stream that ends
// without one was cut off.
func (s *session) readResponses(stream *events, talk *conversation, out *textEmitter) (*reply, error) {
	got := openAIStream{agent: talk.agent}
	for !got.ended && stream.next() {
		if err := s.takeResponses(&got, stream.data, out); err != nil {
			return &got.reply, err
		}
	}
	if stream.err != nil && !got.ended {
		return &got.reply, stream.err
	}
	got.text = out.end()
	if talk.agent {
		got.items = talk.responsesItems(got.output)
	}
	return s.ended(stream, &got.reply, got.ended || stream.done, got.refusal)
}

// takeResponses adds an event to the reply and emits its text. Unknown types of events,
// such as those about searches, are ignored.
func (s *session) takeResponses(got *openAIStream, data []byte, out *textEmitter) error {
	var event responsesEvent
	if json.Unmarshal(data, &event) != nil {
		return s.notUnderstood()
	}
	switch event.Type {
	case "":
		if json.Unmarshal(data, &event.Response) != nil {
			return s.notUnderstood()
		}
		if event.Response.Object == "response" || len(event.Response.Output) > 0 {
			return s.endResponse(got, &event.Response, out)
		}
	case "response.output_text.delta":
		return out.write(string(event.Delta))
	case "response.function_call_arguments.delta":
		out.called = out.called || got.agent
	case "response.output_item.done":
		return got.addOutput(&event, out)
	case "response.refusal.done":
		got.refusal = string(event.Refusal)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return s.endResponse(got, &event.Response, out)
	}
	return nil // other progress, and unknown event types
}

// addOutput keeps an item of the output that is complete.
func (got *openAIStream) addOutput(event *responsesEvent, out *textEmitter) error {
	if !got.agent || !value.Raw(event.Item).IsObject() {
		return nil
	}
	got.output = append(got.output, event.Item)
	return out.count(len(event.Item))
}

// endResponse processes the whole response, which has the usage. Its text counts unless it was
// streamed before.
func (s *session) endResponse(got *openAIStream, r *responseAnswer, out *textEmitter) error {
	got.end(r)
	if value.Raw(r.Error).IsFilled() {
		return s.errorIn("error", []byte(`{"error":`+string(r.Error)+`}`))
	}
	if len(r.Output) >= len(got.output) {
		got.output = r.Output
	}
	if out.hasText() {
		return nil
	}
	for _, item := range got.output {
		for _, part := range value.Raw(item).Get("content").Items() {
			members := part.Members()
			if refusal := members["refusal"].Text(); refusal != "" {
				got.refusal = refusal
			}
			if members["type"].Text() != "output_text" {
				continue
			}
			if err := out.write(unquote(members["text"])); err != nil {
				return err
			}
		}
	}
	return nil
}

// end records how the response ended and what it consumed.
func (got *openAIStream) end(r *responseAnswer) {
	got.model, got.ended, got.stop = string(r.Model), true, stopEnd
	switch reason := value.Raw(r.Incomplete).Get("reason").Text(); {
	case reason == "max_output_tokens":
		got.stop = stopLength
	case reason != "":
		got.stop = reason
	case r.Status == "failed":
		got.stop = "error"
	case r.Status == "cancelled":
		got.stop = "cancelled"
	}
	for _, item := range r.Output {
		if value.Raw(item).Get("type").Text() == "web_search_call" {
			got.usage.Searches++
		}
	}
	got.usage.Tier = string(r.ServiceTier)
	if u := r.Usage; u != nil {
		got.usage.InputTokens, got.usage.OutputTokens = int64(u.Input), int64(u.Output)
		got.usage.CacheRead = min(int64(u.Read.Cached), got.usage.InputTokens)
		got.usage.Reasoning = min(int64(u.Written.Reasoning), got.usage.OutputTokens)
		got.billed = u.Input+u.Output > 0
	}
}

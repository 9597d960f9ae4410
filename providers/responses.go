package providers

import (
	"context"
	"encoding/json"
)

// askResponses calls OpenAI's Responses API, which is used only for web search, because chat
// completions do not support that.
func (s *session) askResponses(ctx context.Context, talk *conversation, out *outlet) (*reply, error) {
	if len(talk.Stop) > 0 {
		return nil, &Error{Class: ClassIncompatible, Message: s.name + " takes no stop sequences together with web search. Remove one of them."}
	}
	stream, err := s.stream(ctx, s.base.JoinPath("responses").String(), s.responsesBody(talk), talk.key())
	if err != nil {
		return nil, err
	}
	defer stream.close()
	return s.readResponses(stream, out)
}

// responsesBody returns the body of a call. store is false, so that the provider does not
// store the conversation.
func (s *session) responsesBody(talk *conversation) map[string]any {
	body := map[string]any{"model": talk.Model, "input": talk.responsesInput(), "stream": true, "store": false,
		"tools": []any{map[string]any{"type": "web_search"}}}
	if system := talk.instructions(); system != "" {
		body["instructions"] = system
	}
	if talk.Temperature != nil {
		body["temperature"] = *talk.Temperature
	}
	if talk.TopP != nil {
		body["top_p"] = *talk.TopP
	}
	if talk.MaxTokens > 0 {
		body["max_output_tokens"] = talk.MaxTokens
	}
	if e := talk.effort(); e != "" {
		body["reasoning"] = map[string]any{"effort": e}
	}
	if format := talk.responseFormat(); format != nil {
		if ask, ok := format["json_schema"].(map[string]any); ok { // one level less than in chat completions
			ask["type"] = format["type"]
			format = ask
		}
		body["text"] = map[string]any{"format": format}
	}
	return mergePatch(body, talk.Extra)
}

// responsesInput returns the messages in the format of the responses API, which names
// parts by the role: output_text for the assistant, input_text for others. The system
// prompt is sent as instructions.
func (c *conversation) responsesInput() []any {
	var list []any
	for _, m := range c.turns {
		if text, isText := m.plain(); isText {
			list = append(list, turn(m.role, text))
			continue
		}
		parts := make([]any, len(m.parts))
		for i, p := range m.parts {
			switch {
			case p.picture != nil:
				parts[i] = map[string]any{"type": "input_image", "image_url": p.picture.dataURL()}
			case m.role == "assistant":
				parts[i] = map[string]any{"type": "output_text", "text": p.text}
			default:
				parts[i] = map[string]any{"type": "input_text", "text": p.text}
			}
		}
		list = append(list, turn(m.role, parts))
	}
	if c.repair != nil {
		list = append(list, turn("assistant", c.repair.answer), turn("user", c.repair.request()))
	}
	return list
}

// responsesEvent holds the fields of all event types that are used.
type responsesEvent struct {
	Type     string `json:"type"`
	Delta    texts  `json:"delta"`
	Refusal  string `json:"refusal"`
	Response struct {
		Model      string          `json:"model"`
		Error      json.RawMessage `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Output []struct {
			Type string `json:"type"`
		} `json:"output"`
		Usage *struct {
			Input   count        `json:"input_tokens"`
			Output  count        `json:"output_tokens"`
			Read    tokenDetails `json:"input_tokens_details"`
			Written tokenDetails `json:"output_tokens_details"`
		} `json:"usage"`
	} `json:"response"`
}

// readResponses reads the stream of a response up to its final event. A stream that
// ends without one was cut off.
func (s *session) readResponses(stream *events, out *outlet) (*reply, error) {
	var got openAIStream
	for !got.ended && stream.next() {
		if string(trimmed(stream.data)) == "[DONE]" {
			break
		}
		if err := s.takeResponses(&got, stream.data, out); err != nil {
			return &got.reply, err
		}
	}
	if stream.err != nil && !got.ended {
		return &got.reply, s.streamFailed(stream.err)
	}
	got.text = out.end()
	return s.ended(&got.reply, got.ended, got.refusal)
}

// takeResponses adds an event to the reply and emits its text. Unknown types of events,
// such as those about searches, are ignored.
func (s *session) takeResponses(got *openAIStream, data []byte, out *outlet) error {
	var event responsesEvent
	if json.Unmarshal(data, &event) != nil {
		return s.notUnderstood()
	}
	switch event.Type {
	case "error":
		return s.refusedInStream(data)
	case "response.output_text.delta":
		return out.write(string(event.Delta))
	case "response.refusal.done":
		got.refusal = event.Refusal
	case "response.completed", "response.incomplete", "response.failed":
		got.end(&event)
		if event.Type == "response.failed" {
			return s.refusedInStream([]byte(`{"error":` + string(event.Response.Error) + `}`))
		}
	}
	return nil // other progress, and unknown event types
}

// end processes the final event, which contains the usage.
func (got *openAIStream) end(event *responsesEvent) {
	r := &event.Response
	got.model, got.ended, got.stop = r.Model, true, stopEnd
	switch {
	case r.Incomplete.Reason == "max_output_tokens":
		got.stop = stopLength
	case r.Incomplete.Reason != "":
		got.stop = r.Incomplete.Reason
	}
	for _, item := range r.Output {
		if item.Type == "web_search_call" {
			got.usage.Searches++
		}
	}
	if u := r.Usage; u != nil {
		got.usage.InputTokens, got.usage.OutputTokens = int64(u.Input), int64(u.Output)
		got.usage.CacheRead = min(int64(u.Read.Cached), got.usage.InputTokens)
		got.usage.Reasoning = min(int64(u.Written.Reasoning), got.usage.OutputTokens)
	}
}

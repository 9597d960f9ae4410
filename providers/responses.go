package providers

import "context"

// askResponses calls OpenAI's Responses API, which is used only for web search, because chat
// completions do not support that.
func (s *session) askResponses(ctx context.Context, talk *conversation, out *textEmitter) (*reply, error) {
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

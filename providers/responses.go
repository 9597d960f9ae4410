package providers

import (
	"context"
	"encoding/json"

	"sluice/flow/value"
)

// askResponses calls OpenAI's Responses API, which is used for web search, because chat
// completions do not support that, and for tools, because current models do not support them
// together with reasoning there.
func (s *session) askResponses(ctx context.Context, talk *conversation, out *textEmitter) (*reply, error) {
	if len(talk.Stop) > 0 {
		return nil, &Error{Class: ClassIncompatible, Message: s.name + " takes no stop sequences together with web search and tools. Remove one of them."}
	}
	talk.origin = "responses:" + s.preset.Name
	stream, err := s.stream(ctx, s.base.JoinPath("responses").String(), talk.responsesBody(), talk.key())
	if err != nil {
		return nil, err
	}
	defer stream.close()
	return s.readResponses(stream, talk, out)
}

// responsesBody returns the body of a call. store is false, so that the provider does not
// store the conversation.
func (c *conversation) responsesBody() map[string]any {
	body := map[string]any{"model": c.Model, "input": c.responsesInput(), "stream": true, "store": false}
	if system := c.instructions(); system != "" && c.use(featInstructions) {
		body["instructions"] = system
	}
	c.setResponsesTools(body)
	if c.Temperature != nil {
		body["temperature"] = *c.Temperature
	}
	if c.TopP != nil {
		body["top_p"] = *c.TopP
	}
	if c.MaxTokens > 0 {
		body["max_output_tokens"] = c.MaxTokens
	}
	if e := c.effort(); e != "" && (!c.agent || c.use(featEffort)) {
		body["reasoning"] = map[string]any{"effort": e}
	}
	if format := c.responseFormat(); format != nil {
		if ask, ok := format["json_schema"].(map[string]any); ok { // one level less than in chat completions
			ask["type"] = format["type"]
			format = ask
		}
		body["text"] = map[string]any{"format": format}
	}
	return mergePatch(body, c.Extra)
}

// setResponsesTools sets the tools, and what a conversation that is carried on needs.
func (c *conversation) setResponsesTools(body map[string]any) {
	var list []any
	for _, t := range c.tools() {
		schema, strict := c.parameters(&t)
		tool := map[string]any{"type": "function", "name": t.Name, "parameters": schema, "strict": strict} // strict if left out
		if t.Description != "" {
			tool["description"] = t.Description
		}
		list = append(list, tool)
	}
	if c.WebSearch {
		list = append(list, map[string]any{"type": "web_search"})
	}
	if len(list) > 0 {
		body["tools"] = list
	}
	switch choice := c.choice(true); choice {
	case "":
	case ChoiceNone, ChoiceRequired:
		body["tool_choice"] = choice
	default:
		body["tool_choice"] = map[string]any{"type": "function", "name": choice}
	}
	if len(c.offered) > 0 && !c.Parallel && c.use(featParallel) {
		body["parallel_tool_calls"] = false
	}
	if !c.agent {
		return
	}
	if c.use(featEncrypted) {
		body["include"] = []any{"reasoning.encrypted_content"}
	}
	if c.CacheKey != "" && c.session.preset.Name != nameXAI && c.use(featCacheKey) {
		body["prompt_cache_key"] = c.CacheKey
	}
	if !c.use(featStream) {
		body["stream"] = false
	}
}

// responsesInput returns the messages in the format of the responses API, which names
// parts by the role: output_text for the assistant, input_text for others. The system
// prompt is sent as instructions.
func (c *conversation) responsesInput() []any {
	var list []any
	if system := c.instructions(); system != "" && !c.can(featInstructions) {
		list = append(list, turn("system", system))
	}
	for _, m := range c.turns {
		if text, isText := m.plain(); isText {
			list = append(list, turn(m.role, text))
			continue
		}
		if m.role == "assistant" && c.agent {
			list = append(list, c.responsesAnswer(m)...)
			continue
		}
		if m, list = c.responsesResults(m, list); len(m.parts) == 0 {
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

// responsesResults adds the results of a message to the input, and returns the rest of the message.
func (c *conversation) responsesResults(m message, list []any) (message, []any) {
	rest := message{role: m.role}
	for _, p := range m.parts {
		if p.result == nil {
			rest.parts = append(rest.parts, p)
			continue
		}
		list = append(list, map[string]any{"type": "function_call_output", "call_id": c.sentID(p.result.CallID), "output": p.result.Text})
	}
	return rest, list
}

// responsesAnswer returns an answer of the model as items. Reasoning is refused without the item
// that followed it.
func (c *conversation) responsesAnswer(m message) (list []any) {
	parts, members := c.kept(m)
	for len(parts) > 0 && isReasoning(parts[len(parts)-1].opaque) {
		parts = parts[:len(parts)-1]
	}
	for i, p := range parts {
		switch {
		case p.opaque != nil:
			list = append(list, p.opaque.Raw)
		case p.call != nil:
			list = append(list, withMembers(map[string]any{"type": "function_call", "call_id": c.sentID(p.call.ID), "name": sentName(p.call.Name),
				"arguments": sentArguments(p.call.Arguments)}, members[i]))
		default:
			list = append(list, withMembers(turn(m.role, p.text), members[i]))
		}
	}
	return list
}

// isReasoning reports whether an item of the Responses API is reasoning.
func isReasoning(o *Opaque) bool {
	return o != nil && value.Raw(o.Raw).Get("type").Text() == "reasoning"
}

// responsesItems returns output as items of the answer. Reasoning that is not encrypted cannot be
// sent back, because the provider does not store it.
func (c *conversation) responsesItems(output []json.RawMessage) (list []Item) {
	name := newCallNamer(c)
	for _, raw := range output {
		item := value.Raw(raw).Members()
		switch kind := item["type"].Text(); {
		case kind == "message":
			if phase := item["phase"]; phase.IsFilled() {
				list = append(list, c.opaque(ofNext, map[string]any{"phase": json.RawMessage(phase)}))
			}
			list = append(list, Item{Type: ItemText, Role: "assistant", Text: wellFormed(outputText(item["content"]))})
		case kind == "function_call":
			list = append(list, Item{Type: ItemCall, Call: &ToolCall{ID: name.unique(item["call_id"].Text()), Name: item["name"].Text(), Arguments: wellFormed(argumentsText(item["arguments"]))}})
		case kind != "reasoning" && kind != "", item["encrypted_content"].IsFilled():
			list = append(list, Item{Type: ItemOpaque, Opaque: &Opaque{Wire: c.origin, Model: c.Model, Raw: raw}})
		}
	}
	return list
}

// outputText returns the texts of a message's content.
func outputText(content value.Raw) (text string) {
	for _, part := range content.Items() {
		if members := part.Members(); members["type"].Text() == "output_text" {
			text += unquote(members["text"])
		}
	}
	return text
}

package scripted

import (
	"encoding/json"

	"sluice/flow/value"
)

// object is a short name for JSON objects.
type object = map[string]any

// readChat reads a request of chat completions.
func readChat(r *Request) {
	for _, t := range list(r.Body["tools"]) {
		r.Tools = append(r.Tools, text(value.Get(t, "function", "name")))
	}
	for _, m := range list(r.Body["messages"]) {
		switch text(value.Get(m, "role")) {
		case "user":
			r.User = text(value.Get(m, "content"))
		case "tool":
			r.Given[text(value.Get(m, "tool_call_id"))] = text(value.Get(m, "content"))
		case "assistant":
			r.Turn++
			if s := text(value.Get(m, "reasoning_content")); s != "" {
				r.Reasoning = append(r.Reasoning, s)
			}
			for _, c := range list(value.Get(m, "tool_calls")) {
				r.Calls = append(r.Calls, Call{text(value.Get(c, "id")), text(value.Get(c, "function", "name")), text(value.Get(c, "function", "arguments"))})
			}
		}
	}
}

// writeChat writes an answer of chat completions.
func writeChat(out *writer, model string, a *Answer) {
	usage := object{"prompt_tokens": a.Input, "completion_tokens": a.Output, "total_tokens": a.Input + a.Output, "prompt_tokens_details": object{"cached_tokens": a.Cached}}
	message := object{"role": "assistant", "content": a.Text}
	chunk := func(delta object, finish any) {
		out.event(object{"id": "c", "object": "chat.completion.chunk", "model": model, "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if a.Reasoning != "" {
		message["reasoning_content"] = a.Reasoning
		chunk(object{"reasoning_content": a.Reasoning}, nil)
	}
	for _, piece := range halves(a.Text) {
		chunk(object{"content": piece}, nil)
	}
	var calls []any
	for i, c := range a.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
		chunk(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range halves(c.Arguments) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	chunk(object{}, a.Stop)
	out.event(object{"id": "c", "object": "chat.completion.chunk", "model": model, "choices": []any{}, "usage": usage})
	out.events = append(out.events, "data: [DONE]\n\n")
	out.whole = object{"id": "c", "object": "chat.completion", "model": model, "usage": usage,
		"choices": []any{object{"index": 0, "message": message, "finish_reason": a.Stop}}}
}

// readResponses reads a request of the Responses API.
func readResponses(r *Request) {
	for _, t := range list(r.Body["tools"]) {
		r.Tools = append(r.Tools, text(value.Get(t, "name")))
	}
	answered := false // the last item is the model's
	for _, item := range list(r.Body["input"]) {
		mine := true
		switch kind := text(value.Get(item, "type")); {
		case kind == "function_call":
			r.Calls = append(r.Calls, Call{text(value.Get(item, "call_id")), text(value.Get(item, "name")), text(value.Get(item, "arguments"))})
		case kind == "function_call_output":
			mine = false
			r.Given[text(value.Get(item, "call_id"))] = text(value.Get(item, "output"))
		case kind == "reasoning":
			r.Reasoning = append(r.Reasoning, text(value.Get(item, "encrypted_content")))
		case text(value.Get(item, "role")) == "user":
			mine = false
			r.User = text(value.Get(item, "content"))
		case text(value.Get(item, "role")) == "system":
			mine = false
		}
		if mine && !answered {
			r.Turn++
		}
		answered = mine
	}
}

// writeResponses writes an answer of the Responses API.
func writeResponses(out *writer, model string, a *Answer) {
	usage := object{"input_tokens": a.Input, "output_tokens": a.Output, "total_tokens": a.Input + a.Output}
	var output []any
	add := func(item object) {
		out.event(object{"type": "response.output_item.done", "output_index": len(output), "item": item})
		output = append(output, item)
	}
	out.event(object{"type": "response.created", "response": object{"object": "response", "status": "in_progress", "model": model, "output": []any{}}})
	if a.Reasoning != "" {
		add(object{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": a.Reasoning})
	}
	if a.Text != "" {
		for _, piece := range halves(a.Text) {
			out.event(object{"type": "response.output_text.delta", "output_index": len(output), "delta": piece})
		}
		add(object{"type": "message", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": a.Text, "annotations": []any{}}}})
	}
	for _, c := range a.Calls {
		for _, piece := range halves(c.Arguments) {
			out.event(object{"type": "response.function_call_arguments.delta", "output_index": len(output), "delta": piece})
		}
		add(object{"type": "function_call", "id": "fc_1", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments, "status": "completed"})
	}
	response := object{"object": "response", "status": "completed", "model": model, "output": output, "usage": usage, "error": nil, "incomplete_details": nil}
	kind := "response.completed"
	if a.Stop == "length" {
		kind, response["status"], response["incomplete_details"] = "response.incomplete", "incomplete", object{"reason": "max_output_tokens"}
	}
	out.event(object{"type": kind, "response": response})
	out.whole = response
}

// readMessages reads a request of Anthropic's Messages API.
func readMessages(r *Request) {
	for _, t := range list(r.Body["tools"]) {
		r.Tools = append(r.Tools, text(value.Get(t, "name")))
	}
	for _, m := range list(r.Body["messages"]) {
		if text(value.Get(m, "role")) == "assistant" {
			r.Turn++
		}
		for _, block := range list(value.Get(m, "content")) {
			switch text(value.Get(block, "type")) {
			case "text":
				if text(value.Get(m, "role")) == "user" {
					r.User = text(value.Get(block, "text"))
				}
			case "thinking":
				r.Reasoning = append(r.Reasoning, text(value.Get(block, "signature")))
			case "tool_use":
				input, _ := json.Marshal(value.Get(block, "input"))
				r.Calls = append(r.Calls, Call{text(value.Get(block, "id")), text(value.Get(block, "name")), string(input)})
			case "tool_result":
				r.Given[text(value.Get(block, "tool_use_id"))] = text(value.Get(block, "content"))
			}
		}
	}
}

// writeMessages writes an answer of Anthropic's Messages API.
func writeMessages(out *writer, model string, a *Answer) {
	stop := map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}[a.Stop]
	if stop == "" {
		stop = a.Stop
	}
	var content []any
	block := func(start, whole object, deltas ...object) {
		at := len(content)
		out.event(object{"type": "content_block_start", "index": at, "content_block": start})
		for _, d := range deltas {
			out.event(object{"type": "content_block_delta", "index": at, "delta": d})
		}
		out.event(object{"type": "content_block_stop", "index": at})
		content = append(content, whole)
	}
	out.event(object{"type": "message_start", "message": object{"type": "message", "role": "assistant", "model": model, "content": []any{},
		"usage": object{"input_tokens": a.Input, "output_tokens": 1}}})
	if a.Reasoning != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""}, object{"type": "thinking", "thinking": "Hm.", "signature": a.Reasoning},
			object{"type": "thinking_delta", "thinking": "Hm."}, object{"type": "signature_delta", "signature": a.Reasoning})
	}
	if a.Text != "" {
		var deltas []object
		for _, piece := range halves(a.Text) {
			deltas = append(deltas, object{"type": "text_delta", "text": piece})
		}
		block(object{"type": "text", "text": ""}, object{"type": "text", "text": a.Text}, deltas...)
	}
	for _, c := range a.Calls {
		var deltas []object
		for _, piece := range halves(c.Arguments) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": piece})
		}
		var input any = object{}
		if json.Valid([]byte(c.Arguments)) {
			input = json.RawMessage(c.Arguments)
		}
		block(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input}, deltas...)
	}
	usage := object{"input_tokens": a.Input, "output_tokens": a.Output}
	out.event(object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	out.event(object{"type": "message_stop"})
	out.whole = object{"type": "message", "role": "assistant", "model": model, "content": content, "stop_reason": stop, "usage": usage}
}

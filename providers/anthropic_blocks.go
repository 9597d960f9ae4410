package providers

import (
	"encoding/json"

	"sluice/flow/value"
)

// anthropicBlock is a content block whose deltas are arriving.
type anthropicBlock struct {
	index                            int
	kind                             string
	start                            json.RawMessage // the block as it began
	text, input, thinking, signature []byte
}

// addDelta adds a delta to its block. A server that sends no starts has one block of text.
func (got *anthropicStream) addDelta(event *anthropicEvent, out *textEmitter) error {
	if !got.agent {
		return nil
	}
	var b *anthropicBlock
	for i := len(got.blocks) - 1; i >= 0 && b == nil; i-- {
		if got.blocks[i].index == int(event.Index) {
			b = got.blocks[i]
		}
	}
	if b == nil {
		b = &anthropicBlock{index: int(event.Index), kind: "text"}
		got.blocks = append(got.blocks, b)
	}
	b.text = append(b.text, event.Delta.Text...)
	b.input = append(b.input, event.Delta.PartialJSON...)
	b.thinking = append(b.thinking, event.Delta.Thinking...)
	b.signature = append(b.signature, event.Delta.Signature...)
	return out.count(len(event.Delta.PartialJSON) + len(event.Delta.Thinking) + len(event.Delta.Signature))
}

// anthropicItems returns the answer as items. If the answer is the input of a forced tool, it is
// one text.
func (got *anthropicStream) anthropicItems(talk *conversation) (list []Item) {
	if got.form {
		return []Item{{Type: ItemText, Role: "assistant", Text: got.text}}
	}
	name := newCallNamer(talk)
	for _, b := range got.blocks {
		switch b.kind {
		case "":
		case "text":
			list = append(list, Item{Type: ItemText, Role: "assistant", Text: wellFormed(string(b.text))})
		case "tool_use":
			list = append(list, Item{Type: ItemCall, Call: b.call(name)})
		default:
			if raw := b.raw(); raw != nil {
				list = append(list, Item{Type: ItemOpaque, Opaque: &Opaque{Wire: talk.origin, Model: talk.Model, Raw: raw}})
			}
		}
	}
	return list
}

// call returns a block as a call. Its input may have come whole with the start.
func (b *anthropicBlock) call(name *callNamer) *ToolCall {
	start := value.Raw(b.start).Members()
	if len(b.input) == 0 {
		b.input = []byte(argumentsText(start["input"]))
	}
	return &ToolCall{ID: name.unique(start["id"].Text()), Name: start["name"].Text(), Arguments: wellFormed(string(b.input))}
}

// raw returns a block as it is sent back, or nil for thinking without a signature, which is
// refused.
func (b *anthropicBlock) raw() json.RawMessage {
	members := map[string]json.RawMessage{}
	if json.Unmarshal(b.start, &members) != nil || members == nil {
		return nil
	}
	set := func(name string, text []byte) {
		if len(text) > 0 {
			members[name], _ = json.Marshal(unquote(value.Raw(members[name])) + wellFormed(string(text)))
		}
	}
	set("thinking", b.thinking)
	set("signature", b.signature)
	if json.Valid(b.input) {
		members["input"] = b.input
	}
	if b.kind == "thinking" && unquote(value.Raw(members["signature"])) == "" {
		return nil
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return raw
}

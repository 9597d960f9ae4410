package value

import "unsafe"

// rememberedBytes is the size of the encoding from which a part is remembered.
const rememberedBytes = 4 << 10

// Texts encodes values that share large parts, as the outputs of a step
// are the inputs of the next. A part that was encoded before is copied. The values must not change
// meanwhile. The zero value is ready to use.
type Texts struct {
	known map[part]string // encodings, within the texts that were returned
	spans []span          // parts of the text that is being encoded
}

// part identifies a text, list or object in memory.
type part struct {
	at unsafe.Pointer
	n  int
}

// span is where the encoding of a part begins and ends.
type span struct {
	part
	from, to int
}

// Text returns what the function Text returns.
func (t *Texts) Text(v any) (text string) {
	t.spans = t.spans[:0]
	withBuffer(encoder{texts: t}, v, func(b []byte) { text = string(b) })
	if len(t.spans) > 0 && t.known == nil {
		t.known = map[part]string{}
	}
	for _, s := range t.spans {
		t.known[s.part] = text[s.from:s.to]
	}
	return text
}

// once appends the encoding of a part, and remembers it if it is large.
func (t *Texts) once(b []byte, p part, encode func([]byte) []byte) []byte {
	if text, ok := t.known[p]; ok {
		return append(b, text...)
	}
	from := len(b)
	b = encode(b)
	if len(b)-from >= rememberedBytes {
		t.spans = append(t.spans, span{p, from, len(b)})
	}
	return b
}

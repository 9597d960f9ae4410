package inflight

import "unsafe"

// Sizes in bytes of decoded values: what the heap has for each, with the part of a slice that is
// allocated but not used.
const (
	slotSize   = 20 // of a value in an array or an object
	scalarSize = 24 // of a text or number, without its bytes
	memberSize = 20 // of a member, without its name and its value
	parentSize = 32 // of an array or object, without its slot
)

// Cost is an upper bound of what a JSON text costs once it is decoded. It implements io.Writer, so
// that the cost of a text is known as soon as it was received, before any of it is decoded: it
// counts brackets, commas and quotes, and does not check anything else.
type Cost struct {
	Values  int   // number of values
	Heap    int64 // bytes
	quoted  bool  // inside a text
	escaped bool  // after a backslash in it
	scalar  bool  // inside a number or a word
}

// CostOf returns the cost of a text.
func CostOf(text string) Cost {
	var c Cost
	_, _ = c.Write(unsafe.Slice(unsafe.StringData(text), len(text))) // which only reads it
	return c
}

// Write counts the next part of the text. It never fails.
func (c *Cost) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i++ {
		b := p[i]
		if c.quoted {
			switch {
			case c.escaped:
				c.escaped = false
			case b == '\\':
				c.escaped = true
			case b == '"':
				c.quoted = false
			}
			c.Heap++
			continue
		}
		switch b {
		case '"':
			c.quoted, c.scalar = true, false
			c.Values++
			c.Heap += slotSize + scalarSize
		case '[', '{':
			c.scalar = false
			c.Values++
			c.Heap += slotSize + parentSize
		case ':': // the text before it was a name
			c.Values--
			c.Heap += memberSize - slotSize - scalarSize
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			c.scalar = false
		default:
			if !c.scalar {
				c.scalar = true
				c.Values++
				c.Heap += slotSize + scalarSize
			}
			c.Heap++
		}
	}
	return len(p), nil
}

package inflight

import (
	"unsafe"

	"sluice/flow/value"
)

// Sizes in bytes of decoded values: what the heap has for each, with the part of a slice that is
// allocated but not used.
const (
	slotSize   = 20 // of a value in an array or an object
	scalarSize = 24 // of a text or number, without its bytes
	memberSize = 20 // of a member, without its name and its value
	parentSize = 32 // of an array or object, without its slot

	// More for each further value of a large array or object: it is in two slices until the end is
	// reached, and names of large objects have an index while they are read and afterwards.
	largeParent = 512
	largeSlot   = 16
	largeMember = 176
)

// Cost is an upper bound of what a JSON text costs once it is decoded. It implements io.Writer, so
// that the cost of a text is known as soon as it was received, before any of it is decoded: it
// counts brackets, commas and quotes, and does not check anything else.
type Cost struct {
	Values  int   // number of values
	Heap    int64 // bytes
	Longest int64 // bytes of the longest text or number
	Shared  int64 // bytes of texts that need no copy of the body; see value.DecodeOwned
	Escaped int64 // bytes of the longest text with escapes
	length  int64 // bytes of the current text or number
	quoted  bool  // inside a text
	escaped bool  // after a backslash in it
	plain   bool  // no backslash in it so far
	shared  bool  // it may be a data URL without escapes
	scalar  bool  // inside a number or a word

	depth int                    // of open arrays and objects
	open  [value.MaxDepth]parent // the outermost of them
}

// parent is an open array or object.
type parent struct {
	n      uint32 // number of its commas
	object bool
}

// CostOf returns the cost of a text.
func CostOf(text string) Cost {
	var c Cost
	_, _ = c.Write(unsafe.Slice(unsafe.StringData(text), len(text))) // which only reads it
	return c
}

// Write counts the next part of the text. It never fails.
func (c *Cost) Write(p []byte) (int, error) {
	for i := 0; i < len(p); {
		if c.quoted {
			i += c.quote(p[i:])
			continue
		}
		b := p[i]
		i++
		switch b {
		case '"':
			c.quoted, c.plain, c.shared, c.scalar, c.length = true, true, true, false, 0
			c.Values++
			c.Heap += slotSize + scalarSize
		case '[', '{':
			c.scalar = false
			c.Values++
			c.Heap += slotSize + parentSize
			if c.depth < len(c.open) {
				c.open[c.depth] = parent{object: b == '{'}
			}
			c.depth++
		case ':': // the text before it was a name
			c.Values--
			c.Heap += memberSize - slotSize - scalarSize
			c.Shared -= c.sharable() // names are copied
			c.shared = false
		case ']', '}':
			c.scalar, c.depth = false, max(c.depth-1, 0)
		case ',':
			c.scalar = false
			c.next()
		case ' ', '\t', '\r', '\n':
			c.scalar = false
		default:
			if !c.scalar {
				c.scalar, c.length = true, 0
				c.Values++
				c.Heap += slotSize + scalarSize
			}
			c.length++
			c.Longest = max(c.Longest, c.length)
			c.Heap++
		}
	}
	return len(p), nil
}

// next counts a comma of the innermost array or object.
func (c *Cost) next() {
	if c.depth == 0 || c.depth > len(c.open) { // not JSON, or nested too deep to be decoded
		return
	}
	in := &c.open[c.depth-1]
	switch in.n++; {
	case in.n <= largeParent:
	case in.object:
		c.Heap += largeMember
	default:
		c.Heap += largeSlot
	}
}

// quote counts the current text as far as p has it, and returns how many bytes that are.
func (c *Cost) quote(p []byte) (n int) {
	for n < len(p) {
		b := p[n]
		if at := c.length + int64(n); at < int64(len(value.DataURLPrefix)) && b != value.DataURLPrefix[at] {
			c.shared = false
		}
		n++
		switch {
		case c.escaped:
			c.escaped = false
		case b == '\\':
			c.escaped, c.plain, c.shared = true, false, false
		case b == '"':
			c.quoted = false
		}
		if !c.quoted {
			break
		}
	}
	c.Heap, c.length = c.Heap+int64(n), c.length+int64(n)
	c.Longest = max(c.Longest, c.length)
	if !c.plain {
		c.Escaped = max(c.Escaped, c.length)
	}
	if !c.quoted {
		c.Shared += c.sharable()
	}
	return n
}

// least returns how many bytes the text takes at least, whatever follows.
func (c *Cost) least() int64 {
	n := c.Heap - c.Shared
	if c.quoted && c.shared {
		n -= c.length
	}
	return n
}

// sharable returns how many bytes of the text that has just ended need no copy.
func (c *Cost) sharable() int64 {
	if n := c.length - 1; c.shared && n >= value.LargeDataURL { // without the closing quote
		return n
	}
	return 0
}

// window is how many bytes of a body are in memory while it is decoded from a file.
const window = 128 << 10

// decoding returns how many bytes of memory a JSON text of a size takes while it is decoded and
// afterwards. If the text itself is in memory, data URLs need no copy, and a text with escapes needs two; if
// it is read from a file, the buffer grows to a multiple of the longest text.
func (c *Cost) decoding(size int64) (bytes int64, fromFile bool) {
	whole := size + c.Heap - c.Shared + c.Escaped
	if streamed := c.Heap + window + 3*c.Longest; streamed < whole {
		return streamed, true
	}
	return whole, false
}

package jsonpath

// Path is a parsed path. It is safe for concurrent use.
type Path struct{ segments []segment }

// query selects values: from the root of the value ($), or in a filter also from the item that is
// looked at (@).
type query struct {
	relative bool // begins with @
	segments []segment
}

// segment applies selectors to a value, or with .. to the value and everything below it.
type segment struct {
	descendant bool
	selectors  []selector
}

// selector passes the children that it selects to yield until yield returns false. It returns
// false if the evaluation must end.
type selector interface {
	each(e *evaluation, v any, yield func(any) bool) bool
}

// single is a selector that selects one child at most.
type single interface {
	selector
	child(v any) (item any, ok bool)
}

// The selectors of RFC 9535, section 2.3.
type (
	name     string
	index    int64 // negative: from the end
	wildcard struct{}
	slice    struct {
		start, end *int64 // nil: the first or last item, depending on the direction
		step       int64
	}
	filter struct{ test }
)

// test is a condition of a filter.
type test interface {
	holds(e *evaluation, current any) bool
}

// The conditions. A *query is one too: it holds if it selects anything.
type (
	disjunction []test
	conjunction []test
	negation    struct{ test }
	comparison  struct {
		left     operand
		operator string
		right    operand
	}
	// matchCall is match(), whose pattern must fit the whole text, or search(), whose pattern may fit
	// any part of it.
	matchCall struct {
		text, pattern operand
		whole         bool
	}
)

// operand is one side of a comparison or an argument of a function. It has at most one value. ok is
// false if it has none, which the RFC calls Nothing: for example, the member does not exist.
type operand interface {
	value(e *evaluation, current any) (v any, ok bool)
}

// The operands. A *query is one too: its value is the only one that it selects.
type (
	literal    struct{ v any }
	lengthCall struct{ of operand } // length(): characters, items or members
	countCall  struct{ of *query }  // count(): how many values a query selects
	valueCall  struct{ of *query }  // value(): the only value that a query selects
)

// singular reports whether a query selects at most one value, whatever it is applied to. Only
// such a query can be compared.
func (q *query) singular() bool {
	for i := range q.segments {
		if _, ok := q.segments[i].single(); !ok {
			return false
		}
	}
	return true
}

// single returns the selector of a segment that selects at most one child.
func (s *segment) single() (selector single, ok bool) {
	if !s.descendant && len(s.selectors) == 1 {
		selector, ok = s.selectors[0].(single)
	}
	return selector, ok
}

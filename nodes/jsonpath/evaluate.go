package jsonpath

import (
	"iter"
	"math"
	"slices"
	"unicode/utf8"

	"sluice/flow/value"
)

// Host bounds an evaluation and matches its patterns. It serves one evaluation.
type Host interface {
	// Spend counts work, in units of about 10 ns on one core. An error, such as that of a context,
	// ends the evaluation. It is called for each step.
	Spend(units int) error
	// Match reports whether a text contains a match of an RE2 pattern. An invalid pattern matches
	// nothing. An error ends the evaluation.
	Match(pattern, text string) (bool, error)
}

// Costs in units of Host.Spend, which were measured and rounded up.
const (
	visitCost  = 6   // looking at a value: selecting a child, passing one on the way down, testing or comparing one
	lookupCost = 24  // finding a member of another object, when objects are compared
	sortCost   = 100 // sorting one member of a map[string]any

	bytesPerUnit = 16 // of texts that are compared or counted
)

// Select evaluates a path for a value. It yields what the path selects, in the order of the RFC,
// the members of objects in their own order. An error is the last element and comes from the host.
func (p *Path) Select(root any, host Host) iter.Seq2[any, error] {
	return func(yield func(any, error) bool) {
		e := &evaluation{root: root, host: host}
		e.walk(p.segments, root, func(v any) bool { return yield(v, nil) })
		if e.err != nil {
			yield(nil, e.err)
		}
	}
}

// evaluation is the state of one evaluation. Its functions stop when err is set.
type evaluation struct {
	root any
	host Host
	err  error
}

// spend counts work and reports whether the evaluation may continue.
func (e *evaluation) spend(units int) bool {
	if e.err == nil {
		e.err = e.host.Spend(units)
	}
	return e.err == nil
}

// walk applies segments to a value, the second segment to each result of the first, and passes the
// results of the last to yield. That is the same order as collecting the results of each segment,
// without keeping them. Like all functions that take a yield, it returns false when yield did or the
// evaluation must end.
func (e *evaluation) walk(segments []segment, v any, yield func(any) bool) bool {
	segments, v, ok := e.follow(segments, v)
	switch {
	case !ok:
		return e.err == nil
	case len(segments) == 0:
		return yield(v)
	case len(segments) == 1:
		return e.apply(&segments[0], v, yield)
	}
	return e.apply(&segments[0], v, func(child any) bool { return e.walk(segments[1:], child, yield) })
}

// follow applies the first segments of a path as long as they select one child each. It returns the
// other segments and the value to apply them to. ok is false if there is no such child.
func (e *evaluation) follow(segments []segment, v any) (rest []segment, at any, ok bool) {
	for i := range segments {
		selector, isSingle := segments[i].single()
		if !isSingle {
			return segments[i:], v, true
		}
		if !e.spend(visitCost) {
			return nil, nil, false
		}
		if v, ok = selector.child(v); !ok {
			return nil, nil, false
		}
	}
	return nil, v, true
}

// apply applies the selectors of a segment to a value and, for a descendant segment, to everything
// below it: a value before its children, children in their order.
func (e *evaluation) apply(s *segment, v any, yield func(any) bool) bool {
	for _, selector := range s.selectors {
		if !e.spend(visitCost) || !selector.each(e, v, yield) {
			return false
		}
	}
	return !s.descendant || e.children(v, func(child any) bool { return e.apply(s, child, yield) })
}

// children passes the items of an array or the values of an object to yield.
func (e *evaluation) children(v any, yield func(any) bool) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !e.spend(visitCost) || !yield(item) {
				return false
			}
		}
	case *value.Object, map[string]any:
		if !e.spend(sortingCost(v)) {
			return false
		}
		for _, item := range value.Members(v) {
			if !e.spend(visitCost) || !yield(item) {
				return false
			}
		}
	}
	return true
}

// sortingCost returns what value.Members needs to sort a map, which no *value.Object needs.
func sortingCost(v any) int {
	if _, ordered := v.(*value.Object); ordered {
		return 0
	}
	m, _ := value.AsMap(v)
	return len(m) * sortCost
}

func (s name) child(v any) (item any, ok bool) { return value.Lookup(v, string(s)) }

func (s index) child(v any) (item any, ok bool) {
	list, _ := v.([]any)
	if s < 0 {
		s += index(len(list))
	}
	if s < 0 || s >= index(len(list)) {
		return nil, false
	}
	return list[s], true
}

func (s name) each(e *evaluation, v any, yield func(any) bool) bool  { return e.only(s, v, yield) }
func (s index) each(e *evaluation, v any, yield func(any) bool) bool { return e.only(s, v, yield) }

// only passes the child that a selector selects to yield.
func (e *evaluation) only(s single, v any, yield func(any) bool) bool {
	item, ok := s.child(v)
	return !ok || yield(item)
}

func (wildcard) each(e *evaluation, v any, yield func(any) bool) bool { return e.children(v, yield) }

// each selects as section 2.3.4.2 of the RFC describes: a negative step goes backward, and a step
// of 0 selects nothing.
func (s slice) each(e *evaluation, v any, yield func(any) bool) bool {
	list, _ := v.([]any)
	size := int64(len(list))
	bound := func(given *int64, otherwise, low, high int64) int64 {
		if given == nil {
			return otherwise
		}
		at := *given
		if at < 0 {
			at += size
		}
		return min(max(at, low), high)
	}
	at, end := bound(s.start, 0, 0, size), bound(s.end, size, 0, size)
	if s.step < 0 {
		at, end = bound(s.start, size-1, -1, size-1), bound(s.end, -1, -1, size-1)
	}
	for ; s.step > 0 && at < end || s.step < 0 && at > end; at += s.step {
		if !e.spend(visitCost) || !yield(list[at]) {
			return false
		}
	}
	return true
}

// each selects the children for which the condition holds. A condition that could not be evaluated
// to its end has no result.
func (s filter) each(e *evaluation, v any, yield func(any) bool) bool {
	return e.children(v, func(child any) bool {
		holds := s.holds(e, child)
		return e.err == nil && (!holds || yield(child))
	})
}

// take counts the values that a query selects, up to most, and returns the last of them.
func (q *query) take(e *evaluation, current any, most int) (v any, n int) {
	if !q.relative {
		current = e.root
	}
	segments, v, ok := e.follow(q.segments, current)
	switch {
	case !ok || !e.spend(visitCost):
		return nil, 0
	case len(segments) == 0:
		return v, 1
	}
	var last any
	counted := 0
	e.walk(segments, v, func(found any) bool {
		last = found
		counted++
		return counted < most
	})
	return last, counted
}

// holds reports whether a query selects anything.
func (q *query) holds(e *evaluation, current any) bool {
	_, n := q.take(e, current, 1)
	return n > 0
}

func (list disjunction) holds(e *evaluation, current any) bool {
	return e.spend(visitCost) && slices.ContainsFunc(list, func(t test) bool { return t.holds(e, current) })
}

func (list conjunction) holds(e *evaluation, current any) bool {
	for _, t := range list {
		if !t.holds(e, current) {
			return false
		}
	}
	return true
}

func (n negation) holds(e *evaluation, current any) bool { return !n.test.holds(e, current) }

// value returns the only value that a query selects.
func (q *query) value(e *evaluation, current any) (any, bool) {
	v, n := q.take(e, current, 2)
	if n != 1 {
		return nil, false
	}
	return v, true
}

func (l literal) value(*evaluation, any) (any, bool) { return l.v, true }

func (c lengthCall) value(e *evaluation, current any) (any, bool) {
	v, _ := c.of.value(e, current)
	switch v := v.(type) {
	case string:
		e.spend(len(v) / bytesPerUnit)
		return utf8.RuneCountInString(v), true
	case []any:
		return len(v), true
	}
	n := value.Len(v)
	return n, n >= 0
}

func (c countCall) value(e *evaluation, current any) (any, bool) {
	_, n := c.of.take(e, current, math.MaxInt)
	return n, true
}

func (c valueCall) value(e *evaluation, current any) (any, bool) { return c.of.value(e, current) }

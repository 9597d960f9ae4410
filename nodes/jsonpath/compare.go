package jsonpath

import (
	"encoding/json"
	"slices"
	"strings"

	"sluice/flow/value"
)

// holds compares as section 2.3.5.2.2 of the RFC describes. Values of different types are not
// equal, and neither is less. Two operands without a value are equal.
func (c comparison) holds(e *evaluation, current any) bool {
	if !e.spend(visitCost) {
		return false
	}
	a, hasA := c.left.value(e, current)
	b, hasB := c.right.value(e, current)
	equal := func() bool { return hasA == hasB && (!hasA || e.equal(a, b)) }
	less := func(x, y any) bool { return hasA && hasB && e.less(x, y) }
	switch c.operator {
	case "==":
		return equal()
	case "!=":
		return !equal()
	case "<", "<=":
		return less(a, b) || c.operator == "<=" && equal()
	default:
		return less(b, a) || c.operator == ">=" && equal()
	}
}

// less reports whether both values are numbers or both are texts, and a is less than b. Texts are
// compared by code points.
func (e *evaluation) less(a, b any) bool {
	if x, ok := a.(string); ok {
		y, both := b.(string)
		e.spend(min(len(x), len(y)) / bytesPerUnit)
		return both && strings.Compare(x, y) < 0 // in UTF-8, bytes have the order of code points
	}
	order, both := e.compareNumbers(a, b)
	return both && order < 0
}

// compareNumbers compares exactly. Numbers may have any number of digits, which count.
func (e *evaluation) compareNumbers(a, b any) (order int, ok bool) {
	cost := visitCost
	for _, v := range []any{a, b} {
		if n, isNumber := v.(json.Number); isNumber {
			cost += len(n)
		}
	}
	e.spend(cost)
	return value.CompareNumbers(a, b)
}

// equal compares deeply and counts what it compares, because each item of a long list may be
// compared with a large value. The order of members has no meaning.
func (e *evaluation) equal(a, b any) bool {
	if !e.spend(visitCost) {
		return false
	}
	switch x := a.(type) {
	case string:
		y, ok := b.(string)
		if !ok || len(x) != len(y) {
			return false
		}
		e.spend(len(x) / bytesPerUnit)
		return x == y
	case bool, nil:
		return a == b
	case json.Number, int, int64, float64:
		order, ok := e.compareNumbers(a, b)
		return ok && order == 0
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, e.equal)
	}
	return e.equalObjects(a, b)
}

func (e *evaluation) equalObjects(a, b any) bool {
	size := value.Len(a)
	if size < 0 || size != value.Len(b) || !e.spend(size*lookupCost+sortingCost(a)) {
		return false
	}
	for key, v := range value.Members(a) {
		w, ok := value.Lookup(b, key)
		if !ok || !e.equal(v, w) {
			return false
		}
	}
	return true
}

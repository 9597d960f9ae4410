package api

import (
	"fmt"
	"math"
	"slices"

	"sluice/flow"
)

// Types of members of bodies.
var (
	TextType = Type[string]{Schema: map[string]any{"type": "string"}, Wanted: "text", As: func(v any) (string, bool) { s, ok := v.(string); return s, ok }}
	BoolType = Type[bool]{Schema: map[string]any{"type": "boolean"}, Wanted: "true or false", As: func(v any) (bool, bool) { b, ok := v.(bool); return b, ok }}

	// DollarsType has limits in dollars. An amount that rounds to 0 billionths of a dollar is refused, because a
	// stored 0 means no limit.
	DollarsType = Type[flow.NanoUSD]{
		Schema: map[string]any{"type": "number", "minimum": 1e-9, "maximum": flow.MaxUSD.Dollars()}, Wanted: "an amount such as 0.5, up to a million, or null for no limit",
		As: func(v any) (flow.NanoUSD, bool) { usd, ok := AsDollars(v); return usd, ok && usd > 0 },
	}.OrNull()

	// ObjectType has objects of any members, in their order.
	ObjectType = Type[*flow.Object]{Schema: map[string]any{"type": "object"}, Read: func(v any) (*flow.Object, []flow.Problem) {
		o, ok := flow.AsObject(v)
		if !ok {
			return nil, []flow.Problem{{Code: "wrong_type", Detail: "wanted an object, got " + flow.TypeOf(v)}}
		}
		if _, _, err := flow.AsValue(o, flow.MaxValueDepth); err != nil {
			return nil, []flow.Problem{{Code: "too_deep", Detail: fmt.Sprintf("nested deeper than %d levels", flow.MaxValueDepth)}}
		}
		return o, nil
	}}
)

// EnumType returns the type of texts that are one of the values. code is that of the problem of
// another text.
func EnumType[V ~string](code string, values ...V) Type[V] {
	enum := make([]any, len(values))
	for i, v := range values {
		enum[i] = v
	}
	return Type[V]{Schema: map[string]any{"type": "string", "enum": enum}, Read: func(v any) (V, []flow.Problem) {
		s, ok := v.(string)
		if !ok {
			return "", []flow.Problem{{Code: "wrong_type", Detail: "wanted text, got " + flow.TypeOf(v)}}
		}
		if !slices.Contains(values, V(s)) {
			return "", []flow.Problem{{Code: code, Detail: "wanted one of " + string(flow.EncodeJSON(enum))}}
		}
		return V(s), nil
	}}
}

// ListType returns the type of lists of at most most items, which the caller reads.
func ListType(items map[string]any, most int) Type[[]any] {
	return Type[[]any]{Schema: map[string]any{"type": "array", "items": items}, Read: func(v any) ([]any, []flow.Problem) {
		list, ok := v.([]any)
		if !ok {
			return nil, []flow.Problem{{Code: "wrong_type", Detail: "wanted a list, got " + flow.TypeOf(v)}}
		}
		if len(list) > most {
			return nil, []flow.Problem{{Code: "too_many", Detail: fmt.Sprintf("at most %d, got %d", most, len(list))}}
		}
		return list, nil
	}}
}

// BodyType returns the type of objects that a body declares.
func BodyType[V any](b *Body[V]) Type[*V] {
	return Type[*V]{Schema: b.Schema(), Read: func(v any) (*V, []flow.Problem) {
		object, ok := flow.AsMap(v)
		if !ok {
			return nil, []flow.Problem{{Code: "wrong_type", Detail: "wanted an object, got " + flow.TypeOf(v)}}
		}
		set, problems := b.Read(object)
		of := new(V)
		set(of)
		return of, problems
	}}
}

// AsWhole reads a whole number from least to most, which are exact as floats below 2⁵³.
func AsWhole(v any, least, most float64) (int64, bool) {
	n, ok := flow.Float(v)
	return int64(n), ok && n == math.Trunc(n) && n >= least && n <= most
}

// AsDollars reads an amount from 0 to flow.MaxUSD dollars, and rounds it to billionths.
func AsDollars(v any) (flow.NanoUSD, bool) {
	n, ok := flow.Float(v)
	if !ok || n < 0 || n > flow.MaxUSD.Dollars() {
		return 0, false
	}
	return flow.USDOf(n), true
}

package expression

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
)

// toCEL converts a value to CEL's types, once and completely. If CEL converted
// nested values itself, it would convert and measure them again at every use.
func toCEL(from any) (ref.Val, error) {
	c := converter{items: maxItems, text: maxText}
	v := c.convert(from)
	return v, c.overflow()
}

// overflow returns an error if the converted values are too large together.
func (c *converter) overflow() error {
	if c.items < 0 || c.text < 0 {
		return flow.Errorf(flow.CodeInputInvalid,
			"The value is too large for an expression: wanted at most %d items and %d MiB of text. Give it only the part it needs.",
			maxItems, maxText>>20)
	}
	return nil
}

// fromCEL converts a result to a JSON value. Times and durations become texts.
func fromCEL(v ref.Val) (any, error) {
	switch v := v.(type) {
	case *exactNumber:
		return v.text, nil
	case *list:
		return v.from, nil
	case *object:
		return v.from, nil
	case types.Bool:
		return bool(v), nil
	case types.String:
		return string(v), nil
	case types.Null:
		return nil, nil
	case types.Int:
		return json.Number(strconv.FormatInt(int64(v), 10)), nil
	case types.Uint:
		return json.Number(strconv.FormatUint(uint64(v), 10)), nil
	case types.Double:
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return nil, flow.Errorf(flow.CodeExpressionFailed, "The result is not a number that JSON can hold, such as a division by zero.")
		}
		return flow.Number(float64(v)), nil
	case types.Timestamp:
		return v.Format(time.RFC3339Nano), nil
	case types.Duration:
		return v.String(), nil
	case traits.Lister:
		return listFromCEL(v)
	case traits.Mapper:
		return objectFromCEL(v)
	}
	return nil, flow.Errorf(flow.CodeExpressionFailed, "The expression gives %s, which is not a JSON value.", typeName(v.Type().TypeName()))
}

func listFromCEL(from traits.Lister) (any, error) {
	list := []any{}
	for it := from.Iterator(); it.HasNext() == types.True; {
		item, err := fromCEL(it.Next())
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, nil
}

func objectFromCEL(from traits.Mapper) (any, error) {
	members := map[string]any{}
	for it := from.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, isText := key.(types.String)
		if !isText {
			return nil, flow.Errorf(flow.CodeExpressionFailed, "The names of an object must be texts, as in {\"total\": 3}.")
		}
		member, err := fromCEL(from.Get(key))
		if err != nil {
			return nil, err
		}
		members[string(name)] = member
	}
	built, isLiteral := from.(*literal)
	if !isLiteral {
		return value.FromMap(members), nil
	}
	ordered := &value.Object{}
	for _, name := range slices.Concat(built.names, sorting.Keys(members)) { // those of the source first
		if member, ok := members[name]; ok {
			ordered.Set(name, member)
		}
	}
	return ordered, nil
}

// converter holds the remaining budget: items of lists and objects, and bytes
// of text. A negative number means that the value is too large. inexact counts the numbers that CEL
// cannot represent exactly.
type converter struct{ items, text, inexact int }

// convert converts a value to CEL and counts its items and bytes of text. Beyond the budget
// it converts nothing more; the caller reports that.
func (c *converter) convert(v any) ref.Val {
	c.items--
	if c.items < 0 || c.text < 0 {
		return types.NullValue
	}
	switch v := v.(type) {
	case string:
		c.text -= len(v)
		return types.String(v)
	case bool:
		return types.Bool(v)
	case []any:
		return c.list(v)
	case *flow.Object:
		return c.object(v)
	case map[string]any:
		return c.object(value.FromMap(v))
	}
	if text, ok := value.NumberText(v); ok {
		c.text -= len(text)
		n := celNumber(text)
		if _, inexact := n.(*exactNumber); inexact {
			c.inexact++
		}
		return n
	}
	return types.NullValue
}

func (c *converter) list(from []any) traits.Lister {
	items := make([]ref.Val, 0, min(len(from), maxItems))
	before := c.inexact
	for _, item := range from {
		if c.items < 0 {
			break
		}
		items = append(items, c.convert(item))
	}
	return &list{types.NewRefValList(types.DefaultTypeAdapter, items), from, c.inexact > before}
}

func (c *converter) object(from *flow.Object) traits.Mapper {
	m := make(map[ref.Val]ref.Val, min(from.Len(), maxItems))
	before := c.inexact
	for name, item := range from.All() {
		if c.items < 0 {
			break
		}
		m[c.convert(name)] = c.convert(item)
	}
	return &object{types.NewRefValMap(types.DefaultTypeAdapter, m), from, c.inexact > before}
}

// celNumber converts a JSON number: to an int if it is whole and fits 64 bits, because whole numbers
// index lists, otherwise to a double. Both types compare with each other. If the text of the number
// would change, the result is an *exactNumber.
func celNumber(text string) ref.Val {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(i, 10) == text {
		return types.Int(i)
	}
	f, _ := strconv.ParseFloat(text, 64) // infinite if it is too large
	n := ref.Val(types.Double(f))
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		n = types.Int(int64(f))
	} else if !math.IsInf(f, 0) && string(flow.Number(f)) == text {
		return n
	}
	return &exactNumber{n, json.Number(text)}
}

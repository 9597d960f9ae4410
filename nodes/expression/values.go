package expression

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"sluice/flow"
	"sluice/flow/value"
)

// toCEL converts a value to CEL's types, once and completely. If CEL converted
// nested values itself, it would convert and measure them again at every use.
func toCEL(value any) (ref.Val, error) {
	c := converter{items: maxItems, text: maxText}
	v := c.convert(value)
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
	object := map[string]any{}
	for it := from.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, isText := key.(types.String)
		if !isText {
			return nil, flow.Errorf(flow.CodeExpressionFailed, "The names of an object must be texts, as in {\"total\": 3}.")
		}
		value, err := fromCEL(from.Get(key))
		if err != nil {
			return nil, err
		}
		object[string(name)] = value
	}
	return object, nil
}

// converter holds the remaining budget: items of lists and objects, and bytes
// of text. A negative number means that the value is too large.
type converter struct{ items, text int }

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
	if f, ok := flow.Float(v); ok {
		return celNumber(v, f)
	}
	return types.NullValue
}

func (c *converter) list(from []any) traits.Lister {
	list := make([]ref.Val, 0, min(len(from), maxItems))
	for _, item := range from {
		if c.items < 0 {
			break
		}
		list = append(list, c.convert(item))
	}
	return types.NewRefValList(types.DefaultTypeAdapter, list)
}

func (c *converter) object(from *flow.Object) traits.Mapper {
	m := make(map[ref.Val]ref.Val, min(from.Len(), maxItems))
	for name, item := range from.All() {
		if c.items < 0 {
			break
		}
		m[c.convert(name)] = c.convert(item)
	}
	return types.NewRefValMap(types.DefaultTypeAdapter, m)
}

// celNumber returns an int for whole numbers of 64 bits, otherwise a double. In
// CEL, whole numbers index lists, and both types compare with each other.
func celNumber(v any, f float64) ref.Val {
	if n, ok := v.(json.Number); ok {
		if i, err := n.Int64(); err == nil {
			return types.Int(i)
		}
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
		return types.Int(int64(f))
	}
	return types.Double(f)
}

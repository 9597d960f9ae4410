package flow

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxValueDepth is how deep a value may nest: less than MaxJSONDepth, since
// records and answers wrap it.
const maxValueDepth = MaxJSONDepth - 4

// values makes sure that a kind gave back values and nothing else, so that
// what the next node is given is what a reader of the record sees.
func (o *Out) values() error {
	for _, port := range sortedNames(o.Outputs) {
		v, changed, err := asValue(o.Outputs[port], maxValueDepth)
		if err != nil {
			return fmt.Errorf("output %s: %w", port, err)
		}
		if changed {
			o.Outputs = maps.Clone(o.Outputs)
			o.Outputs[port] = v
		}
	}
	if o.Suspend == nil {
		return nil
	}
	state, _, err := asValue(o.Suspend.State, maxValueDepth)
	if err != nil {
		return fmt.Errorf("state of the suspension: %w", err)
	}
	o.Suspend = &Suspension{Until: o.Suspend.Until, State: state}
	return nil
}

// asValue returns v as DecodeJSON would give it. Go types that are no values
// take the way through JSON. What is changed is copied: values are shared.
func asValue(v any, depth int) (out any, changed bool, err error) {
	if depth < 0 {
		return nil, false, Errorf(CodeOutputInvalid, "The result is nested deeper than %d levels.", maxValueDepth)
	}
	switch v := v.(type) {
	case nil, bool, int, int64:
		return v, false, nil
	case string:
		if utf8.ValidString(v) {
			return v, false, nil
		}
		return strings.ToValidUTF8(v, "\uFFFD"), true, nil
	case json.Number:
		if isNumber(string(v)) {
			return v, false, nil
		}
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v, false, nil
		}
	case []any:
		return asList(v, depth)
	case map[string]any:
		return asObject(v, depth)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, false, err
	}
	decoded, err := DecodeJSON(data)
	if err != nil {
		return nil, false, err
	}
	out, _, err = asValue(decoded, depth)
	return out, true, err
}

func asList(v []any, depth int) (any, bool, error) {
	changed := false
	for i := range v {
		item, other, err := asValue(v[i], depth-1)
		if err != nil {
			return nil, false, err
		}
		if other && !changed {
			v, changed = slices.Clone(v), true
		}
		if other {
			v[i] = item
		}
	}
	return v, changed, nil
}

func asObject(v map[string]any, depth int) (any, bool, error) {
	var copied map[string]any
	for name, item := range v {
		item, other, err := asValue(item, depth-1)
		if err != nil {
			return nil, false, err
		}
		if other && copied == nil {
			copied = maps.Clone(v)
		}
		if other {
			copied[name] = item
		}
	}
	if copied != nil {
		return copied, true, nil
	}
	return v, false, nil
}

package pinned

import (
	"maps"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/providers/hosted"
)

// WithSampleURLs returns the input for Form.Check: files inside JSON are replaced by a
// sample URL, because the upload will replace them by URLs.
func WithSampleURLs(form *hosted.Form, values map[string]any) map[string]any {
	out := maps.Clone(values)
	for i := range form.Fields {
		if f := &form.Fields[i]; f.Widget == hosted.WidgetJSON && values[f.Name] != nil {
			out[f.Name] = withSampleURL(values[f.Name])
		}
	}
	for name, v := range out {
		out[name] = value.Plain(v) // the form reads plain JSON values
	}
	return out
}

// withSampleURL replaces the file values in v, at any depth.
func withSampleURL(v any) any {
	switch v := value.Ordered(v).(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withSampleURL(v[i])
		}
		return out
	case *flow.Object:
		if _, isFile := flow.FileID(v); isFile {
			return "https://example.com/file"
		}
		out, _ := v.Replace(func(_ string, item any) (any, error) { return withSampleURL(item), nil })
		return out
	}
	return v
}

// Collect collects the inputs by name. Edges take precedence over typed
// fields, and single inputs over the object of all inputs.
func Collect(in *flow.In) (map[string]any, error) {
	all := in.Ports[AllInputs]
	if all == nil {
		all = in.Config[AllInputs]
	}
	given, ok := inputObject(all)
	if !ok {
		return nil, flow.Errorf(flow.CodeInputInvalid, "%s must be a JSON object with the model's inputs by name.", AllInputs)
	}
	AddInputs(in, given)
	return given, nil
}

// AddInputs adds the single inputs of a node, by name without InputPrefix. Edges take
// precedence over typed fields.
func AddInputs(in *flow.In, given map[string]any) {
	for _, from := range []map[string]any{in.Config, in.Ports} {
		for name, value := range from {
			if input, ok := strings.CutPrefix(name, InputPrefix); ok && input != "" {
				given[input] = value
			}
		}
	}
}

// inputObject returns a copy of an object, which may be given as JSON text. Nil
// and an empty text are an empty object.
func inputObject(value any) (map[string]any, bool) {
	if text, isText := value.(string); isText && strings.TrimSpace(text) == "" {
		value = nil
	} else if isText {
		decoded, err := flow.DecodeJSON([]byte(text))
		if err != nil || decoded == nil {
			return nil, false
		}
		value = decoded
	}
	if value == nil {
		return map[string]any{}, true
	}
	object, ok := flow.AsMap(value)
	if _, isFile := flow.FileID(value); isFile {
		return nil, false
	}
	return maps.Clone(object), ok
}

// Coerce coerces values to the types in the schema where this loses nothing.
// Null means not set, and so does an empty text where no text is expected.
func Coerce(form *hosted.Form, given map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range given {
		i := slices.IndexFunc(form.Fields, func(f hosted.Field) bool { return f.Name == name })
		if i >= 0 {
			value = coerceField(&form.Fields[i], value)
		}
		if value != nil {
			out[name] = value
		}
	}
	return out
}

// coerceField coerces the value of one input; nil means not set.
func coerceField(f *hosted.Field, value any) any {
	if value == "" && f.Widget != hosted.WidgetText && f.Widget != hosted.WidgetTextarea {
		return nil
	}
	switch f.Widget {
	case hosted.WidgetSelect:
		i := slices.IndexFunc(f.Options, func(o any) bool { return flow.Text(o) == flow.Text(value) })
		if i >= 0 {
			return f.Options[i]
		}
	case hosted.WidgetList, hosted.WidgetFiles:
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		items, _ := flow.AsMap(f.Schema["items"])
		out := make([]any, len(list))
		for i := range list {
			out[i] = coerceType(items["type"], list[i])
		}
		return out
	case hosted.WidgetFile, hosted.WidgetSecret:
		return value
	}
	return coerceType(f.Schema["type"], value)
}

// coerceType coerces a value to a JSON Schema type. A value that cannot be coerced
// is returned unchanged, and Form.Check reports it.
func coerceType(kind, value any) any {
	var err error
	was := value
	switch kind {
	case "string":
		if flow.TypeOf(value) != "file" {
			value, err = flow.Coerce(value, flow.TypeText)
		}
	case "number", "integer":
		value, err = flow.Coerce(value, flow.TypeNumber)
	case "boolean":
		value, err = flow.Coerce(value, flow.TypeBoolean)
	case "array", "object":
		if text, isText := value.(string); isText {
			value, err = flow.DecodeJSON([]byte(text))
		}
	}
	if err != nil {
		return was
	}
	return value
}

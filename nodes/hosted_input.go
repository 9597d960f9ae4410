package nodes

import (
	"context"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/providers/hosted"
)

// input returns the inputs to send: only those that were typed or connected,
// coerced to the types of the model's schema. Files are uploaded and secrets
// opened last, after all checks, so that a rejected input costs nothing.
func (s *hostedStep) input(ctx context.Context, form *hosted.Form) (map[string]any, error) {
	given, err := collectInput(s.in)
	if err != nil {
		return nil, err
	}
	values := coerceInput(form, given)
	if problems := append(form.Check(withSampleURLs(form, values)), form.Missing(values)...); len(problems) > 0 {
		return nil, badInput(s.m.ref, problems)
	}
	for i := range form.Fields {
		f := &form.Fields[i]
		value, given := values[f.Name]
		if !given {
			continue
		}
		if values[f.Name], err = s.fill(ctx, f, value); err != nil {
			return nil, err
		}
	}
	if form.Open {
		return s.openInput(ctx, values)
	}
	return values, nil
}

// openInput fills in the inputs of a model without an input schema. An input
// whose name looks like a secret is treated as one.
func (s *hostedStep) openInput(ctx context.Context, values map[string]any) (map[string]any, error) {
	for _, name := range sorting.Keys(values) {
		f := hosted.Field{Name: name, Widget: hosted.WidgetJSON}
		if unknownField(name).Type == flow.FieldSecret {
			f.Widget = hosted.WidgetSecret
		}
		var err error
		if values[name], err = s.fill(ctx, &f, values[name]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// withSampleURLs returns the input for Form.Check: files inside JSON are replaced by a
// sample URL, because the upload will replace them by URLs.
func withSampleURLs(form *hosted.Form, values map[string]any) map[string]any {
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

// badInput returns the error for invalid inputs, listing all of them.
func badInput(model string, problems []hosted.Problem) error {
	var b strings.Builder
	b.WriteString("The model does not accept this input.")
	for _, p := range problems {
		b.WriteString(" " + inputPrefix + p.Field + ": " + p.Detail)
	}
	return flow.Errorf(flow.CodeInputInvalid, "%s Model: %s.", b.String(), model)
}

// collectInput collects the inputs by name. Edges take precedence over typed
// fields, and single inputs over the object of all inputs.
func collectInput(in *flow.In) (map[string]any, error) {
	given, ok := inputObject(firstSet(in.Ports[allInputs], in.Config[allInputs]))
	if !ok {
		return nil, flow.Errorf(flow.CodeInputInvalid, "%s must be a JSON object with the model's inputs by name.", allInputs)
	}
	addInputs(in, given)
	return given, nil
}

// addInputs adds the single inputs of a node, by name without inputPrefix. Edges take
// precedence over typed fields.
func addInputs(in *flow.In, given map[string]any) {
	for _, from := range []map[string]any{in.Config, in.Ports} {
		for name, value := range from {
			if input, ok := strings.CutPrefix(name, inputPrefix); ok && input != "" {
				given[input] = value
			}
		}
	}
}

// firstSet returns a, or b if a is nil.
func firstSet(a, b any) any { // cmp.Or cannot compare objects
	if a != nil {
		return a
	}
	return b
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

// coerceInput coerces values to the types in the schema where this loses nothing.
// Null means not set, and so does an empty text where no text is expected.
func coerceInput(form *hosted.Form, given map[string]any) map[string]any {
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

// fill replaces secrets and files in the value of an input.
func (s *hostedStep) fill(ctx context.Context, f *hosted.Field, value any) (any, error) {
	if f.Widget == hosted.WidgetSecret {
		return s.in.Secret(ctx, value, hostOf(s.host.Address()))
	}
	return s.upload(ctx, f, value)
}

// upload replaces file values, at any depth, by URLs that the model can read.
func (s *hostedStep) upload(ctx context.Context, f *hosted.Field, value any) (any, error) {
	var err error
	switch v := flow.Ordered(value).(type) {
	case []any:
		out := slices.Clone(v)
		for i := range out {
			if out[i], err = s.upload(ctx, f, v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *flow.Object:
		if _, isFile := flow.FileID(v); isFile {
			return s.putFile(ctx, v.Map())
		}
		if f.Widget == hosted.WidgetFile || f.Widget == hosted.WidgetFiles {
			return nil, badInput(s.m.ref, []hosted.Problem{{Field: f.Name, Detail: "This must be a file or its URL."}})
		}
		return v.Replace(func(_ string, item any) (any, error) { return s.upload(ctx, f, item) })
	}
	return value, nil
}

// putFile uploads a file and returns its URL. A file that is used several times
// is uploaded once.
func (s *hostedStep) putFile(ctx context.Context, value map[string]any) (string, error) {
	id, _ := flow.FileID(value)
	if address, ok := s.uploaded[id]; ok {
		return address, nil
	}
	file, content, err := s.in.OpenFile(ctx, value)
	if err != nil {
		return "", err
	}
	_ = content.Close() // nothing was read
	address, err := s.host.PutFile(ctx, s.m.access.Secret, hosted.Upload{
		Name: withEnding(file.Name, file.MIME), MIME: file.MIME, Size: file.Size,
		Open: func() (io.ReadCloser, error) {
			_, content, err := s.in.OpenFile(ctx, value)
			return content, err
		},
	})
	if err != nil {
		return "", s.m.failed(ctx, err)
	}
	if s.uploaded == nil {
		s.uploaded = map[string]string{}
	}
	s.uploaded[id] = address
	return address, nil
}

// hostOf returns the host of one of Sluice's own URLs, with its port.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return flow.HostPort(u)
}

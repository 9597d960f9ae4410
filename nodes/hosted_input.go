package nodes

import (
	"context"
	"io"
	"net/url"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/nodes/pinned"
	"sluice/providers/hosted"
)

// input returns the inputs to send: only those that were typed or connected,
// coerced to the types of the model's schema. Files are uploaded and secrets
// opened last, after all checks, so that a rejected input costs nothing.
func (s *hostedStep) input(ctx context.Context, form *hosted.Form) (map[string]any, error) {
	given, err := pinned.Collect(s.in)
	if err != nil {
		return nil, err
	}
	values := pinned.Coerce(form, given)
	if problems := append(form.Check(pinned.WithSampleURLs(form, values)), form.Missing(values)...); len(problems) > 0 {
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
		if pinned.UnknownField(name).Type == flow.FieldSecret {
			f.Widget = hosted.WidgetSecret
		}
		var err error
		if values[name], err = s.fill(ctx, &f, values[name]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// badInput returns the error for invalid inputs, listing all of them.
func badInput(model string, problems []hosted.Problem) error {
	var b strings.Builder
	b.WriteString("The model does not accept this input.")
	for _, p := range problems {
		b.WriteString(" " + pinned.InputPrefix + p.Field + ": " + p.Detail)
	}
	return flow.Errorf(flow.CodeInputInvalid, "%s Model: %s.", b.String(), model)
}

// firstSet returns a, or b if a is nil.
func firstSet(a, b any) any { // cmp.Or cannot compare objects
	if a != nil {
		return a
	}
	return b
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

package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"sluice/flow"
	"sluice/views/components"
	"strings"
)

// InputPrefix begins the names of the fields that are inputs of the flow, lest
// one of them be called like a field of our own.
const InputPrefix = "in."

// MaxInputText bounds the values of a form of inputs, in bytes, without its files.
const MaxInputText = 4 << 20

// Inputs is a form of inputs as it came.
type Inputs struct {
	Options    TestRunOptions
	Filled bool   // the fields came with it; else those of the parent hold
	Tab    string // the page that sent it, where it wants to hear of it
	texts  map[string]string
	Files  map[string]any    // values of the files that came
	Last   map[string]string // IDs of the files to be kept

	ws      string            // owns the files that come
	maxFile int64             // bytes of each; zero means the store's own limit
	Accepts   func(string) bool // tells of a file whether it is kept; nil: all are
	TooLarge   map[string]bool   // inputs whose file had more bytes than that
}

func (c *Call) NewInputs(ws string, maxFile int64) *Inputs {
	return &Inputs{texts: map[string]string{}, Files: map[string]any{}, Last: map[string]string{}, TooLarge: map[string]bool{}, ws: ws, maxFile: maxFile}
}

// Sort finds the inputs among the fields.
func (t *Inputs) Parse(fields map[string]string) {
	for name, text := range fields {
		if input, ok := strings.CutPrefix(name, InputPrefix); ok {
			t.texts[input] = text
		} else if input, ok := strings.CutPrefix(name, "last."+InputPrefix); ok {
			t.Last[input] = text
		}
	}
}

// ReadInputFields reads the fields of a form and stores its files. If it returns an
// error, the fields before the error are kept.
func (c *Call) ReadInputFields(t *Inputs) (map[string]string, error) {
	values, err := c.ReadForm(MaxInputText, func(field string, part *multipart.Part) error {
		if input, ok := strings.CutPrefix(field, InputPrefix); ok {
			return c.keepPart(t, input, part)
		}
		return nil
	})
	if _, large := errors.AsType[FormTooLarge](err); large {
		err = flow.Errorf(flow.CodeBodyTooLarge, "The inputs are larger than %s. Pass long ones as files.", flow.Size(MaxInputText))
	}
	fields := map[string]string{}
	for name := range values {
		fields[name] = values.Get(name)
	}
	return fields, err
}

// keepPart keeps a file, if it is wanted. One that is not is read over.
func (c *Call) keepPart(t *Inputs, input string, part *multipart.Part) error {
	if t.Accepts != nil && !t.Accepts(input) {
		return nil
	}
	content := &UploadReader{Source: part}
	f, err := c.s.Store.SaveFile(c.Ctx(), flow.NewFile{WorkspaceID: t.ws, Name: part.FileName(), MIME: part.Header.Get("Content-Type"), MaxSize: t.maxFile}, content)
	if content.Err != nil {
		return content.Err
	}
	if t.Accepts != nil && errors.Is(err, &flow.Error{Code: flow.CodeBodyTooLarge}) {
		t.TooLarge[input] = true
		return nil
	}
	if err != nil {
		return err
	}
	t.Files[input] = f.Value()
	return nil
}

// Arriving is a file on its way from the request into the store. That it broke
// off is the sender's doing, and never the end of a shorter file.
type UploadReader struct {
	Source   io.Reader
	Err error
}

// Read gives the next piece.
func (a *UploadReader) Read(p []byte) (int, error) {
	n, err := a.Source.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	a.Err = err
	if _, large := errors.AsType[*http.MaxBytesError](err); !large { // which has words of its own
		a.Err = ErrUploadIncomplete
	}
	return n, a.Err
}

var ErrUploadIncomplete = flow.Errorf(flow.CodeInputInvalid, "A file did not arrive whole. Choose it again and send the form once more.")

// Given is what was typed, as the inputs of a start. A field left empty is left
// out, except a text that need not be there: it is meant to be empty.
func (t *Inputs) Values(inputs []flow.Input) map[string]any {
	given := map[string]any{}
	for i := range inputs {
		if v, ok := t.value(&inputs[i]); ok {
			given[inputs[i].Name] = v
		}
	}
	return given
}

func (t *Inputs) value(in *flow.Input) (v any, ok bool) {
	text, came := t.texts[in.Name]
	switch in.Type {
	case flow.TypeFile:
		if file, ok := t.Files[in.Name]; ok {
			return file, true
		}
		return t.Last[in.Name], t.Last[in.Name] != ""
	case flow.TypeBoolean:
		if len(in.Enum) == 0 {
			return came && text != "false" && text != "", true // a box that is not ticked is not sent
		}
	case flow.TypeText:
		return strings.ReplaceAll(text, "\r\n", "\n"), came && (text != "" || !in.Required)
	case flow.TypeList:
		return listOf(text), came && strings.TrimSpace(text) != ""
	}
	return text, came && strings.TrimSpace(text) != ""
}

// listOf reads a list typed as JSON, or as one item a line.
func listOf(text string) any {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return text
	}
	list := []any{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// InputField is the field of one input, with what was typed into it, or else
// the value of the run before, or else the default.
func InputField(in *flow.Input, last map[string]any, typed *Inputs) components.RunField {
	f := components.RunField{Type: string(in.Type), Field: components.Field{
		ID: "run-" + in.Name, Name: InputPrefix + in.Name, Label: in.Name, Help: in.Description, Optional: !in.Required,
		Mono: in.Type == flow.TypeJSON || in.Type == flow.TypeList, Attrs: map[string]any{},
	}}
	value, known := last[in.Name]
	if !known && in.HasDefault {
		value, known = in.Default, true
	}
	if typed != nil && typed.Filled {
		value, known = typed.value(in)
	}
	if in.HasExample {
		f.Example = typedForm(in, in.Example)
		f.Placeholder = f.Example
	}
	for _, e := range in.Enum {
		f.Options = append(f.Options, components.Option{Value: typedForm(in, e), Label: typedForm(in, e)})
	}
	if len(f.Options) > 0 && !in.HasDefault {
		f.Options = append([]components.Option{{Value: "", Label: "Choose…"}}, f.Options...)
	}
	fillField(&f, in, value, known)
	return f
}

// fillField gives the field its value and the limits of its type.
func fillField(f *components.RunField, in *flow.Input, value any, known bool) {
	switch in.Type {
	case flow.TypeBoolean:
		f.Checked, f.Value = value == true || value == "true", "true"
		if len(in.Enum) > 0 {
			f.Value = flow.Text(value)
		}
		return
	case flow.TypeFile:
		f.Attrs["accept"] = strings.Join(in.Accept, ",")
		if id, ok := flow.FileID(value); ok {
			file := components.FileOf(value)
			f.Last = &file
			f.Attrs["required"] = false
			_ = id
		}
		return
	case flow.TypeNumber:
		f.Field.Type = "number"
		f.Attrs["step"] = "any"
		bounds(f, in)
	case flow.TypeList:
		if f.Help == "" {
			f.Help = "One item a line, or a list in JSON."
		}
	}
	if known {
		f.Value = typedForm(in, value)
	}
}

func bounds(f *components.RunField, in *flow.Input) {
	if in.Min != nil {
		f.Attrs["min"] = fmt.Sprint(*in.Min)
	}
	if in.Max != nil {
		f.Attrs["max"] = fmt.Sprint(*in.Max)
	}
}

// typedForm is a value as a person would type it into the field.
func typedForm(in *flow.Input, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	if list, ok := v.([]any); ok && in.Type == flow.TypeList {
		if lines, ok := plainLines(list); ok {
			return lines
		}
	}
	if in.Type == flow.TypeJSON || in.Type == flow.TypeList {
		return Indented(v)
	}
	return flow.Text(v)
}

// plainLines writes a list of texts one a line, if that can be read back.
func plainLines(list []any) (string, bool) {
	var lines []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok || strings.TrimSpace(s) != s || s == "" || strings.ContainsAny(s, "\r\n") || strings.HasPrefix(s, "[") {
			return "", false
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "\n"), true
}

func Indented(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(flow.EncodeJSON(v))
	}
	return string(text)
}

// TestRunOptions is what somebody wants of a run of the draft.
type TestRunOptions struct {
	Until  string // run to here
	From   string // run from here, taking over what
	Parent string // this run gave
}

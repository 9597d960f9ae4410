package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/sorting"
	"sluice/views/components"
)

// InputPrefix begins the names of form fields that are inputs of a flow, so that an
// input cannot collide with another field of the form.
const InputPrefix = "in."

// MaxInputText bounds the values of a form of inputs, in bytes, without its files.
const MaxInputText = 4 << 20

// Inputs is a submitted form with the inputs of a flow.
type Inputs struct {
	Options TestRunOptions
	Filled  bool   // the form has fields; otherwise the inputs of the parent run apply
	Tab     string // ID of the browser tab that sent it, for events
	texts   map[string]string
	Files   map[string]any    // values of uploaded files, by input
	Last    map[string]string // IDs of files of an earlier run to use again, by input
	urls    map[string]string // addresses of files, by input

	ws       flow.WorkspaceID  // workspace that owns uploaded files
	maxFile  int64             // bytes of each file; 0 means the store's limit
	Accepts  func(string) bool // reports whether an input takes a file; nil: all do
	Refused  bool              // the form is refused anyway, so its files are not stored
	TooLarge map[string]bool   // inputs whose file exceeds maxFile
}

// NewInputs returns an empty form whose files will belong to a workspace.
func (c *Call) NewInputs(ws flow.WorkspaceID, maxFile int64) *Inputs {
	return &Inputs{texts: map[string]string{}, Files: map[string]any{}, Last: map[string]string{}, urls: map[string]string{}, TooLarge: map[string]bool{}, ws: ws, maxFile: maxFile}
}

// Parse takes the inputs from the fields of a form.
func (t *Inputs) Parse(fields map[string]string) {
	for name, text := range fields {
		if input, ok := strings.CutPrefix(name, InputPrefix); ok {
			t.texts[input] = text
		} else if input, ok := strings.CutPrefix(name, "last."+InputPrefix); ok {
			t.Last[input] = text
		} else if input, ok := strings.CutPrefix(name, "url."+InputPrefix); ok {
			t.urls[input] = strings.TrimSpace(text)
		}
	}
}

// Codes of problems that only forms have.
const (
	CodeRepeated = "duplicate"     // an input has several values or files
	CodeNoFile   = "takes_no_file" // the input takes no file
)

// errInput returns the error for a form that sends an input in a way that no page of Sluice does. To use a part of what was sent
// would be a silent loss of the rest.
func errInput(input, code, detail string) error {
	return &flow.Error{Code: flow.CodeInputInvalid, Message: fmt.Sprintf("The input %q %s.", input, detail), Fields: []flow.Problem{{Pointer: flow.Pointer(input), Code: code, Detail: detail}}}
}

const repeatedDetail = "was sent more than once; send one value"

// ReadInputFields reads the fields of a form and stores its files. With an error it also
// returns the fields before it.
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
	for _, name := range sorting.Keys(values) {
		fields[name] = values.Get(name)
		if input, ok := strings.CutPrefix(name, InputPrefix); ok && err == nil && len(values[name]) > 1 {
			err = errInput(input, CodeRepeated, repeatedDetail)
		}
	}
	return fields, err
}

// keepPart stores a file. It is an error if the input takes none or has one already.
func (c *Call) keepPart(t *Inputs, input string, part *multipart.Part) error {
	switch {
	case t.Refused:
		return nil
	case t.Accepts != nil && !t.Accepts(input):
		return errInput(input, CodeNoFile, "takes no file")
	case t.Files[input] != nil || t.TooLarge[input]:
		return errInput(input, CodeRepeated, repeatedDetail)
	}
	f, err := c.SavePart(t.ws, part, t.maxFile)
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

// SavePart stores the file of a form.
func (c *Call) SavePart(ws flow.WorkspaceID, part *multipart.Part, maxFile int64) (*flow.File, error) {
	content := &UploadReader{Source: part}
	f, err := c.s.Store.SaveFile(c.Ctx(), flow.NewFile{WorkspaceID: ws, Name: part.FileName(), MIME: part.Header.Get("Content-Type"), MaxSize: maxFile}, content)
	if content.Err != nil {
		return nil, content.Err
	}
	return f, err
}

// UploadReader reads an uploaded file and records the error of a failed read, which
// the store does not return.
type UploadReader struct {
	Source io.Reader
	Err    error
}

// Read implements io.Reader.
func (a *UploadReader) Read(p []byte) (int, error) {
	n, err := a.Source.Read(p)
	if err == nil || err == io.EOF {
		return n, err
	}
	a.Err = err
	if _, large := errors.AsType[*http.MaxBytesError](err); !large { // too large, which has its own message
		a.Err = ErrUploadIncomplete
	}
	return n, a.Err
}

// ErrUploadIncomplete is the error for an upload that the client aborted.
var ErrUploadIncomplete = flow.Errorf(flow.CodeInputInvalid, "A file did not arrive whole. Choose it again and send the form once more.")

// HasUnknown reports whether the form has a value for an input that is not known: a page may have been opened before
// a version with other inputs was published.
func (t *Inputs) HasUnknown(known func(input string) bool) bool {
	for _, values := range []map[string]string{t.texts, t.urls} {
		if slices.ContainsFunc(sorting.Keys(values), func(input string) bool { return !known(input) && strings.TrimSpace(values[input]) != "" }) {
			return true
		}
	}
	return false
}

// Values returns the inputs for starting a run. Empty fields are left out, except
// an optional text, which is then meant to be empty.
func (t *Inputs) Values(inputs []contract.Input) *flow.Object {
	given := &flow.Object{}
	for i := range inputs {
		if v, ok := t.value(&inputs[i]); ok {
			given.Set(inputs[i].Name, v)
		}
	}
	return given
}

// value returns the value of an input, and reports whether there is one. A file is the uploaded one,
// otherwise a URL, otherwise the file of an earlier run in Last. Numbers and JSON stay text, which is
// converted when a run starts. An unchecked box is false, not missing.
func (t *Inputs) value(in *contract.Input) (v any, ok bool) {
	text, sent := t.texts[in.Name]
	switch in.Type {
	case flow.TypeFile:
		if file, ok := t.Files[in.Name]; ok {
			return file, true
		}
		if address := t.urls[in.Name]; address != "" {
			return address, true
		}
		return t.Last[in.Name], t.Last[in.Name] != ""
	case flow.TypeBoolean:
		switch {
		case len(in.Enum) > 0:
		case text == "true", text == "on": // browsers send "on" for a checked box without a value
			return true, true
		case !sent, text == "false", text == "": // and nothing for an unchecked one
			return false, true
		}
	case flow.TypeText:
		return strings.ReplaceAll(text, "\r\n", "\n"), sent && (text != "" || !in.Required)
	case flow.TypeList:
		return ParseList(text), sent && strings.TrimSpace(text) != ""
	}
	return text, sent && strings.TrimSpace(text) != ""
}

// ParseList parses a list with one item per line. A JSON list stays text, which is parsed when
// the inputs are validated.
func ParseList(text string) any {
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

// InputField returns the form field of an input. Its value is what the user typed, otherwise
// the value of the previous run, otherwise the default.
func InputField(in *contract.Input, last *flow.Object, typed *Inputs) components.RunField {
	f := components.RunField{Type: string(in.Type), Field: components.Field{
		ID: "run-" + in.Name, Name: InputPrefix + in.Name, Label: in.Name, Help: in.Description, Optional: !in.Required,
		Mono: in.Type == flow.TypeJSON || in.Type == flow.TypeList, Attrs: map[string]any{},
	}}
	if in.Secret { // never filled in
		f.Type, f.Field.Type, f.Autocomplete, last = "secret", "password", "off", nil
		typed = nil
	}
	value, known := last.Lookup(in.Name)
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

// fillField sets the value of a field and the attributes of its type.
func fillField(f *components.RunField, in *contract.Input, value any, known bool) {
	switch in.Type {
	case flow.TypeBoolean:
		f.Checked, f.Value = value == true || value == "true", "true"
		if len(in.Enum) > 0 {
			f.Value = flow.Text(value)
		}
		return
	case flow.TypeFile:
		f.Attrs["accept"] = strings.Join(in.Accept, ",")
		f.Attrs["required"] = false // a URL is enough
		if remote, ok := flow.RemoteFileOf(value); ok {
			f.URL = remote.URL
		}
		if _, ok := flow.FileID(value); ok {
			file := components.FileOf(value)
			f.Last = &file
		}
		return
	case flow.TypeNumber:
		f.Field.Type = "number"
		f.Attrs["step"] = "any"
		if in.Min != nil {
			f.Attrs["min"] = fmt.Sprint(*in.Min)
		}
		if in.Max != nil {
			f.Attrs["max"] = fmt.Sprint(*in.Max)
		}
	case flow.TypeList:
		if f.Help == "" && in.TakesFiles() {
			f.Help = "One URL a line, or a list of files in JSON."
		} else if f.Help == "" {
			f.Help = "One item a line, or a list in JSON."
		}
	}
	if known {
		f.Value = typedForm(in, value)
	}
}

// typedForm returns a value in the form in which a user types it.
func typedForm(in *contract.Input, v any) string {
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

// plainLines returns a list of texts with one per line. It reports false if
// ParseList would not read the same list back.
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

// Indented returns a value as indented JSON.
func Indented(v any) string {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(flow.EncodeJSON(v))
	}
	return string(text)
}

// TestRunOptions are the options of a run of the draft.
type TestRunOptions struct {
	Until  string // ID of the last node to run; "" runs all
	From   string // ID of the first node to run; steps before it are reused
	Parent string // ID of the run whose steps are reused
	Drafts bool   // steps run the drafts of other flows
}

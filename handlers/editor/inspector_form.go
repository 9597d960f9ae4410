package editor

import (
	"cmp"
	"mime/multipart"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/wording"
	"sluice/handlers/web"
	editorview "sluice/views/editor"
)

// nodeForm is a submitted form of a node, with the edits that it makes or its
// errors.
type nodeForm struct {
	values url.Values
	node   *flow.Node
	kind   *flow.Kind
	edits  []document.Edit
	typed  map[string]document.FormValue // changed values, by field
	errors map[string]string             // messages, by field or member
}

// nodeForm reads the form. Uploaded files are stored immediately.
func (c *call) nodeForm(t *draftNode) (*nodeForm, error) {
	values, files, err := c.readNodeForm()
	if err != nil {
		return nil, err
	}
	f := &nodeForm{values: values, node: t.node, kind: t.kind, typed: map[string]document.FormValue{}, errors: map[string]string{}}
	if edge := values.Get("disconnect"); edge != "" {
		f.disconnect(edge)
		return f, nil
	}
	if place := values.Get("place"); place != "" {
		f.placeEdge(place)
		return f, nil
	}
	if values.Has("upgrade") {
		return f, applyPinned(c, f, flow.Text(t.node.Config["model"]))
	}
	for _, field := range document.FormFields(t.node, t.kind) {
		f.readField(&field, files[field.Name])
	}
	f.readMembers()
	if model, changed := f.chosenModel(); changed && !f.hasErrors() {
		return f, applyPinned(c, f, model)
	}
	return f, nil
}

// hasErrors reports whether any field is invalid.
func (f *nodeForm) hasErrors() bool { return len(f.errors) > 0 }

// placeEdge gives one edge into this node another place among those of its port: from>to>place.
func (f *nodeForm) placeEdge(value string) {
	cut := strings.LastIndexByte(value, '>')
	place, err := strconv.Atoi(value[cut+1:])
	if cut < 0 || err != nil {
		return
	}
	before := len(f.edits)
	if f.disconnect(value[:cut]); len(f.edits) > before {
		f.edits = append(f.edits, document.Edit{Op: document.OpConnect, Edge: f.edits[before].Edge, At: &place})
	}
}

// disconnect removes one edge into this node.
func (f *nodeForm) disconnect(edge string) {
	from, to, _ := strings.Cut(edge, ">")
	if strings.HasPrefix(to, f.node.ID+".") {
		f.edits = append(f.edits, document.Edit{Op: document.OpDisconnect, Edge: flow.Edge{From: from, To: to}})
	}
}

// readField adds an edit for a field if its value differs from the draft.
func (f *nodeForm) readField(field *flow.Field, file map[string]any) {
	current := f.node.Config[field.Name]
	typed, sent := f.formValue(field)
	if file != nil {
		typed, sent = withFile(typed, file), true
	}
	if !sent || sameValue(field, typed, document.FormOf(field, current)) {
		return
	}
	f.typed[field.Name] = typed
	value, err := document.ParseForm(field, typed)
	if err != nil {
		f.errors[field.Name] = wording.Sentence(err.Error())
		return
	}
	f.edits = append(f.edits, document.Edit{Op: document.OpSet, Node: f.node.ID, Field: field.Name, Value: value, Unset: value == nil})
}

// formValue returns the submitted value of a field. sent is false if the form has
// no controls for it.
func (f *nodeForm) formValue(field *flow.Field) (v document.FormValue, sent bool) {
	name := field.Name
	if !f.values.Has("as." + name) {
		return v, false
	}
	v = document.FormValue{As: flow.FieldType(f.values.Get("as." + name)), Names: f.values["name."+name], Texts: f.values["text."+name], Kept: f.values["kept."+name]}
	switch v.As {
	case flow.FieldBoolean:
		if len(v.Texts) == 0 {
			v.Texts = []string{"false"} // browsers do not send unchecked boxes
		}
	case flow.FieldSecret:
		v.Texts = append(v.Texts, "")[:1]
	case flow.FieldFile:
		if f.values.Has("drop." + name) {
			v.Kept = []string{""}
		}
	case flow.FieldList, flow.FieldMap:
		v = withoutEmptyRows(v)
	}
	return v, true
}

// withoutEmptyRows drops the empty rows of a list or map. The form always has one
// empty row for the next item.
func withoutEmptyRows(v document.FormValue) document.FormValue {
	out := document.FormValue{As: v.As}
	for i := range v.Texts {
		name, kept := "", ""
		if i < len(v.Names) {
			name = v.Names[i]
		}
		if i < len(v.Kept) {
			kept = v.Kept[i]
		}
		if name+kept+v.Texts[i] == "" {
			continue
		}
		if v.As == flow.FieldMap {
			out.Names = append(out.Names, name)
		}
		out.Texts, out.Kept = append(out.Texts, v.Texts[i]), append(out.Kept, kept)
	}
	return out
}

// withFile puts an uploaded file into a field: in place of its value, or at the
// end of a list.
func withFile(v document.FormValue, file map[string]any) document.FormValue {
	kept := string(flow.EncodeJSON(file))
	if v.As == flow.FieldList {
		v.Texts, v.Kept = append(slices.Clone(v.Texts), ""), append(slices.Clone(v.Kept), kept)
		return v
	}
	return document.FormValue{As: flow.FieldFile, Texts: []string{""}, Kept: []string{kept}}
}

// sameValue reports whether a submitted value equals the value of the draft. A
// control that shows the default because nothing is set counts as unchanged.
func sameValue(field *flow.Field, typed, current document.FormValue) bool {
	if typed.Equal(current) {
		return true
	}
	defaultValue := field.Default
	if defaultValue == nil {
		defaultValue = field.Suggest
	}
	unset := strings.Join(current.Texts, "")+strings.Join(current.Kept, "") == ""
	showsDefault := field.Type == flow.FieldBoolean || field.Type == flow.FieldValueType
	return unset && showsDefault && len(typed.Texts) == 1 && typed.Texts[0] == flow.Text(defaultValue)
}

// chosenModel returns the hosted model that the form changes the node to, if any.
func (f *nodeForm) chosenModel() (string, bool) {
	for _, e := range f.edits {
		if field := f.kind.Field(e.Field); e.Op == document.OpSet && field != nil && field.Type == flow.FieldModel && field.Task == web.HostedTask {
			return flow.Text(e.Value), !e.Unset
		}
	}
	return "", false
}

// show copies the submitted values and their errors back into the pane.
func (f *nodeForm) show(p *editorview.NodePane) {
	for _, list := range [][]editorview.NodeField{p.Fields, p.Limits, p.More, p.Failing.Values} {
		for i := range list {
			if typed, ok := f.typed[list[i].Name]; ok {
				list[i].Form = withoutSecret(typed)
			}
			list[i].Error = f.errors[list[i].Name]
		}
	}
	p.Label, p.Color = f.values.Get("label"), f.values.Get("color")
	p.Disabled = f.values.Has("disabled")
	p.Failing.Attempts, p.Failing.Backoff = f.values.Get("retry.attempts"), f.values.Get("retry.backoff_s")
	p.Failing.Timeout, p.Failing.OnError = f.values.Get("timeout_s"), f.values.Get("on_error")
	p.Failing.AttemptsError, p.Failing.BackoffError, p.Failing.TimeoutError = f.errors["retry.attempts"], f.errors["retry.backoff_s"], f.errors["timeout_s"]
	if p.Tool != nil {
		p.Tool.Description = f.values.Get("tool.description")
		p.Tool.Error = cmp.Or(f.errors["tool.description"], f.errors["tool.max_calls"])
	}
	p.Open = p.Open || f.hasErrors()
}

// withoutSecret clears a submitted secret, which must not be rendered again.
func withoutSecret(v document.FormValue) document.FormValue {
	if v.As == flow.FieldSecret {
		v.Texts = []string{""}
	}
	return v
}

// maxNodeForm bounds the form of a node in bytes, without files. A node may be as
// large as a whole draft.
const maxNodeForm = flow.MaxDocumentBytes

// readNodeForm reads the form and stores the files that are uploaded with it. It
// returns the values of the files by field.
func (c *call) readNodeForm() (url.Values, map[string]map[string]any, error) {
	files := map[string]map[string]any{}
	values, err := c.ReadForm(maxNodeForm, func(field string, part *multipart.Part) error {
		field, upload := strings.CutPrefix(field, "upload.")
		if !upload {
			return nil
		}
		file, err := storeFile(c, part)
		if err == nil {
			files[field] = file.Value()
		}
		return err
	})
	return values, files, err
}

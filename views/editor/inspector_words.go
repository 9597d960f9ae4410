package editor

import (
	"fmt"
	"strings"

	"sluice/flow"

	"github.com/a-h/templ"
)

// attrs returns the attributes that all controls share. part is "text", or "kept" for a stored
// value that isn't text.
func (f *NodeField) attrs(part string) templ.Attributes {
	a := templ.Attributes{"id": f.id(), "name": part + "." + f.Name}
	if about := f.described(); about != "" {
		a["aria-describedby"] = about
	}
	if f.Error != "" || len(f.Problems) > 0 {
		a["aria-invalid"] = "true"
	}
	if f.Form.As != flow.FieldBoolean && f.Form.As != flow.FieldSelect && f.Form.As != flow.FieldValueType && f.placeholder() != "" && !f.takesURLNow() {
		a["placeholder"] = f.placeholder()
	}
	return a
}

func (f *NodeField) takesURLNow() bool { return f.Form.As == flow.FieldFile }

// grouped reports whether the field has several controls under one label.
func (f *NodeField) grouped() bool {
	return f.Form.As == flow.FieldList || f.Form.As == flow.FieldMap || f.Form.As == flow.FieldFile
}

// mark returns the short remark beside the label.
func (f *NodeField) mark() string {
	switch {
	case f.Required && f.empty() && len(f.Feeds) == 0:
		return "required"
	case f.bounds() != "" && !f.Limit:
		return f.bounds()
	}
	return ""
}

// empty reports whether the field has no value, neither text nor a stored value such as a file.
func (f *NodeField) empty() bool {
	return strings.Join(f.Form.Texts, "")+strings.Join(f.Form.Kept, "") == ""
}

// chosen reports whether an option is selected; without a selection, the default type is.
func (f *NodeField) chosen(option string) bool {
	now := f.text(0)
	if now == "" && f.Type == flow.FieldValueType {
		now = f.usual()
	}
	return now == option
}

// rows returns the initial height of a text area in lines.
func (f *NodeField) rows() string {
	switch {
	case f.Form.As == flow.FieldJSON:
		return "4"
	case f.isPrompt():
		return "6"
	}
	return "3"
}

// rowName returns the accessible name of a row in a list or map.
func (f *NodeField) rowName(i int) string { return fmt.Sprintf("%s %d", f.title(), i+1) }

// rowHint returns the placeholder of the empty row for the next item.
func (f *NodeField) rowHint(i int) string {
	usual, isList := f.Default.([]any)
	switch {
	case isList && i < len(usual):
		return flow.Text(usual[i])
	case i > 0 || isList || f.usual() == "":
		return "Add…"
	}
	return f.usual()
}

// accepts returns the accepted file types.
func (f *NodeField) accepts() string { return strings.Join(f.Accept, ",") }

// looksSecret returns the warning about a text that looks like a secret.
func looksSecret(name string) string {
	if name == "" {
		return "A part of this looks like a secret."
	}
	return "“" + name + "” looks like a secret."
}

package components

import (
	"github.com/a-h/templ"
)

// RunField is the form field of a flow's input.
type RunField struct {
	Field
	// Type is the type of the value: text, number, boolean, json, list, file ...
	Type string
	// Example is the author's example, as text.
	Example string
	// Last is the file of the previous run, which is reused unless another is chosen.
	Last *FileView
	// URL is the URL of a file, as an alternative to an upload.
	URL string
}

// urlLabel returns the label of the field for a file's URL.
func (f RunField) urlLabel() string { return "URL of " + f.Label }

// Control returns the field, with the value that "Use example" fills in.
func (f RunField) Control() Field {
	field := f.Field
	field.Attrs = templ.Attributes{}
	for k, v := range f.Field.Attrs {
		field.Attrs[k] = v
	}
	if f.Example != "" {
		field.Attrs["data-example"] = f.Example
	}
	return field
}

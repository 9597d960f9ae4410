package components

import (
	"github.com/a-h/templ"
)

// RunField is one input of the flow.
type RunField struct {
	Field
	// Type is the type of the value: text, number, boolean, json, list, file ...
	Type string
	// Example is what the flow's author gave as one, as text.
	Example string
	// Last is the file of the run before, kept unless another is chosen.
	Last *FileView
	// URL is the address of a file, given instead of an upload.
	URL string
}

// urlLabel names the field for the address of a file.
func (f RunField) urlLabel() string { return "URL of " + f.Label }

// control is the field with what "Use example" puts into the field.
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

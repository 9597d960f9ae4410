package pinned

import (
	"maps"
	"strings"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/providers/hosted"
)

const (
	// InputPrefix precedes the names of a model's or another flow's inputs in the config and
	// ports of a node.
	InputPrefix = "input."
	// AllInputs is the name of the field and port for all inputs of a model in
	// one object.
	AllInputs = "input"
	// MaxBytes is the maximum size of a stored schema in bytes of JSON. The largest schema of
	// a public model has a quarter of it.
	MaxBytes = 256 << 10
)

// Pin is a parsed schema that a node stores. It is shared between goroutines
// and never modified.
type Pin struct {
	Version  string       // 64 hexadecimal digits; empty for an official model, which has no versions
	Official bool         // kept by the platform itself, and always run at its newest version
	Form     *hosted.Form // reads and checks the inputs
	Shape    flow.DynamicSchema
	weight   int // bytes of memory, roughly
}

// FormOrNil returns the form of the model, or nil if the node stores no schema.
func (p *Pin) FormOrNil() *hosted.Form {
	if p == nil {
		return nil
	}
	return p.Form
}

// pins caches parsed schemas: the same schema is needed at every change of a
// draft, and parsing it takes milliseconds.
var pins = &pinCache{}

// Read parses a stored schema. If it is invalid, why describes the problem.
func Read(v any) (p *Pin, why string) {
	schema, ok := flow.AsMap(value.Plain(v))
	if !ok {
		return nil, "this is not a stored schema: wanted an object with version, input and output"
	}
	if _, ok := flow.AsMap(schema["input"]); !ok {
		return nil, "the stored schema has no input; choose the model again"
	}
	text := flow.EncodeJSON(schema)
	if len(text) > MaxBytes {
		return nil, "the stored schema is larger than 256 KiB; use the model without one"
	}
	return pins.find(flow.Hash(text), func() *Pin {
		p := newPin(schema)
		p.weight = 4*len(text) + partWeight*p.Form.Parts
		return p
	}), ""
}

// newPin derives the form, fields and ports of a schema.
func newPin(schema map[string]any) *Pin {
	m := ModelOf(schema)
	p := &Pin{Version: m.Version, Official: m.Official, Form: hosted.NewForm(m)}
	for i := range p.Form.Fields {
		p.Shape.Fields = append(p.Shape.Fields, inputField(&p.Form.Fields[i]))
	}
	if m.Output["type"] != nil || p.Form.Output.Type != hosted.OutputJSON {
		p.Shape.Outputs = append(p.Shape.Outputs, flow.Port{Name: "output", Type: outputType(p.Form.Output.Type), Items: itemType(p.Form.Output.Type)})
	}
	for _, property := range p.Form.Output.Properties {
		if HasOwnPort(property.Name) {
			p.Shape.Outputs = append(p.Shape.Outputs, flow.Port{
				Name: property.Name, Title: property.Name, Type: outputType(property.Type), Items: itemType(property.Type), Optional: true, Help: "The property " + property.Name + " of the output."})
		}
	}
	return p
}

// ModelOf returns the model that a stored schema describes. nodes.PinModel stores it.
func ModelOf(schema map[string]any) *hosted.Model {
	m := &hosted.Model{All: map[string]any{}}
	m.Version, _ = schema["version"].(string)
	m.Official, _ = schema["official"].(bool)
	m.Input, _ = flow.AsMap(schema["input"])
	m.Output, _ = flow.AsMap(schema["output"])
	shared, _ := flow.AsMap(schema["all"])
	maps.Copy(m.All, shared)
	m.All["Input"] = m.Input
	if m.Output != nil {
		m.All["Output"] = m.Output
	}
	return m
}

// HasOwnPort reports whether a property of an object output gets a port. The
// names of the fixed ports are reserved.
func HasOwnPort(property string) bool {
	return property != "" && property != "output" && property != flow.ErrorPort
}

// Schema returns a field for each input of the model and a port for each
// property of its output. A node without a stored schema accepts any input.
func Schema(n *flow.Node) flow.DynamicSchema {
	if p, why := Read(n.Config["schema"]); why == "" && p.Form.Incompatible == "" {
		return p.Shape
	}
	shape := flow.DynamicSchema{Open: InputPrefix}
	for _, input := range Inputs(n) {
		shape.Fields = append(shape.Fields, UnknownField(input))
	}
	return shape
}

// Inputs returns the names of the inputs that have a value in the config of a node,
// sorted.
func Inputs(n *flow.Node) (inputs []string) {
	for _, name := range sorting.Keys(n.Config) {
		if input, ok := strings.CutPrefix(name, InputPrefix); ok && input != "" {
			inputs = append(inputs, input)
		}
	}
	return inputs
}

// UnknownField returns a field for an input whose schema is not known, only its
// name. Names such as api_key make it a secret, which must not be stored in the
// flow.
func UnknownField(name string) flow.Field {
	guess := hosted.NewForm(&hosted.Model{Input: map[string]any{
		"type": "object", "properties": map[string]any{name: map[string]any{"type": "string"}},
	}})
	f := inputField(&guess.Fields[0])
	if f.Type != flow.FieldSecret {
		f.Type, f.Template = flow.FieldJSON, true
	}
	f.More = false
	return f
}

// inputField converts an input of the model to a field of the node.
func inputField(f *hosted.Field) flow.Field {
	out := flow.Field{Name: InputPrefix + f.Name, Title: f.Title, Help: f.Description, Required: f.Required, More: f.More, Suggest: f.Default}
	switch f.Widget {
	case hosted.WidgetText:
		out.Type, out.Template = flow.FieldText, true
	case hosted.WidgetTextarea:
		out.Type, out.Template = flow.FieldArea, true
	case hosted.WidgetNumber, hosted.WidgetInteger, hosted.WidgetSlider:
		out.Type, out.Min, out.Max = flow.FieldNumber, f.Min, f.Max
		if f.Whole {
			out.Type = flow.FieldInteger
		}
	case hosted.WidgetSwitch:
		out.Type = flow.FieldBoolean
	case hosted.WidgetSelect:
		out.Type = flow.FieldSelect
		out.Options, out.Values = choices(f.Options)
	case hosted.WidgetFile:
		out.Type, out.Value = flow.FieldFile, flow.TypeSource
	case hosted.WidgetFiles:
		out.Type, out.Value = flow.FieldList, flow.TypeSources
	case hosted.WidgetList:
		out.Type, out.Value, out.Template = flow.FieldList, flow.TypeAny, true
	case hosted.WidgetSecret:
		out.Type = flow.FieldSecret
	default:
		out.Type, out.Template = flow.FieldJSON, true
	}
	return out
}

// choices returns the options as texts, and as values unless all of them are
// texts.
func choices(options []any) (texts []string, values []any) {
	for _, o := range options {
		texts = append(texts, flow.Text(o))
		if flow.TypeOf(o) != "text" {
			values = options
		}
	}
	return texts, values
}

// itemType returns the item type of a list output, or "" if it is not known.
func itemType(kind hosted.OutputType) flow.Type {
	if kind == hosted.OutputFiles {
		return flow.TypeFile
	}
	return ""
}

// outputType maps the type of an output to a port type.
func outputType(kind hosted.OutputType) flow.Type {
	switch kind {
	case hosted.OutputText:
		return flow.TypeText
	case hosted.OutputFile:
		return flow.TypeFile
	case hosted.OutputFiles, hosted.OutputList:
		return flow.TypeList
	case hosted.OutputNumber:
		return flow.TypeNumber
	case hosted.OutputSwitch:
		return flow.TypeBoolean
	}
	return flow.TypeJSON
}

// Limits of one generation. The form of a real model takes about 50 KiB, the largest possible
// one 10 MiB.
const (
	pinsKept   = 128
	pinsWeight = 16 << 20
	partWeight = 500 // estimated bytes of memory per part of a form: a map of a few keywords
)

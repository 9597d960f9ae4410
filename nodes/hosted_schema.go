package nodes

import (
	"maps"
	"strings"
	"sync"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/flow/value"
	"sluice/providers/hosted"
)

const (
	// inputPrefix precedes the names of a model's or another flow's inputs in the config and
	// ports of a node.
	inputPrefix = "input."
	// allInputs is the name of the field and port for all inputs of a model in
	// one object.
	allInputs = "input"
	// maxPin is the maximum size of a stored schema in bytes of JSON. The largest schema of
	// a public model has a quarter of it.
	maxPin = 256 << 10
)

// pin is a parsed schema that a node stores. It is shared between goroutines
// and never modified.
type pin struct {
	version  string
	official bool
	form     *hosted.Form
	shape    flow.DynamicSchema
	weight   int // bytes of memory, roughly
}

// pins caches parsed schemas: the same schema is needed at every change of a
// draft, and parsing it takes milliseconds.
var pins = &pinCache{}

// readPin parses a stored schema. If it is invalid, why describes the problem.
func readPin(v any) (p *pin, why string) {
	schema, ok := flow.AsMap(value.Plain(v))
	if !ok {
		return nil, "this is not a stored schema: wanted an object with version, input and output"
	}
	if _, ok := flow.AsMap(schema["input"]); !ok {
		return nil, "the stored schema has no input; choose the model again"
	}
	text := flow.EncodeJSON(schema)
	if len(text) > maxPin {
		return nil, "the stored schema is larger than 256 KiB; use the model without one"
	}
	return pins.find(flow.Hash(text), func() *pin {
		p := newPin(schema)
		p.weight = 4*len(text) + partWeight*p.form.Parts
		return p
	}), ""
}

// newPin derives the form, fields and ports of a schema.
func newPin(schema map[string]any) *pin {
	m := pinnedModel(schema)
	p := &pin{version: m.Version, official: m.Official, form: hosted.NewForm(m)}
	for i := range p.form.Fields {
		p.shape.Fields = append(p.shape.Fields, inputField(&p.form.Fields[i]))
	}
	if m.Output["type"] != nil || p.form.Output.Type != hosted.OutputJSON {
		p.shape.Outputs = append(p.shape.Outputs, flow.Port{Name: "output", Type: outputType(p.form.Output.Type), Items: itemType(p.form.Output.Type)})
	}
	for _, property := range p.form.Output.Properties {
		if hasOwnOutputPort(property.Name) {
			p.shape.Outputs = append(p.shape.Outputs, flow.Port{
				Name: property.Name, Title: property.Name, Type: outputType(property.Type), Items: itemType(property.Type), Optional: true, Help: "The property " + property.Name + " of the output."})
		}
	}
	return p
}

// pinnedModel is the inverse of keepSchema.
func pinnedModel(schema map[string]any) *hosted.Model {
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

// hasOwnOutputPort reports whether a property of an object output gets a port. The
// names of the fixed ports are reserved.
func hasOwnOutputPort(property string) bool {
	return property != "" && property != "output" && property != flow.ErrorPort
}

// hostedSchema returns a field for each input of the model and a port for each
// property of its output. A node without a stored schema accepts any input.
func hostedSchema(n *flow.Node) flow.DynamicSchema {
	if p, why := readPin(n.Config["schema"]); why == "" && p.form.Incompatible == "" {
		return p.shape
	}
	shape := flow.DynamicSchema{Open: inputPrefix}
	for _, input := range typedInputs(n) {
		shape.Fields = append(shape.Fields, unknownField(input))
	}
	return shape
}

// typedInputs returns the names of the inputs that have a value in the config of a node,
// sorted.
func typedInputs(n *flow.Node) (inputs []string) {
	for _, name := range sorting.Keys(n.Config) {
		if input, ok := strings.CutPrefix(name, inputPrefix); ok && input != "" {
			inputs = append(inputs, input)
		}
	}
	return inputs
}

// unknownField returns a field for an input whose schema is not known, only its
// name. Names such as api_key make it a secret, which must not be stored in the
// flow.
func unknownField(name string) flow.Field {
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
	out := flow.Field{Name: inputPrefix + f.Name, Title: f.Title, Help: f.Description, Required: f.Required, More: f.More, Suggest: f.Default}
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

// pinCache is a cache of two generations. When the younger one is full, the
// older one is discarded; entries that are still in use have moved to the
// younger one by then.
type pinCache struct {
	mu           sync.Mutex
	young, older map[string]*pin
	weight       int // of the entries in young
}

// Limits of one generation. The form of a real model takes about 50 KiB, the largest possible
// one 10 MiB.
const (
	pinsKept   = 128
	pinsWeight = 16 << 20
	partWeight = 500 // estimated bytes of memory per part of a form: a map of a few keywords
)

// find returns a cached pin or makes it. make runs without the lock, so two
// goroutines may call it at the same time for equal results.
func (c *pinCache) find(key string, make func() *pin) *pin {
	c.mu.Lock()
	p := c.young[key]
	if p == nil {
		p = c.older[key]
	}
	c.mu.Unlock()
	if p == nil {
		p = make()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young[key] != nil {
		return p
	}
	if c.young == nil || len(c.young) >= pinsKept || c.weight+p.weight > pinsWeight {
		c.young, c.older, c.weight = map[string]*pin{}, c.young, 0
	}
	c.young[key] = p
	c.weight += p.weight
	return p
}

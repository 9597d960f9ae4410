// Package reference describes the node kinds from their declarations: as JSON
// for `sluice kinds --json` and as Markdown for docs/nodes.md. It owns both
// formats and runs nothing.
package reference

import (
	"slices"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/nodes"
)

// KindDescription is a kind as `sluice kinds --json` prints it: the whole
// declaration without the functions. The JSON names are a public format.
type KindDescription struct {
	Kind    string             `json:"kind"`
	Title   string             `json:"title"`
	Group   string             `json:"group"`
	Icon    string             `json:"icon"`
	Summary string             `json:"summary"`
	Doc     string             `json:"doc"`
	Role    string             `json:"role"`  // node, input, output or canvas
	Class   string             `json:"class"` // inline, compute or outside
	Outside bool               `json:"outside_effect"`
	Timeout float64            `json:"timeout_s"` // default time limit of a step
	Fields  []FieldDescription `json:"fields"`
	// Inputs are the input ports, including those of fields. A field that is a template
	// adds one per {{name}} in it.
	Inputs   []flow.Port        `json:"inputs"`
	Outputs  []flow.Port        `json:"outputs"`
	Collects string             `json:"collects,omitempty"` // name of the field that lists output nodes
	Example  ExampleDescription `json:"example"`
}

// FieldDescription is one config field.
type FieldDescription struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Help     string    `json:"help"`
	Type     string    `json:"type"`
	Default  any       `json:"default,omitempty"`
	Options  []string  `json:"options,omitempty"`
	Values   []any     `json:"values,omitempty"` // values of the options, if they are not texts
	Task     string    `json:"task,omitempty"`   // task of a model, such as chat
	Accept   []string  `json:"accept,omitempty"` // media types or file extensions
	Min      *float64  `json:"min,omitempty"`
	Max      *float64  `json:"max,omitempty"`
	Required bool      `json:"required"`
	Typed    bool      `json:"typed"`          // has no port, so it can only be typed
	Port     flow.Type `json:"port,omitempty"` // type of its port, unless typed
	Template bool      `json:"template"`       // adds a port per {{name}}
	Escape   string    `json:"escape,omitempty"`
	More     bool      `json:"more"`              // shown under "More" in the editor
	Secrets  string    `json:"secrets,omitempty"` // where literal secrets move to credentials: names or url
}

// ExampleDescription is a runnable use of a kind.
type ExampleDescription struct {
	Config  map[string]any `json:"config"`
	Ports   map[string]any `json:"ports,omitempty"`
	Outputs map[string]any `json:"outputs,omitempty"` // absent if it depends on the outside world or a model
}

var (
	// roleNames, classNames and escapeNames are the names of constants in the public JSON
	// format, which must not change.
	roleNames   = map[flow.Role]string{flow.RoleNode: "node", flow.RoleInput: "input", flow.RoleOutput: "output", flow.RoleCanvas: "canvas"}
	classNames  = map[flow.Class]string{flow.Inline: "inline", flow.Compute: "compute", flow.Outside: "outside"}
	escapeNames = map[flow.Escape]string{flow.EscapeURL: "url", flow.EscapeJSON: "json", flow.EscapeForm: "form"}
)

// Describe returns all kinds in the order of the palette: by group, then by
// name.
func Describe(kinds *flow.Registry) []KindDescription {
	var list []KindDescription
	for _, k := range kinds.List() {
		list = append(list, describeKind(k))
	}
	sorting.By(list, func(a, b KindDescription) int {
		return slices.Index(nodes.Groups, a.Group) - slices.Index(nodes.Groups, b.Group)
	})
	return list
}

// describeKind describes a kind with the fields and ports of a node whose config is empty.
func describeKind(k *flow.Kind) KindDescription {
	d := KindDescription{
		Kind: k.Name, Title: k.Title, Group: k.Group, Icon: k.Icon, Summary: k.Summary, Doc: k.Doc,
		Role: roleNames[k.Role], Class: classNames[k.Class], Outside: k.Class == flow.Outside,
		Timeout: flow.StepTimeout.Seconds(), Collects: k.OutputsField,
		Fields:  []FieldDescription{},
		Inputs:  append([]flow.Port{}, flow.InputPorts(&flow.Node{}, k)...),
		Outputs: append([]flow.Port{}, k.Outputs...),
		Example: ExampleDescription{Config: k.Example.Config, Ports: k.Example.Ports, Outputs: k.Example.Outputs},
	}
	if k.Timeout > 0 {
		d.Timeout = k.Timeout.Seconds()
	}
	if d.Example.Config == nil {
		d.Example.Config = map[string]any{}
	}
	for i := range k.Fields {
		d.Fields = append(d.Fields, describeField(&k.Fields[i]))
	}
	return d
}

// describeField returns the declaration of a field. Port stays empty for a field that can
// only be typed.
func describeField(f *flow.Field) FieldDescription {
	d := FieldDescription{
		Name: f.Name, Title: f.Title, Help: f.Help, Type: string(f.Type), Default: f.Default, Options: f.Options, Values: f.Values, Task: f.Task, Accept: f.Accept,
		Min: f.Min, Max: f.Max, Required: f.Required, Typed: f.Typed, Template: f.Template,
		Escape: escapeNames[f.Escape], More: f.More, Secrets: string(f.Secrets),
	}
	if !f.Typed {
		d.Port = f.PortType()
	}
	return d
}

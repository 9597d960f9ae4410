package editor

import (
	"slices"
	"strings"

	"sluice/flow"
	"sluice/views/components"
)

// PaletteGroup is a group of the palette with its kinds.
type PaletteGroup struct {
	Title       string
	Short, Icon string // for the rail
	Kinds       []PaletteKind
}

// PaletteKind is a kind that can be added to the flow. The scripts use its JSON, for example to
// find kinds that fit a port.
type PaletteKind struct {
	Name    string     `json:"kind"`
	Title   string     `json:"title"`
	Group   string     `json:"group"`
	Word    string     `json:"word"`
	Icon    string     `json:"icon"`
	Summary string     `json:"summary"`
	Named   bool       `json:"named,omitempty"` // needs a unique name among nodes of its kind
	In      [][]string `json:"in"`              // name and type of each port
	Out     [][]string `json:"out"`
	// Templates are the fields whose {{placeholders}} become ports.
	Templates []string `json:"templates,omitempty"`
	// Adds is a list of names that become ports.
	Adds *PaletteNames `json:"adds,omitempty"`
	// Output marks the kind of outputs. Collects is the field in which nodes of other kinds
	// select the outputs that they send.
	Output   bool   `json:"output,omitempty"`
	Collects string `json:"collects,omitempty"`
	Tool     bool   `json:"tool,omitempty"` // its nodes can be tools of agents
}

// PaletteNames is a field that lists names. Each name becomes an input port and perhaps an
// output port. Both are a pattern of the port's name, in which "*" is the name, and a type.
type PaletteNames struct {
	Field string   `json:"field"`
	In    []string `json:"in"`
	Out   []string `json:"out,omitempty"`
}

// PaletteOf sorts kinds into groups. Unknown groups come last.
func PaletteOf(kinds []*flow.Kind) []PaletteGroup {
	byGroup := map[string][]PaletteKind{}
	var others []string
	for _, k := range kinds {
		if byGroup[k.Group] == nil && !components.IsKindGroup(k.Group) {
			others = append(others, k.Group)
		}
		byGroup[k.Group] = append(byGroup[k.Group], paletteKind(k))
	}
	var list []PaletteGroup
	for _, g := range components.KindGroups {
		if len(byGroup[g.Title]) > 0 {
			list = append(list, PaletteGroup{g.Title, g.Short, g.Icon, byGroup[g.Title]})
		}
	}
	for _, title := range others {
		list = append(list, PaletteGroup{title, title, byGroup[title][0].Icon, byGroup[title]})
	}
	return list
}

// paletteKind returns a kind with its ports, so that scripts can draw a new node before the
// server responds.
func paletteKind(k *flow.Kind) PaletteKind {
	p := PaletteKind{Name: k.Name, Title: k.Title, Group: k.Group, Word: components.GroupWord(k.Group), Icon: k.Icon, Summary: k.Summary, In: [][]string{}, Out: [][]string{}}
	p.Named = k.Role == flow.RoleInput || k.Role == flow.RoleOutput
	p.Output, p.Collects = k.Role == flow.RoleOutput, k.OutputsField
	for _, in := range flow.InputPorts(&flow.Node{Kind: k.Name}, k) {
		if f := k.Field(in.Name); f == nil || !f.More && !f.Limit {
			p.In = append(p.In, []string{in.Name, portType(in.Type)})
		}
	}
	for i := range k.Fields {
		if k.Fields[i].Template {
			p.Templates = append(p.Templates, k.Fields[i].Name)
		}
	}
	p.Adds, p.Tool = namesOf(k), k.Tool != nil
	for _, out := range k.Outputs {
		if p.Output {
			break // the editor offers none
		}
		p.Out = append(p.Out, []string{out.Name, portType(out.Type)})
	}
	return p
}

// namesOf returns the field of a kind whose names become input ports, found by trying a name.
func namesOf(k *flow.Kind) *PaletteNames {
	const probe = "probe_name"
	if k.DynamicSchema == nil {
		return nil
	}
	port := func(name string, t flow.Type) []string {
		return []string{strings.Replace(name, probe, "*", 1), portType(t)}
	}
	for i := range k.Fields {
		f := &k.Fields[i]
		if f.Type != flow.FieldList || !f.Typed {
			continue
		}
		n := &flow.Node{Kind: k.Name, Config: map[string]any{f.Name: []any{probe}}}
		with := *k
		shape := k.DynamicSchema(n)
		with.Fields, with.Outputs = slices.Concat(k.Fields, shape.Fields), slices.Concat(k.Outputs, shape.Outputs)
		names := PaletteNames{Field: f.Name}
		for _, p := range flow.InputPorts(n, &with) {
			if strings.Contains(p.Name, probe) {
				names.In = port(p.Name, p.Type)
			}
		}
		for _, p := range with.Outputs {
			if strings.Contains(p.Name, probe) {
				names.Out = port(p.Name, p.ShownType())
			}
		}
		if names.In != nil {
			return &names
		}
	}
	return nil
}

// island returns the kinds as JSON for scripts.
func island(groups []PaletteGroup) string {
	var list []PaletteKind
	for _, g := range groups {
		list = append(list, g.Kinds...)
	}
	return string(flow.EncodeJSON(list))
}

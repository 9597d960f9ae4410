package editor

import (
	"sluice/flow"
	"sluice/views/components"
)

// PaletteGroup is one heading of the palette with its kinds.
type PaletteGroup struct {
	Title       string
	Short, Icon string // of the rail
	Kinds       []PaletteKind
}

// PaletteKind is one kind that can be put on the canvas. Its JSON is what the
// floating palette knows: what fits a port is decided in the browser.
type PaletteKind struct {
	Name    string     `json:"kind"`
	Title   string     `json:"title"`
	Group   string     `json:"group"`
	Word    string     `json:"word"`
	Icon    string     `json:"icon"`
	Summary string     `json:"summary"`
	Named   bool       `json:"named,omitempty"` // it needs a name that no other node of the kind has
	In      [][]string `json:"in"`              // name and type of each port
	Out     [][]string `json:"out"`
	// Templates are the fields in which {{names}} stand for values of edges.
	Templates []string `json:"templates,omitempty"`
	// Output marks the kind of outputs; Collects is the field in which other kinds
	// name the outputs that they send.
	Output   bool   `json:"output,omitempty"`
	Collects string `json:"collects,omitempty"`
}

// PaletteOf sorts kinds into the groups of the palette. Kinds of a group that
// it does not know come last.
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

// paletteKind returns a kind as the palette and the canvas need it, with its ports, so
// that a new node can be drawn before the server answers.
func paletteKind(k *flow.Kind) PaletteKind {
	p := PaletteKind{Name: k.Name, Title: k.Title, Group: k.Group, Word: components.GroupWord(k.Group), Icon: k.Icon, Summary: k.Summary, In: [][]string{}, Out: [][]string{}}
	p.Named = k.Role == flow.RoleInput || k.Role == flow.RoleOutput
	p.Output, p.Collects = k.Role == flow.RoleOutput, k.OutputsField
	for _, in := range flow.InputPorts(&flow.Node{Kind: k.Name}, k) {
		if f := k.Field(in.Name); f == nil || !f.More {
			p.In = append(p.In, []string{in.Name, portType(in.Type)})
		}
	}
	for i := range k.Fields {
		if k.Fields[i].Template {
			p.Templates = append(p.Templates, k.Fields[i].Name)
		}
	}
	for _, out := range k.Outputs {
		p.Out = append(p.Out, []string{out.Name, portType(out.Type)})
	}
	return p
}

// island is the kinds as JSON for the page.
func island(groups []PaletteGroup) string {
	var list []PaletteKind
	for _, g := range groups {
		list = append(list, g.Kinds...)
	}
	return string(flow.EncodeJSON(list))
}

package editor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/views/components"
)

// NodeFace is one node as the canvas shows it.
type NodeFace struct {
	ID, Kind, KindTitle, Icon string
	// Group is the word of the kind's group, which decides the color.
	Group, Title string
	X, Y         float64
	// Disabled nodes are skipped by runs; pinned ones give sample outputs.
	Disabled, Pinned bool
	// Problems are sentences; Missing names a credential that is not there.
	Problems []string
	Missing  string
	// Line is the part of the config that says most, in a row of its own.
	Line NodeLine
	// Note is the text of a note, which has no ports.
	Note string
	Rows []PortRow
	// More are input ports that are neither fed nor needed, and so not shown.
	More int
}

// NodeLine is a piece of a node's config.
type NodeLine struct {
	Text string
	Mono bool
}

// PortRow is an input beside an output; Line stands where no input does.
type PortRow struct {
	In, Out *PortFace
	Line    NodeLine
}

// PortFace is one port as the canvas shows it.
type PortFace struct {
	Name, Label string
	Type        flow.Type
	// Hint is what was typed in the place of an edge.
	Hint string
	// Many takes several edges; Need wants one, or a typed value, and has neither.
	Many, Need bool
}

// NodeFacts is what a node's face needs beside the node itself.
type NodeFacts struct {
	// Fed are the ports of the flow that an edge touches, as node.port.
	FedIn, FedOut map[string]bool
	Problems      map[string][]flow.Problem
	Pinned        map[string]bool
	// Missing tells which of the credentials that a document names do not exist.
	Missing map[string]bool
	// AllPorts shows also those that are neither fed nor needed.
	AllPorts bool
}

// FactsOf gathers which ports of a document have edges.
func FactsOf(d *flow.Document, problems []flow.Problem) NodeFacts {
	f := NodeFacts{FedIn: map[string]bool{}, FedOut: map[string]bool{}, Problems: document.ByNode(d, problems)}
	for _, e := range d.Edges {
		f.FedOut[e.From], f.FedIn[e.To] = true, true
	}
	return f
}

// FaceOf makes the face of a node; the kind is nil when nobody knows it.
func FaceOf(n *flow.Node, k *flow.Kind, facts NodeFacts) NodeFace {
	face := NodeFace{ID: n.ID, Kind: n.Kind, KindTitle: n.Kind, Icon: "circle-alert", Group: "canvas", Title: document.NodeTitle(n, k), Disabled: n.Disabled, Pinned: facts.Pinned[n.ID]}
	if n.Position != nil {
		face.X, face.Y = n.Position.X, n.Position.Y
	}
	for _, p := range facts.Problems[n.ID] {
		face.Problems = append(face.Problems, Sentence(p.Detail))
	}
	for _, name := range n.Credentials() {
		if facts.Missing[name] {
			face.Missing = name
		}
	}
	if k == nil {
		face.Rows = strangerRows(n, facts)
		return face
	}
	face.KindTitle, face.Icon, face.Group = k.Title, k.Icon, components.GroupWord(k.Group)
	if k.Role == flow.RoleCanvas {
		face.Note = clip(flow.Text(n.Config["text"]), noteRunes)
		return face
	}
	face.ports(n, k, facts)
	return face
}

// How much of a text a node shows, in characters.
const (
	lineRunes = 60
	hintRunes = 24
	noteRunes = 400
)

// ports puts inputs and outputs side by side, with the line of the config where
// it needs no row of its own.
func (face *NodeFace) ports(n *flow.Node, k *flow.Kind, facts NodeFacts) {
	ins, more := shownInputs(n, k, facts)
	outs := flow.OutputPorts(n, k)
	line := lineOf(n, k)
	face.More = more
	for i := range max(len(ins), len(outs)) {
		var row PortRow
		if i < len(ins) {
			row.In = &ins[i]
		}
		if i < len(outs) {
			row.Out = &PortFace{Name: outs[i].Name, Label: portLabel(outs[i].Name), Type: outs[i].ShownType()}
			if k.Role == flow.RoleInput {
				row.Out.Type = contract.ReadInput(n).Type
			}
		}
		face.Rows = append(face.Rows, row)
	}
	if len(ins) < len(outs) {
		face.Rows[len(ins)].Line = line
		return
	}
	face.Line = line
}

// shownInputs are the ports that matter: those of the kind itself, those grown
// by a template, and fields that are fed, needed, or typed and not said in the
// line above. It counts the others.
func shownInputs(n *flow.Node, k *flow.Kind, facts NodeFacts) (list []PortFace, more int) {
	for _, p := range flow.InputPorts(n, k) {
		f := k.Field(p.Name)
		fed := facts.FedIn[n.ID+"."+p.Name]
		if !facts.AllPorts && !fed && f != nil && !inSight(n, f) {
			more++
			continue
		}
		face := PortFace{Name: p.Name, Label: portLabel(p.Name), Type: p.Type, Many: p.List, Need: p.Required && !fed}
		if !fed && f != nil {
			face.Hint = hintOf(n.Config[p.Name])
		}
		list = append(list, face)
	}
	return list, more
}

// inSight reports whether a field without an edge has a port on the canvas.
func inSight(n *flow.Node, f *flow.Field) bool {
	_, typed := n.Config[f.Name]
	switch {
	case f.Type == flow.FieldModel, f.Type == flow.FieldSecret:
		return false
	case f.Required && !(f.Template && typed):
		return true
	}
	return false
}

// strangerRows gives a node of an unknown kind the ports that edges name, so
// that nothing hangs in the air.
func strangerRows(n *flow.Node, facts NodeFacts) []PortRow {
	ins, outs := touched(n.ID, facts.FedIn), touched(n.ID, facts.FedOut)
	rows := make([]PortRow, max(len(ins), len(outs)))
	for i := range ins {
		rows[i].In = &ins[i]
	}
	for i := range outs {
		rows[i].Out = &outs[i]
	}
	return rows
}

// touched are the ports of a node that edges name.
func touched(id string, fed map[string]bool) (list []PortFace) {
	for _, ref := range slices.Sorted(maps.Keys(fed)) {
		if node, name, _ := strings.Cut(ref, "."); node == id {
			list = append(list, PortFace{Name: name, Label: portLabel(name), Type: flow.TypeAny})
		}
	}
	return list
}

// portLabel is a port's name without what all ports of a hosted model begin with.
func portLabel(name string) string { return strings.TrimPrefix(name, "input.") }

// says are the fields that say most about a node, the most telling first.
var says = []string{"model", "expression", "url", "template", "text", "question", "flow", "prompt"}

// lineOf is what a node says of its config in one line.
func lineOf(n *flow.Node, k *flow.Kind) NodeLine {
	if k.Role == flow.RoleInput {
		return NodeLine{Text: inputLine(n)}
	}
	for _, name := range says {
		f := k.Field(name)
		if f == nil {
			continue
		}
		text, ok := n.Config[name].(string)
		if !ok || strings.TrimSpace(text) == "" || !f.Typed && f.Required && !f.Template && f.Type != flow.FieldModel {
			continue
		}
		return NodeLine{Text: lineText(n, f, text), Mono: name == "expression"}
	}
	return NodeLine{}
}

// lineText returns a field's value in the form that a node on the canvas shows: a URL
// with its method but without scheme and parameters, a flow by its name, and a text in
// quotes. Each is clipped to lineRunes.
func lineText(n *flow.Node, f *flow.Field, text string) string {
	if f.Name == "url" {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			text = u.Host + u.Path
		}
		if method, ok := n.Config["method"].(string); ok {
			text = method + " " + text
		}
		return clip(text, lineRunes)
	}
	if f.Type == flow.FieldFlow {
		contract, _ := n.Config["contract"].(map[string]any)
		return clip(cmp.Or(flow.Text(contract["name"]), text), lineRunes)
	}
	if f.Name == "model" || f.Name == "expression" {
		return clip(text, lineRunes)
	}
	return "“" + clip(text, lineRunes) + "”"
}

// inputLine says what an input takes, and whether it must be given.
func inputLine(n *flow.Node) string {
	kind, _ := n.Config["type"].(string)
	if kind == "" {
		kind = "text"
	}
	if v, ok := n.Config["default"]; ok && v != nil {
		return kind + " · default " + hintOf(v)
	}
	return kind + " · required"
}

// hintOf is a typed value in a few words.
func hintOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		if strings.TrimSpace(v) == "" {
			return "“”"
		}
		return "“" + clip(v, hintRunes) + "”"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case []any:
		return fmt.Sprintf("%d typed", len(v))
	case map[string]any:
		if _, secret := flow.SecretRef(v); secret {
			return "secret"
		}
		if name, ok := v["name"].(string); ok {
			return clip(name, hintRunes)
		}
		return fmt.Sprintf("%d typed", len(v))
	}
	return "typed"
}

// clip keeps the beginning of a text, in one line.
func clip(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:most-1])) + "…"
}

// Sentence begins with a capital letter and ends with a full stop.
func Sentence(text string) string {
	if text == "" {
		return ""
	}
	_, size := utf8.DecodeRuneInString(text)
	text = strings.ToUpper(text[:size]) + text[size:]
	if strings.ContainsAny(text[len(text)-1:], ".?!…") {
		return text
	}
	return text + "."
}

// place writes a coordinate without more digits than it needs.
func place(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// trouble says what is wrong, for those who point at the mark.
func (face *NodeFace) trouble() string {
	if face.Missing != "" && len(face.Problems) == 0 {
		return "The credential “" + face.Missing + "” does not exist in this workspace."
	}
	return strings.Join(face.Problems, "\n")
}

// spoken is what a screen reader says of a port.
func (p *PortFace) spoken() string {
	s := p.Label + ", " + string(p.Type)
	if p.Need {
		s += ", needed"
	}
	return s
}

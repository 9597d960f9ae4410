package editor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/views/components"
)

// NodeFace is one node as shown on the canvas.
type NodeFace struct {
	ID, Kind, KindTitle, Icon string
	// Group is the slug of the kind's group, which determines the color.
	Group, Title string
	X, Y         float64
	// Disabled nodes are skipped by runs; pinned nodes return their pinned outputs.
	Disabled, Pinned bool
	// Problems are sentences. Missing names a credential that doesn't exist.
	Problems []string
	Missing  string
	// Line is the most informative part of the config, in a row of its own.
	Line NodeLine
	// Note is the text of a note, which has no ports.
	Note string
	Rows []PortRow
	// Tools is the port below an agent, and Tool the one above its tools: their edges go up.
	Tools, Tool *PortFace
	// More is the number of hidden ports: inputs that are neither connected nor required, and
	// outputs that few flows use. MoreAt is the row with the button that shows them.
	More, MoreAt int
}

// NodeLine is the value of a config field. Full is its tooltip if Text is shortened, and Mark names the
// family of models whose drawing stands before it.
type NodeLine struct {
	Text, Full, Mark string
	Mono             bool
}

// PortRow is a row with an input and an output. Line takes the place of a missing input.
type PortRow struct {
	In, Out *PortFace
	Line    NodeLine
}

// PortFace is one port as shown on the canvas.
type PortFace struct {
	Name, Label string
	Type        flow.Type
	// Hint is the value that was typed for an unconnected input.
	Hint string
	// Many is set if the port takes several edges, First if only the first of them with a value
	// counts, and Need if a required value is missing.
	Many, First, Need bool
}

// NodeFacts is what a node's face depends on besides the node.
type NodeFacts struct {
	// FedIn counts the edges to each port, node.port; FedOut contains the ports with edges from
	// them.
	FedIn    map[string]int
	FedOut   map[string]bool
	Problems map[string][]flow.Problem
	Pinned   map[string]bool
	// Missing contains the names of credentials in the document that don't exist.
	Missing map[string]bool
	// AllPorts also shows ports that are neither connected nor required.
	AllPorts bool
}

// FactsOf collects the connected ports of a document, and its problems.
func FactsOf(d *flow.Document, problems []flow.Problem) NodeFacts {
	f := NodeFacts{FedIn: map[string]int{}, FedOut: map[string]bool{}, Problems: document.ByNode(d, problems)}
	for _, e := range d.Edges {
		f.FedOut[e.From] = true
		f.FedIn[e.To]++
	}
	return f
}

// FaceOf returns the face of a node; k is nil for an unknown kind.
func FaceOf(n *flow.Node, k *flow.Kind, facts NodeFacts) NodeFace {
	face := NodeFace{ID: n.ID, Kind: n.Kind, KindTitle: n.Kind, Icon: "circle-alert", Group: "canvas", Title: document.NodeTitle(n, k), Disabled: n.Disabled, Pinned: facts.Pinned[n.ID]}
	if n.Position != nil {
		face.X, face.Y = n.Position.X, n.Position.Y
	}
	for _, p := range facts.Problems[n.ID] {
		face.Problems = append(face.Problems, wording.Sentence(p.Detail))
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

// ports pairs inputs with outputs in rows. The config line fills a row without an input if it
// can.
func (face *NodeFace) ports(n *flow.Node, k *flow.Kind, facts NodeFacts) {
	ins, more := shownInputs(n, k, facts)
	outs, moreOut := shownOutputs(n, k, facts)
	line := lineOf(n, k)
	face.More, face.MoreAt = more+moreOut, -1
	ins = slices.DeleteFunc(ins, func(p PortFace) bool {
		if p.Type == flow.TypeTool {
			face.Tools = &p
		}
		return p.Type == flow.TypeTool
	})
	outs = slices.DeleteFunc(outs, func(p flow.Port) bool {
		if p.Type == flow.TypeTool {
			face.Tool = &PortFace{Name: p.Name, Label: portLabel(p.Name), Type: p.Type}
		}
		return p.Type == flow.TypeTool
	})
	for i := range max(len(ins), len(outs)) {
		var row PortRow
		if i < len(ins) {
			row.In = &ins[i]
		}
		if i < len(outs) {
			row.Out = &PortFace{Name: outs[i].Name, Label: outputLabel(outs[i], k), Type: outs[i].ShownType()}
			if k.Role == flow.RoleInput {
				row.Out.Type = contract.ReadInput(n).Type
			}
		}
		face.Rows = append(face.Rows, row)
	}
	if len(ins) < len(outs) {
		face.Rows[len(ins)].Line = line
	} else {
		face.Line = line
	}
	face.placeMore()
}

// placeMore finds a row that has space for the button of hidden ports: the last one without an
// input, or else without an output. Otherwise it gets a row of its own.
func (face *NodeFace) placeMore() {
	for i := len(face.Rows) - 1; i >= 0 && face.More > 0 && face.MoreAt < 0; i-- {
		if r := &face.Rows[i]; r.In == nil && r.Line.Text == "" || r.Out == nil {
			face.MoreAt = i
		}
	}
	if face.More > 0 && face.MoreAt < 0 {
		face.Rows = append(face.Rows, PortRow{})
		face.MoreAt = len(face.Rows) - 1
	}
}

// shownInputs returns the visible input ports, and the number of hidden ones. Visible are the
// ports of the kind, the placeholders of templates, and fields that are connected, required, or
// typed and not shown in the config line.
func shownInputs(n *flow.Node, k *flow.Kind, facts NodeFacts) (list []PortFace, more int) {
	for _, p := range flow.InputPorts(n, k) {
		f := k.Field(p.Name)
		edges := facts.FedIn[n.ID+"."+p.Name]
		fed := edges > 0
		if !facts.AllPorts && !fed && f != nil && !inSight(n, f) {
			more++
			continue
		}
		face := PortFace{Name: p.Name, Label: portLabel(p.Name), Type: p.Type, Many: p.List, First: p.First, Need: p.Required && !fed && needed(n, f, facts)}
		if face.Need && n.Tool != nil && flow.CanOpen(p, f) {
			face.Need, face.Hint = false, "by model"
		}
		if p.First && edges > 1 {
			face.Label = fmt.Sprintf("first of %d", edges)
		}
		if !fed && f != nil && face.Hint == "" {
			face.Hint = hintOf(n.Config[p.Name])
		}
		list = append(list, face)
	}
	return list, more
}

// shownOutputs returns the visible output ports, and the number of hidden ones. The branch for
// everything else comes last. An output of the flow has ports only where it is connected.
func shownOutputs(n *flow.Node, k *flow.Kind, facts NodeFacts) (list []flow.Port, more int) {
	var last []flow.Port
	for _, p := range flow.OutputPorts(n, k) {
		fed := facts.FedOut[n.ID+"."+p.Name]
		switch {
		case k.Role == flow.RoleOutput && !fed:
		case p.More && !facts.AllPorts && !fed:
			more++
		case p.Rest:
			last = append(last, p)
		default:
			list = append(list, p)
		}
	}
	return append(list, last...), more
}

// outputLabel returns the name of an output on the canvas: a branch that the node declares is
// called what its author called it.
func outputLabel(p flow.Port, k *flow.Kind) string {
	if p.Branch && !p.Rest && k.DynamicSchema != nil && p.Title != "" {
		return clip(p.Title, hintRunes)
	}
	return portLabel(p.Name)
}

// needed reports whether the value of a required field has to be given: unless another field
// has one.
func needed(n *flow.Node, f *flow.Field, facts NodeFacts) bool {
	return f == nil || f.Unless == "" || facts.FedIn[n.ID+"."+f.Unless] == 0 && n.Config[f.Unless] == nil
}

// inSight reports whether a field that isn't connected has a port on the canvas.
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

// strangerRows returns ports for a node of an unknown kind, taken from its edges, so that these
// have ends to attach to.
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

// touched returns the ports of a node that have edges.
func touched[V any](id string, fed map[string]V) (list []PortFace) {
	for _, ref := range sorting.Keys(fed) {
		if node, name, _ := strings.Cut(ref, "."); node == id {
			list = append(list, PortFace{Name: name, Label: portLabel(name), Type: flow.TypeAny})
		}
	}
	return list
}

// portLabel strips the prefix that all ports of hosted models share.
func portLabel(name string) string { return strings.TrimPrefix(name, "input.") }

// says lists the config fields that describe a node best, in order of preference.
var says = []string{"model", "expression", "url", "template", "text", "question", "flow", "prompt"}

// lineOf returns the config line of a node.
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
		if f.Type == flow.FieldModel {
			return modelLine(text)
		}
		return NodeLine{Text: lineText(n, f, text), Mono: name == "expression"}
	}
	return NodeLine{}
}

// modelLine shows a model. The drawing of its family replaces the provider in front of the name.
func modelLine(model string) NodeLine {
	line := NodeLine{Text: clip(model, lineRunes)}
	if _, name, ok := strings.Cut(model, "/"); ok && components.MarkShape(model) != "" {
		line = NodeLine{Text: clip(name, lineRunes), Full: model, Mark: model}
	}
	return line
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
		contract, _ := flow.AsMap(n.Config["contract"])
		return clip(cmp.Or(flow.Text(contract["name"]), text), lineRunes)
	}
	if f.Name == "expression" {
		return clip(text, lineRunes)
	}
	return "“" + clip(text, lineRunes) + "”"
}

// inputLine describes the type of an input, and whether it is required.
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

// hintOf abbreviates a typed value.
func hintOf(v any) string {
	switch v := flow.Ordered(v).(type) {
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
	case *flow.Object:
		if _, secret := flow.SecretRef(v); secret {
			return "secret"
		}
		if name, ok := v.Get("name").(string); ok {
			return clip(name, hintRunes)
		}
		return fmt.Sprintf("%d typed", v.Len())
	}
	return "typed"
}

// clip truncates a text and puts it in one line.
func clip(text string, most int) string {
	return wording.Fit(wording.OneLine(text), most)
}

// place formats a coordinate with no more digits than necessary.
func place(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// problemText returns the problems of the node, for the tooltip of its mark.
func (face *NodeFace) problemText() string {
	if face.Missing != "" && len(face.Problems) == 0 {
		return missingText(face.Missing)
	}
	return strings.Join(face.Problems, "\n")
}

// moreAt returns the number of hidden ports for the row that shows it, and 0 for the others.
func (face *NodeFace) moreAt(row int) int {
	if row != face.MoreAt {
		return 0
	}
	return face.More
}

// spoken returns the accessible name of a port.
func (p *PortFace) spoken() string {
	s := p.Label + ", " + string(p.Type)
	if p.Need {
		s += ", needed"
	}
	return s
}

// missingText says that a credential does not exist.
func missingText(name string) string {
	return "The credential “" + name + "” does not exist in this workspace."
}

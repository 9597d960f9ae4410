package editor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/wording"
	"sluice/views/components"
)

// NodePane is the inspector of one node, a form generated from the declaration of its kind.
type NodePane struct {
	FlowID, ID, Label, Color string
	// Name is the name of a node without a label.
	Name               string
	Kind, KindTitle    string
	Icon, Group, Short string
	// Doc is the help of the kind as HTML.
	Doc                string
	Disabled, ReadOnly bool
	Fields, More       []NodeField
	// Limits are shown side by side. A limit with an edge is one of Fields.
	Limits []NodeField
	// Ports are inputs without a field.
	Ports []PanePort
	// Names are the unconnected ports of {{placeholders}} in templates of the node. Connected
	// ones are shown with their field.
	Names   []PanePort
	Failing NodeFailing
	// Tool is the setting of a node that is, or can be, a tool of agents; nil for other kinds.
	Tool *NodeTool
	// Problems are the problems of the node that don't belong to a field.
	Problems []string
	// Runs reports whether the node is executed; notes are not.
	Runs bool
	// Open opens the optional settings, because one of them needs attention.
	Open bool
}

// findsFlows reports whether a field of the node searches flows.
func (p *NodePane) findsFlows() bool {
	return slices.ContainsFunc(p.Fields, func(f NodeField) bool { return f.Type == flow.FieldFlow && f.Flows.Searchable() })
}

// Settings lists the optional settings of the node that are set, for the summary of their fold.
func (p *NodePane) Settings() string {
	var set []string
	for i := range p.More {
		if f := &p.More[i]; !f.empty() && !f.Beside && f.Name != "contract" { // which Sluice sets
			set = append(set, f.summary())
		}
	}
	if p.Failing.Attempts != "" {
		set = append(set, p.Failing.Attempts+" attempts")
	}
	if p.Failing.Timeout != "" {
		set = append(set, "Timeout "+p.Failing.Timeout+" s")
	}
	if p.Failing.OnError != OnErrorFail && p.Failing.OnError != "" {
		set = append(set, "Continues after an error")
	}
	if p.Disabled {
		set = append(set, "Disabled")
	}
	if len(set) == 0 {
		return "None set"
	}
	return strings.Join(set, " · ")
}

// NodeField is one field with its value and the edges that feed it.
type NodeField struct {
	flow.Field
	Form document.FormValue
	// Feeds are the edges into the field's port.
	Feeds []Feed
	// Places are the placeholders of a template.
	Places []Place
	// Credentials are the credentials of the workspace to choose from. Provider is the provider
	// of a new one, if known.
	Credentials []CredentialChoice
	Provider    string
	// Flows are the flows to choose from, for a node that runs another one.
	Flows FlowChoices
	// Hosts are the hosts to which a new plain credential would be sent, if known.
	Hosts []string
	// Secrets are the names of parts of the field that look like secrets.
	Secrets []string
	// Choices are the names that a list may contain, if they are known.
	Choices []NameChoice
	// RowNames are the names of the rows of a list whose texts are conditions.
	RowNames []string
	// Beside is set if a script shows the values in the rows of another field.
	Beside bool
	// NodeID is the ID of the field's node.
	NodeID string
	// Upgradable is set if the model is pinned to a version.
	Upgradable bool
	// Servers is set for the tools of a server, which have a page of their own. Stored are those that the node has.
	Servers bool
	Stored  any
	// Newer is the live version of the child flow if the node names an older one.
	Newer int64
	// Tried is the result of a test of the code, on the page without scripts.
	Tried *Tried
	// Warning is about a value that is valid but may not work.
	Warning string
	// Optional is set for the default of an input, which makes the input optional.
	Optional bool
	// Error is about rejected input; Problems are about the stored value.
	Error    string
	Problems []string
	FlowID   string
	ReadOnly bool
}

// NameChoice is a name that a list may contain, such as an output of the flow.
type NameChoice struct {
	Name   string
	Chosen bool
}

// CredentialChoice is a credential with its provider.
type CredentialChoice struct{ Name, Provider string }

// PanePort is an input port with the edges that feed it.
type PanePort struct {
	flow.Port
	Feeds []Feed
}

// ordered reports whether the order of several edges into the port matters: in a list, and where the
// first value counts.
func (p PanePort) ordered() bool {
	return len(p.Feeds) > 1 && (p.First || p.List && p.Type != flow.TypeTool)
}

// Feed is an edge into a node, described by its source.
type Feed struct {
	Edge              flow.Edge
	Node, Title, Port string
	Tool              *FeedTool // nil for values
}

// placeAt is the value of a button that gives the edge another place among those of its port.
func (f Feed) placeAt(place int) string {
	return f.Edge.From + ">" + f.Edge.To + ">" + strconv.Itoa(place)
}

// Place is a {{placeholder}} of a template, with the edge that fills it, or the model that calls the
// node as a tool.
type Place struct {
	Name    string
	Feeds   []Feed
	ByModel bool
}

// NodeFailing holds the retry, timeout and error settings, as typed.
type NodeFailing struct {
	Attempts, Backoff, Timeout, OnError       string
	AttemptsError, BackoffError, TimeoutError string
	// Values are the fallback values of a failed step, one per output port.
	Values []NodeField
}

// Values of the error setting in forms.
const (
	OnErrorFail     = "fail"
	OnErrorRoute    = "route"
	OnErrorContinue = "continue"
)

// ValueField is the prefix of the field names of fallback values.
const ValueField = "continue."

// PaneFacts is what the inspector needs besides the draft.
type PaneFacts struct {
	FlowID      string
	Kinds       *flow.Registry
	Problems    []flow.Problem
	Credentials []CredentialChoice
	Flows       FlowChoices // for a node that runs another flow
	ReadOnly    bool
}

// FlowChoices are the flows that a node can run, or as many as one page offers.
type FlowChoices struct {
	List  []FlowChoice // by name; the current one is among them, if it exists
	Total int          // number of all, or of those that match Words
	Words string       // the search, or ""
}

// Searchable reports whether there are more flows than one page offers.
func (c FlowChoices) Searchable() bool { return c.Words != "" || c.Total > len(c.List) }

// found says how many flows there are to choose from.
func (c FlowChoices) found() string {
	switch {
	case c.Total > len(c.List):
		return fmt.Sprintf("The first %d of %s flows. Type to find others.", len(c.List), components.Count(c.Total))
	case c.Total == 0:
		return "No flows match."
	}
	return fmt.Sprintf("Flows found: %d", c.Total)
}

// FlowChoice is a flow that a node can run.
type FlowChoice struct {
	ID, Slug, Name string
	Live           int64 // live version; 0 before the first publish
}

// PaneOf returns the inspector of a node; k is the kind as resolved for this node.
func PaneOf(d *flow.Document, n *flow.Node, k *flow.Kind, facts PaneFacts) NodePane {
	b := &paneBuilder{d: d, n: n, k: k, facts: facts, problems: problemsOf(d, n, facts.Problems)}
	p := NodePane{
		FlowID: facts.FlowID, ID: n.ID, Label: n.Label, Color: n.Color, Name: document.NodeTitle(n, k), Disabled: n.Disabled, ReadOnly: facts.ReadOnly,
		Kind: k.Name, KindTitle: k.Title, Icon: k.Icon, Group: components.GroupWord(k.Group), Short: k.Summary, Runs: k.Role != flow.RoleCanvas,
	}
	fields := document.FormFields(n, k)
	for _, f := range fields {
		field := b.field(f)
		if i := slices.IndexFunc(fields, func(of flow.Field) bool { return of.NamedBy == f.Name }); i >= 0 {
			if field.Beside = fields[i].Syntax == flow.SyntaxCEL; !field.Beside && field.empty() {
				continue // names nothing
			}
		}
		switch {
		case f.Limit && len(field.Feeds) == 0:
			p.Limits = append(p.Limits, field)
		case f.More && !field.inSight():
			p.More = append(p.More, field)
			p.Open = p.Open || field.Newer > 0
		default:
			p.Fields = append(p.Fields, field)
		}
	}
	slices.SortStableFunc(p.Fields, func(a, b NodeField) int { return cmp.Compare(b.rank(), a.rank()) })
	for _, port := range k.Inputs {
		p.Ports = append(p.Ports, PanePort{port, b.feeds(port.Name)})
	}
	for _, port := range flow.InputPorts(n, k) {
		if port.Template && len(b.feeds(port.Name)) == 0 && n.Tool == nil { // a model fills those of a tool
			p.Names = append(p.Names, PanePort{Port: port})
		}
	}
	p.Failing, p.Tool = b.failing(), b.tool()
	p.Problems = b.problems[""]
	return p
}

// paneBuilder is the shared context for building the parts of a pane.
type paneBuilder struct {
	d        *flow.Document
	n        *flow.Node
	k        *flow.Kind
	facts    PaneFacts
	problems map[string][]string // by field; "" for those of the whole node
}

// problemsOf groups the problems of a node by field.
func problemsOf(d *flow.Document, n *flow.Node, all []flow.Problem) map[string][]string {
	by := map[string][]string{}
	at := flow.Pointer("nodes", slices.IndexFunc(d.Nodes, func(o flow.Node) bool { return o.ID == n.ID }))
	for _, p := range document.ByNode(d, all)[n.ID] {
		name := ""
		if rest, ok := strings.CutPrefix(p.Pointer, at+"/"); ok {
			name = paneFieldAt(rest)
		}
		by[name] = append(by[name], wording.Sentence(p.Detail))
	}
	return by
}

// paneFieldAt returns the field that a JSON pointer within a node refers to.
func paneFieldAt(pointer string) string {
	tokens := strings.Split(pointer, "/")
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	switch {
	case len(tokens) > 1 && tokens[0] == "config":
		return unescape.Replace(tokens[1])
	case len(tokens) > 2 && tokens[0] == "on_error" && tokens[1] == "continue":
		return ValueField + unescape.Replace(tokens[2])
	}
	return ""
}

// field returns a field of the inspector: its declaration, its value as the control needs it,
// problems, choices, and the edges into it or into the placeholders of its template.
func (b *paneBuilder) field(f flow.Field) NodeField {
	value := b.n.Config[f.Name]
	field := NodeField{Field: f, Form: document.FormOf(&f, value), FlowID: b.facts.FlowID, NodeID: b.n.ID, ReadOnly: b.facts.ReadOnly, Problems: b.problems[f.Name], Credentials: b.facts.Credentials, Flows: b.facts.Flows}
	if f.Unless != "" && (len(b.feeds(f.Unless)) > 0 || b.n.Config[f.Unless] != nil) {
		field.Required = false
	}
	if f.Name == b.k.OutputsField && field.Form.As == flow.FieldList {
		var names []string
		for _, o := range contract.Outputs(b.d, b.facts.Kinds) {
			names = append(names, o.Name)
		}
		field.Choices = choicesOf(names, field.Form.Texts)
	}
	if f.Name == flow.LoopField && b.k.StartsRuns() && field.Form.As == flow.FieldList && b.n.Config["contract"] != nil {
		field.Choices = choicesOf(childInputs(b.n), field.Form.Texts)
	}
	if f.Escape == flow.EscapeURL && isPrivateURL(flow.Text(value)) {
		field.Warning = privateWarning
	}
	for _, s := range document.SuggestSecrets(b.n, &f) {
		field.Secrets = append(field.Secrets, s.Name)
	}
	if f.NamedBy != "" && f.Syntax == flow.SyntaxCEL {
		names, _ := b.n.Config[f.NamedBy].([]any)
		for _, name := range names {
			field.RowNames = append(field.RowNames, flow.Text(name))
		}
	}
	field.Optional = b.k.Role == flow.RoleInput && f.Name == "default"
	if f.Type == flow.FieldSecret {
		field.Hosts = document.DestinationOf(b.d, b.n, b.k)
	}
	if !f.Typed {
		field.Feeds = b.feeds(f.Name)
	}
	if f.Template {
		for _, name := range flow.TemplateNames(value) {
			field.Places = append(field.Places, Place{name, b.feeds(name), b.n.Tool != nil})
		}
	}
	model, _, named := strings.Cut(flow.Text(b.n.Config["model"]), "/")
	switch {
	case f.Name == "version" && b.k.StartsRuns():
		field.Newer = b.newerVersion()
	case f.Type == flow.FieldModel && f.Task == "hosted":
		field.Upgradable = b.n.Config["schema"] != nil
	case f.Name == "tools" && b.k.Name == flow.KindMCP:
		field.Servers, field.Stored = true, b.n.Config["tools"]
	case f.Type == flow.FieldSecret && b.k.Name == flow.KindMCP:
		field.Provider = flow.ProviderMCP
	case f.Type == flow.FieldSecret && b.k.Name == "hosted_model":
		field.Provider = "replicate"
	case f.Type == flow.FieldSecret && named:
		field.Provider = model
	}
	return field
}

// feeds returns the edges into an input port, in the order of the document. Edges from missing
// nodes are left out.
func (b *paneBuilder) feeds(port string) (list []Feed) {
	for _, e := range b.d.Edges {
		from, out, _ := strings.Cut(e.From, ".")
		source := b.d.Node(from)
		if e.To != b.n.ID+"."+port || source == nil {
			continue
		}
		k := b.facts.Kinds.Find(source.Kind)
		feed := Feed{Edge: e, Node: from, Title: document.NodeTitle(source, k), Port: out}
		if out == flow.ToolPort && k != nil {
			feed.Tool = toolOf(source, k)
		}
		list = append(list, feed)
	}
	return list
}

// failing returns the retry, timeout and error settings.
func (b *paneBuilder) failing() NodeFailing {
	n := b.n
	out := NodeFailing{OnError: OnErrorFail, Timeout: decimal(n.TimeoutS)}
	if n.Retry != nil {
		out.Attempts, out.Backoff = decimal(float64(n.Retry.Attempts)), decimal(n.Retry.BackoffS)
	}
	given := map[string]any{}
	switch {
	case n.OnError != nil && n.OnError.Route:
		out.OnError = OnErrorRoute
	case n.OnError != nil:
		out.OnError, given = OnErrorContinue, n.OnError.Continue
	}
	for _, p := range b.k.Outputs {
		f := PortField(p)
		out.Values = append(out.Values, NodeField{Field: f, Form: document.FormOf(&f, given[p.Name]), Problems: b.problems[f.Name], ReadOnly: b.facts.ReadOnly})
	}
	return out
}

// PortField returns the field for the fallback value of an output port.
func PortField(p flow.Port) flow.Field {
	as := map[flow.Type]flow.FieldType{flow.TypeText: flow.FieldArea, flow.TypeNumber: flow.FieldNumber, flow.TypeBoolean: flow.FieldBoolean}
	return flow.Field{Name: ValueField + p.Name, Title: cmp.Or(p.Title, p.Name), Type: cmp.Or(as[p.Type], flow.FieldJSON), Typed: true}
}

// decimal formats a number for a form; zero is "".
func decimal(f float64) string {
	if f == 0 {
		return ""
	}
	return flow.Text(flow.Number(f))
}

// path returns the URL to which the pane's form is posted.
func (p *NodePane) path() string { return "/flows/" + p.FlowID + "/node/" + p.ID }

// colors are the colors that a node can be marked with.
var colors = []components.Option{{Value: "", Label: "None"}, {Value: "red", Label: "Red"}, {Value: "orange", Label: "Orange"}, {Value: "green", Label: "Green"}, {Value: "blue", Label: "Blue"}, {Value: "purple", Label: "Purple"}, {Value: "grey", Label: "Gray"}}

// marks returns the colors, and the node's own if it is another one, such as from an import.
func (p *NodePane) marks() []components.Option {
	for _, c := range colors {
		if c.Value == p.Color {
			return colors
		}
	}
	return append(slices.Clone(colors), components.Option{Value: p.Color, Label: p.Color})
}

// choicesOf lists names to choose from, followed by chosen names that no longer exist, so that
// they can be deselected.
func choicesOf(names, chosen []string) []NameChoice {
	list := []NameChoice{}
	for _, name := range names {
		list = append(list, NameChoice{name, slices.Contains(chosen, name)})
	}
	for _, name := range chosen {
		if !slices.Contains(names, name) {
			list = append(list, NameChoice{name, true})
		}
	}
	return list
}

// childInputs returns the names of the inputs of the flow that a node runs.
func childInputs(n *flow.Node) (names []string) {
	contract, _ := flow.AsMap(n.Config["contract"])
	inputs, _ := contract["inputs"].([]any)
	for _, item := range inputs {
		in, _ := flow.AsMap(item)
		names = append(names, flow.Text(in["name"]))
	}
	return names
}

// FlowPane is the pane while no node is selected: the inputs and outputs of the flow.
type FlowPane struct {
	FlowID, Name, Description string
	Inputs                    []contract.Input
	Outputs                   []contract.Output
}

// FlowPaneOf returns the overview of a draft.
func FlowPaneOf(flowID string, d *flow.Document, kinds *flow.Registry) FlowPane {
	return FlowPane{FlowID: flowID, Name: d.Name, Description: d.Description, Inputs: contract.Inputs(d, kinds), Outputs: contract.Outputs(d, kinds)}
}

// inputRemark returns a remark on whether an input is required.
func inputRemark(in *contract.Input) string {
	if !in.HasDefault {
		return "required"
	}
	return "default " + hintOf(in.Default)
}

// newerVersion returns the live version of the child flow if the node names an older one, or
// else 0.
func (b *paneBuilder) newerVersion() int64 {
	named, _ := flow.Float(b.n.Config["version"])
	for _, f := range b.facts.Flows.List {
		if ref := flow.Text(b.n.Config["flow"]); named >= 1 && (f.ID == ref || f.Slug == ref) && f.Live > int64(named) {
			return f.Live
		}
	}
	return 0
}

package editor

import (
	"cmp"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/views/components"
)

// NodePane is the inspector of one node: a form made of its kind's declaration.
type NodePane struct {
	FlowID, ID, Label, Color string
	// Name is what the node is called where it has no label.
	Name               string
	Kind, KindTitle    string
	Icon, Group, Short string
	Doc                string
	Disabled, ReadOnly bool
	Fields, More       []NodeField
	// Ports are inputs that no field stands for.
	Ports []PanePort
	// Names are the ports that {{names}} in its texts made and that nothing is
	// connected to; the others stand with their field.
	Names   []PanePort
	Failing NodeFailing
	// Problems are sentences about the node that belong to no field.
	Problems []string
	// Runs reports whether the node runs at all; a note does not.
	Runs bool
}

// NodeField is one field with what it holds and what feeds it.
type NodeField struct {
	flow.Field
	Form document.FormValue
	// Feeds are the edges into the field's port.
	Feeds []Feed
	// Places are the ports that the names in a template grow.
	Places []Place
	// Credentials are those of the workspace to choose from; Provider is whom a
	// new one is for, where that is known.
	Flows       []FlowChoice
	Credentials []CredentialChoice
	Provider    string
	// Hosts is where a new plain credential would be sent, where that is known.
	Hosts []string
	// Secrets are the texts in the field that look like secrets, by name.
	Secrets []string
	// Outputs are the outputs of the flow, for the field that chooses among them.
	Outputs []OutputChoice
	// NodeID is the node that the field is of.
	NodeID string
	// Upgradable is set if the model is kept at a version.
	Upgradable bool
	// Newer is the live version of the flow that the node runs, if it names an older one.
	Newer int64
	// Tried is what code gave when it was tried, on the page without scripts.
	Tried *Tried
	// Warning is about a value that is valid, and may still not work.
	Warning string
	// Error is about what was typed and not taken; Problems are about what is there.
	Error    string
	Problems []string
	FlowID   string
	ReadOnly bool
}

// OutputChoice is an output of the flow, which a node may be told to send.
type OutputChoice struct {
	Name   string
	Chosen bool
}

// CredentialChoice is a credential by its name.
type CredentialChoice struct{ Name, Provider string }

// PanePort is an input port with what feeds it.
type PanePort struct {
	flow.Port
	Feeds []Feed
}

// Feed is an edge as the node that it arrives at sees it.
type Feed struct {
	Edge              flow.Edge
	Node, Title, Port string
}

// Place is a {{name}} of a template, with the edge that fills it.
type Place struct {
	Name  string
	Feeds []Feed
}

// NodeFailing is what happens when the node fails. Texts stay as they were
// typed.
type NodeFailing struct {
	Attempts, Backoff, Timeout, OnError       string
	AttemptsError, BackoffError, TimeoutError string
	// Values are what a failed step gives instead, one per output port.
	Values []NodeField
	// Set is set if something differs from the usual.
	Set bool
}

// What a failed node does, as forms write it.
const (
	OnErrorFail     = "fail"
	OnErrorRoute    = "route"
	OnErrorContinue = "continue"
)

// ValueField begins the name of the field that holds a port's value for a
// failed step.
const ValueField = "continue."

// PaneFacts are what the inspector needs beside the draft.
type PaneFacts struct {
	FlowID      string
	Kinds       *flow.Registry
	Problems    []flow.Problem
	Credentials []CredentialChoice
	Flows       []FlowChoice // to choose from, for a node that runs another flow
	ReadOnly    bool
}

// FlowChoice is a flow that a node may run.
type FlowChoice struct {
	ID, Slug, Name string
	Live           int64 // version; 0 before the first
}

// PaneOf makes the inspector of a node; k is the kind as this node has it.
func PaneOf(d *flow.Document, n *flow.Node, k *flow.Kind, facts PaneFacts) NodePane {
	b := &paneBuilder{d: d, n: n, k: k, facts: facts, problems: problemsOf(d, n, facts.Problems)}
	p := NodePane{
		FlowID: facts.FlowID, ID: n.ID, Label: n.Label, Color: n.Color, Name: document.NodeTitle(n, k), Disabled: n.Disabled, ReadOnly: facts.ReadOnly,
		Kind: k.Name, KindTitle: k.Title, Icon: k.Icon, Group: components.GroupWord(k.Group), Short: k.Summary, Doc: k.Doc, Runs: k.Role != flow.RoleCanvas,
	}
	for _, f := range document.FormFields(n, k) {
		field := b.field(f)
		if f.More && !field.inSight() {
			p.More = append(p.More, field)
		} else {
			p.Fields = append(p.Fields, field)
		}
	}
	for _, port := range k.Inputs {
		p.Ports = append(p.Ports, PanePort{port, b.feeds(port.Name)})
	}
	for _, port := range flow.InputPorts(n, k) {
		if port.Template && len(b.feeds(port.Name)) == 0 {
			p.Names = append(p.Names, PanePort{Port: port})
		}
	}
	p.Failing = b.failing()
	p.Problems = b.problems[""]
	return p
}

// paneBuilder has what all parts of a pane are made of.
type paneBuilder struct {
	d        *flow.Document
	n        *flow.Node
	k        *flow.Kind
	facts    PaneFacts
	problems map[string][]string // by field; those of no field under ""
}

// problemsOf sorts the problems of a node by the field that they are about.
func problemsOf(d *flow.Document, n *flow.Node, all []flow.Problem) map[string][]string {
	by := map[string][]string{}
	at := flow.Pointer("nodes", slices.IndexFunc(d.Nodes, func(o flow.Node) bool { return o.ID == n.ID }))
	for _, p := range document.ByNode(d, all)[n.ID] {
		name := ""
		if rest, ok := strings.CutPrefix(p.Pointer, at+"/"); ok {
			name = paneFieldAt(rest)
		}
		by[name] = append(by[name], Sentence(p.Detail))
	}
	return by
}

// paneFieldAt is the field that a place inside a node belongs to.
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

// field returns a field of the inspector: its declaration, its value in the form that
// the control needs, problems, choices, and the edges that feed it or the placeholders
// of its template.
func (b *paneBuilder) field(f flow.Field) NodeField {
	value := b.n.Config[f.Name]
	field := NodeField{Field: f, Form: document.FormOf(&f, value), FlowID: b.facts.FlowID, NodeID: b.n.ID, ReadOnly: b.facts.ReadOnly, Problems: b.problems[f.Name], Credentials: b.facts.Credentials, Flows: b.facts.Flows}
	if f.Name == b.k.OutputsField && field.Form.As == flow.FieldList {
		field.Outputs = outputChoices(contract.Outputs(b.d, b.facts.Kinds), field.Form.Texts)
	}
	if f.Escape == flow.EscapeURL && isPrivateURL(flow.Text(value)) {
		field.Warning = privateWarning
	}
	for _, s := range document.SuggestSecrets(b.n, &f) {
		field.Secrets = append(field.Secrets, s.Name)
	}
	if f.Type == flow.FieldSecret {
		field.Hosts = document.DestinationOf(b.d, b.n, b.k)
	}
	if !f.Typed {
		field.Feeds = b.feeds(f.Name)
	}
	if f.Template {
		for _, name := range flow.TemplateNames(value) {
			field.Places = append(field.Places, Place{name, b.feeds(name)})
		}
	}
	model, _, named := strings.Cut(flow.Text(b.n.Config["model"]), "/")
	switch {
	case f.Name == "version" && b.k.StartsRuns():
		field.Newer = b.newerVersion()
	case f.Type == flow.FieldModel && f.Task == "hosted":
		field.Upgradable = b.n.Config["schema"] != nil
	case f.Type == flow.FieldSecret && b.k.Name == "hosted_model":
		field.Provider = "replicate"
	case f.Type == flow.FieldSecret && named:
		field.Provider = model
	}
	return field
}

// feeds returns the outputs that edges connect to an input port of the node, in the
// order of the document. Edges from missing nodes are left out.
func (b *paneBuilder) feeds(port string) (list []Feed) {
	for _, e := range b.d.Edges {
		from, out, _ := strings.Cut(e.From, ".")
		source := b.d.Node(from)
		if e.To != b.n.ID+"."+port || source == nil {
			continue
		}
		list = append(list, Feed{Edge: e, Node: from, Title: document.NodeTitle(source, b.facts.Kinds.Find(source.Kind)), Port: out})
	}
	return list
}

// failing returns the settings for retries, the timeout and errors. Set reports whether
// any differs from the default; they are folded otherwise.
func (b *paneBuilder) failing() NodeFailing {
	n := b.n
	out := NodeFailing{OnError: OnErrorFail, Timeout: decimal(n.TimeoutS), Set: n.Retry != nil || n.TimeoutS != 0 || n.OnError != nil}
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

// PortField is a field for the value that a failed step gives on a port.
func PortField(p flow.Port) flow.Field {
	as := map[flow.Type]flow.FieldType{flow.TypeText: flow.FieldArea, flow.TypeNumber: flow.FieldNumber, flow.TypeBoolean: flow.FieldBoolean}
	return flow.Field{Name: ValueField + p.Name, Title: cmp.Or(p.Title, p.Name), Type: cmp.Or(as[p.Type], flow.FieldJSON), Typed: true}
}

// decimal is a number as a form shows it; zero is nothing.
func decimal(f float64) string {
	if f == 0 {
		return ""
	}
	return flow.Text(flow.Number(f))
}

// path is where the pane's form goes.
func (p *NodePane) path() string { return "/flows/" + p.FlowID + "/node/" + p.ID }

// colors are what a node may be marked with.
var colors = []components.Option{{Value: "", Label: "None"}, {Value: "red", Label: "Red"}, {Value: "orange", Label: "Orange"}, {Value: "green", Label: "Green"}, {Value: "blue", Label: "Blue"}, {Value: "purple", Label: "Purple"}, {Value: "grey", Label: "Grey"}}

// marks are the colors, with one from elsewhere that the node has.
func (p *NodePane) marks() []components.Option {
	for _, c := range colors {
		if c.Value == p.Color {
			return colors
		}
	}
	return append(slices.Clone(colors), components.Option{Value: p.Color, Label: p.Color})
}

// docPart is a piece of a kind's help: words, or code.
type docPart struct {
	Text string
	Code bool
}

// docParagraphs reads the small Markdown that kinds are documented in:
// paragraphs, and code between backticks.
func docParagraphs(doc string) (list [][]docPart) {
	for _, paragraph := range strings.Split(doc, "\n\n") {
		var parts []docPart
		for i, text := range strings.Split(paragraph, "`") {
			if text != "" {
				parts = append(parts, docPart{text, i%2 == 1})
			}
		}
		if len(parts) > 0 {
			list = append(list, parts)
		}
	}
	return list
}

// outputChoices lists the outputs of a flow, then those that are chosen although
// the flow does not have them, so that they can be deselected.
func outputChoices(outputs []contract.Output, chosen []string) []OutputChoice {
	list := []OutputChoice{}
	for _, o := range outputs {
		list = append(list, OutputChoice{o.Name, slices.Contains(chosen, o.Name)})
	}
	for _, name := range chosen {
		if !slices.ContainsFunc(outputs, func(o contract.Output) bool { return o.Name == name }) {
			list = append(list, OutputChoice{name, true})
		}
	}
	return list
}

// clipped keeps the beginning of a text.
func clipped(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// FlowPane is what the pane shows while no node is selected: what goes into
// the flow and what comes out.
type FlowPane struct {
	FlowID, Name, Description string
	Inputs                    []contract.Input
	Outputs                   []contract.Output
}

// FlowPaneOf makes the overview of a draft.
func FlowPaneOf(flowID string, d *flow.Document, kinds *flow.Registry) FlowPane {
	return FlowPane{FlowID: flowID, Name: d.Name, Description: d.Description, Inputs: contract.Inputs(d, kinds), Outputs: contract.Outputs(d, kinds)}
}

// inputRemark reports whether an input must be given.
func inputRemark(in *contract.Input) string {
	if !in.HasDefault {
		return "required"
	}
	return "default " + hintOf(in.Default)
}

// newerVersion returns the live version of the flow that the node runs at an older one; 0
// if there is no newer one.
func (b *paneBuilder) newerVersion() int64 {
	named, _ := flow.Float(b.n.Config["version"])
	for _, f := range b.facts.Flows {
		if ref := flow.Text(b.n.Config["flow"]); named >= 1 && (f.ID == ref || f.Slug == ref) && f.Live > int64(named) {
			return f.Live
		}
	}
	return 0
}

package editor

import (
	"net/url"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	editorview "sluice/views/editor"
)

// fieldTable builds the table of inputs, outputs and webhooks: those of the
// draft in their order, then those that only the live version has.
type fieldTable struct {
	*liveAPI
	kinds   *flow.Registry
	changes map[editorview.APIRole]map[string][]document.APIChange // by role and name
	list    []editorview.APIField
}

// apiFields returns the table of inputs, outputs and webhooks, each with what
// publishing the draft changes.
func apiFields(c *call, a *liveAPI) []editorview.APIField {
	inputs, outputs := map[string][]document.APIChange{}, map[string][]document.APIChange{}
	t := fieldTable{liveAPI: a, kinds: c.s.Kinds, changes: map[editorview.APIRole]map[string][]document.APIChange{editorview.APIInput: inputs, editorview.APIOutput: outputs}}
	if a.live != nil {
		for _, change := range a.diff.API {
			byName := inputs
			if change.Role == flow.RoleOutput {
				byName = outputs
			}
			byName[change.Name] = append(byName[change.Name], change)
		}
	}
	t.inputs()
	t.outputs()
	t.webhooks()
	return t.list
}

// add appends a field, with the changes that publishing makes to it.
func (t *fieldTable) add(f editorview.APIField) {
	f.FlowID, f.Next = string(t.flow.ID), t.next
	for _, change := range t.changes[f.Role][f.Name] {
		f.Change = change.Change
		if change.Change != document.ChangeAdded || change.Breaking {
			f.Why = append(f.Why, change.Sentence)
		}
	}
	t.list = append(t.list, f)
}

// title returns the title of a node, or "" if it equals the name of the field.
func (t *fieldTable) title(node, name string) string {
	n := t.Node(node)
	if n == nil {
		return ""
	}
	if title := document.NodeTitle(n, t.kinds.For(n)); !strings.EqualFold(title, name) {
		return title
	}
	return ""
}

// inputs adds the inputs of the draft, and those of the live version that the draft no
// longer has.
func (t *fieldTable) inputs() {
	seen := map[string]bool{}
	for _, in := range contract.Inputs(t.Document, t.kinds) {
		seen[in.Name] = true
		t.add(inputLine(&in, in.Node, t.title(in.Node, in.Name)))
	}
	if t.live == nil {
		return
	}
	for _, in := range contract.Inputs(t.live, t.kinds) {
		if !seen[in.Name] {
			t.add(inputLine(&in, "", ""))
		}
	}
}

// inputLine converts an input. node is empty if only the live version has it.
func inputLine(in *contract.Input, node, title string) editorview.APIField {
	return editorview.APIField{Role: editorview.APIInput, Node: node, Name: in.Name, Title: title, Type: string(in.Type), Note: inputNote(in), About: in.Description}
}

// maxDefaultText is the number of characters after which the table truncates a
// default.
const maxDefaultText = 24

// inputNote returns "required", or else the default value of an input.
func inputNote(in *contract.Input) string {
	if in.Required {
		return "required"
	}
	text := flow.Text(in.Default)
	if runes := []rune(text); len(runes) > maxDefaultText {
		text = strings.TrimSpace(string(runes[:maxDefaultText-1])) + "…"
	}
	if _, isText := in.Default.(string); isText {
		text = "“" + text + "”"
	}
	return "default " + text
}

// outputs adds the outputs of the draft, and those of the live version that the draft
// no longer has.
func (t *fieldTable) outputs() {
	seen := map[string]bool{}
	for _, out := range document.Outputs(t.Document, t.kinds) {
		seen[out.Name] = true
		t.add(editorview.APIField{Role: editorview.APIOutput, Node: out.Node, Name: out.Name, Title: t.title(out.Node, out.Name), Type: string(out.Type), Note: outputNote(&out)})
	}
	if t.live == nil {
		return
	}
	for _, out := range document.Outputs(t.live, t.kinds) {
		if !seen[out.Name] {
			t.add(editorview.APIField{Role: editorview.APIOutput, Name: out.Name, Type: string(out.Type), Note: outputNote(&out)})
		}
	}
}

// outputNote returns the note of an output, which is optional if a run can skip it.
func outputNote(out *document.Output) string {
	if out.Optional {
		return "optional output"
	}
	return "output"
}

// webhooks adds the webhooks of the draft, and those of the live version that the draft no
// longer sends. Webhooks have no names, so their nodes are matched by ID.
func (t *fieldTable) webhooks() {
	for i := range t.Nodes {
		if n := &t.Nodes[i]; t.sendsWebhook(n) {
			f := webhookLine(n, n.ID, document.NodeTitle(n, t.kinds.For(n)))
			f.Change = t.webhookChange(n)
			t.add(f)
		}
	}
	if t.live == nil {
		return
	}
	for i := range t.live.Nodes {
		n := &t.live.Nodes[i]
		if current := t.Node(n.ID); t.sendsWebhook(n) && (current == nil || !t.sendsWebhook(current)) {
			f := webhookLine(n, "", document.NodeTitle(n, t.kinds.For(n)))
			f.Change = document.ChangeRemoved
			t.add(f)
		}
	}
}

// sendsWebhook reports whether a node is an active webhook.
func (t *fieldTable) sendsWebhook(n *flow.Node) bool {
	k := t.kinds.Find(n.Kind)
	return k != nil && k.OutputsField != "" && !n.Disabled
}

// webhookChange returns how publishing changes a webhook of the draft, or "".
func (t *fieldTable) webhookChange(n *flow.Node) string {
	if t.live == nil {
		return ""
	}
	previous := t.live.Node(n.ID)
	if previous == nil || !t.sendsWebhook(previous) {
		return document.ChangeAdded
	}
	if string(flow.EncodeJSON(previous.Config)) != string(flow.EncodeJSON(n.Config)) {
		return document.ChangeChanged
	}
	return ""
}

// webhookLine converts a webhook. It shows only the host, because a URL may
// contain secrets.
func webhookLine(n *flow.Node, node, title string) editorview.APIField {
	f := editorview.APIField{Role: editorview.APIWebhook, Node: node, Name: title, Type: "webhook", Note: "to a URL from an edge"}
	if text, ok := n.Config["url"].(string); ok && text != "" {
		f.Note = "to a fixed URL"
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			f.Note = "to " + u.Host
		}
	}
	return f
}

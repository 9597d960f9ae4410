package editor

import (
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// diffOf converts a comparison of two documents.
func diffOf(d *document.Diff) *editorview.Diff {
	return &editorview.Diff{
		Groups: changeGroups(d), Breaking: d.Breaking, Moved: d.Moved, Summary: diffSummary(d),
		Changes: d.Count(),
	}
}

// changeGroups groups the changes. Those of the API, which callers notice, come
// first.
func changeGroups(d *document.Diff) (groups []editorview.ChangeGroup) {
	add := func(title string, lines []editorview.ChangeLine) {
		if len(lines) > 0 {
			groups = append(groups, editorview.ChangeGroup{Title: title, Lines: lines})
		}
	}
	var api, nodes, edges, about []editorview.ChangeLine
	for _, a := range d.API {
		api = append(api, editorview.ChangeLine{Change: a.Change, Text: a.Sentence, Breaking: a.Breaking && len(d.Breaking) > 0})
	}
	for _, n := range d.Nodes {
		nodes = append(nodes, editorview.ChangeLine{Change: n.Change, Text: n.Sentence, Breaking: false})
	}
	for _, text := range d.Connected {
		edges = append(edges, editorview.ChangeLine{Change: document.ChangeAdded, Text: text, Breaking: false})
	}
	for _, text := range d.Disconnected {
		edges = append(edges, editorview.ChangeLine{Change: document.ChangeRemoved, Text: text, Breaking: false})
	}
	for _, text := range d.About {
		about = append(about, editorview.ChangeLine{Change: document.ChangeChanged, Text: text, Breaking: false})
	}
	if d.Moved > 0 {
		about = append(about, editorview.ChangeLine{Change: document.ChangeChanged, Text: components.Quantity(d.Moved, "node") + " moved on the canvas.", Breaking: false})
	}
	add("API", api)
	add("Nodes", nodes)
	add("Edges", edges)
	add("About", about)
	return groups
}

// diffSummary returns the changes as counts, such as "1 input added, 2 nodes
// changed."
func diffSummary(d *document.Diff) string {
	counts := map[string]int{}
	var order []string
	count := func(change string) {
		if counts[change]++; counts[change] == 1 {
			order = append(order, change)
		}
	}
	for _, a := range d.API {
		count(apiRoles[a.Role] + " " + a.Change)
	}
	for _, n := range d.Nodes {
		count("node " + n.Change)
	}
	for range d.Added {
		count("edge " + document.ChangeAdded)
	}
	for range d.Removed {
		count("edge " + document.ChangeRemoved)
	}
	if len(order) == 0 {
		return "name, description or groups."
	}
	var parts []string
	for _, change := range order {
		noun, verb, _ := strings.Cut(change, " ")
		parts = appendCount(parts, counts[change], noun, verb)
	}
	return strings.Join(parts, ", ") + "."
}

// apiRoles are the nouns for inputs and outputs.
var apiRoles = map[flow.Role]string{flow.RoleInput: "input", flow.RoleOutput: "output"}

// apiDiffers summarizes how the draft differs from the live version. Changes of
// the API hide all others.
func apiDiffers(d *document.Diff) string {
	var parts []string
	changes := []string{document.ChangeAdded, document.ChangeChanged, document.ChangeRemoved}
	for _, role := range []flow.Role{flow.RoleInput, flow.RoleOutput} {
		for _, change := range changes {
			parts = appendCount(parts, fieldsChanged(d, role, change), apiRoles[role], change)
		}
	}
	if len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	for _, change := range changes {
		n := 0
		for i := range d.Nodes {
			if d.Nodes[i].Change == change {
				n++
			}
		}
		parts = appendCount(parts, n, "node", change)
	}
	parts = appendCount(parts, len(d.Added)+len(d.Removed), "edge", document.ChangeChanged)
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case len(d.About) > 0:
		return "name, description or groups"
	}
	return "node positions"
}

// fieldsChanged counts the inputs or outputs with a change. One that changes in
// several ways counts once.
func fieldsChanged(d *document.Diff, role flow.Role, change string) int {
	names := map[string]bool{}
	for _, a := range d.API {
		if a.Role == role && a.Change == change {
			names[a.Name] = true
		}
	}
	return len(names)
}

// appendCount appends a part of a summary, such as "2 nodes added", unless n is 0.
func appendCount(parts []string, n int, noun, change string) []string {
	if n == 0 {
		return parts
	}
	return append(parts, components.Quantity(n, noun)+" "+change)
}

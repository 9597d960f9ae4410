package editor

import (
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// diffOf converts what a newer document changes.
func diffOf(d *document.Diff) *editorview.Diff {
	return &editorview.Diff{
		Groups: changeGroups(d), Breaking: d.Breaking, Moved: d.Moved, Summary: diffSummary(d),
		Changes: len(d.About) + len(d.Nodes) + len(d.Added) + len(d.Removed) + len(d.API),
	}
}

// changeGroups sorts changes into groups, those that callers see first.
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
	for _, e := range d.Added {
		edges = append(edges, editorview.ChangeLine{Change: document.ChangeAdded, Text: fmt.Sprintf("Connected %s to %s.", e.From, e.To), Breaking: false})
	}
	for _, e := range d.Removed {
		edges = append(edges, editorview.ChangeLine{Change: document.ChangeRemoved, Text: fmt.Sprintf("Disconnected %s from %s.", e.From, e.To), Breaking: false})
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

// diffSummary counts what changed: 1 input added, 2 nodes changed.
func diffSummary(d *document.Diff) string {
	counts := map[string]int{}
	var order []string
	note := func(what string) {
		if counts[what]++; counts[what] == 1 {
			order = append(order, what)
		}
	}
	for _, a := range d.API {
		what := "input "
		if a.Role == flow.RoleOutput {
			what = "output "
		}
		note(what + a.Change)
	}
	for _, n := range d.Nodes {
		note("node " + n.Change)
	}
	for range d.Added {
		note("edge " + document.ChangeAdded)
	}
	for range d.Removed {
		note("edge " + document.ChangeRemoved)
	}
	text := ""
	for i, what := range order {
		if i > 0 {
			text += ", "
		}
		text += counted(counts[what], what)
	}
	if text == "" {
		return "name, description or groups."
	}
	return text + "."
}

// counted writes a number before a noun and what happened to it: 2 nodes added.
func counted(n int, what string) string {
	for i := range len(what) {
		if what[i] == ' ' {
			return components.Quantity(n, what[:i]) + what[i:]
		}
	}
	return components.Quantity(n, what)
}

// apiRoles contains the words for inputs and outputs.
var apiRoles = map[flow.Role]string{flow.RoleInput: "input", flow.RoleOutput: "output"}

// apiDiffers says in a few words how a draft differs from what is live.
func apiDiffers(d *document.Diff) string {
	var parts []string
	changes := []string{document.ChangeAdded, document.ChangeChanged, document.ChangeRemoved}
	for _, role := range []flow.Role{flow.RoleInput, flow.RoleOutput} {
		for _, change := range changes {
			parts = appendSome(parts, fieldsChanged(d, role, change), apiRoles[role], change)
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
		parts = appendSome(parts, n, "node", change)
	}
	parts = appendSome(parts, len(d.Added)+len(d.Removed), "edge", document.ChangeChanged)
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case len(d.About) > 0:
		return "what is said about it"
	}
	return "where nodes stand"
}

// fieldsChanged counts names: one input may change in several ways.
func fieldsChanged(d *document.Diff, role flow.Role, change string) int {
	names := map[string]bool{}
	for _, a := range d.API {
		if a.Role == role && a.Change == change {
			names[a.Name] = true
		}
	}
	return len(names)
}

// appendSome appends a part of a summary, such as "2 nodes added", unless n is 0.
func appendSome(parts []string, n int, noun, change string) []string {
	if n == 0 {
		return parts
	}
	return append(parts, components.Quantity(n, noun)+" "+change)
}

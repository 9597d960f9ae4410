package editor

import (
	"net/url"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// APIPane is what a program needs to call a flow, and how to try it.
type APIPane struct {
	FlowID, Name string
	Rev          int64 // of the draft
	State        APIState
	Fields       []APIField
	Snippets     APISnippets
	Try          APITry
	// Keys fills the section of keys.
	Keys      templ.Component
	Calls     APICalls
	Addresses APIAddresses
}

// APIState is whether a flow is an API, and whether the draft is another one.
type APIState struct {
	FlowID string
	Live   int64 // 0 before the first publish
	Next   int64 // the version that publishing makes live
	// URL starts runs; Base is where all of the API is.
	URL, Base string
	// Differs says how the draft differs from what is live; empty if it does not.
	Differs string
	// Breaks tells that the draft would refuse callers of today.
	Breaks   bool
	ReadOnly bool
}

func (s APIState) publish() templ.SafeURL { return components.FlowURL(s.FlowID, "/publish") }

func (s APIState) compare() templ.SafeURL {
	return comparePath(s.FlowID, versionWord(s.Live), draftWord)
}

// APIField is an input, an output or a webhook of a flow.
type APIField struct {
	FlowID string
	Role   APIRole
	// Node is the node of the draft that the field is; empty if it is gone.
	Node, Name string
	// Title is what people call the node, where that is not the name.
	Title string
	Type  string
	// Note says what callers must know first: required, or the default.
	Note string
	// About is what the author says of an input.
	About string
	// Change is what publishing does to the field: flow.ChangeAdded and so on.
	Change string
	// Next is the version that brings the change; Why says what it means.
	Next int64
	Why  []string
}

// APIRole is what a field is.
type APIRole string

// The roles, as the table calls them.
const (
	APIInput   APIRole = "input"
	APIOutput  APIRole = "output"
	APIWebhook APIRole = "webhook"
)

var apiRoles = map[flow.Role]APIRole{flow.RoleInput: APIInput, flow.RoleOutput: APIOutput}

// id is stable while the field is, so that a newer table takes its place.
func (f APIField) id() string {
	if f.Node != "" {
		return "api-field-" + f.Node
	}
	return "api-gone-" + string(f.Role) + "-" + f.Name
}

func (f APIField) path() templ.SafeURL {
	return components.FlowURL(f.FlowID, "?node="+url.QueryEscape(f.Node))
}

// mark is the tag beside the name.
func (f APIField) mark() (tone components.Tone, words string) {
	next := VersionName(f.Next)
	switch f.Change {
	case document.ChangeAdded:
		return components.ToneWait, "in " + next
	case document.ChangeChanged:
		return components.ToneWait, "changes in " + next
	case document.ChangeRemoved:
		return components.ToneBad, "gone in " + next
	}
	return components.ToneNone, ""
}

// APIDiffers says in a few words how a draft differs from what is live.
func APIDiffers(d *document.Diff) string {
	var parts []string
	changes := []string{document.ChangeAdded, document.ChangeChanged, document.ChangeRemoved}
	for _, role := range []flow.Role{flow.RoleInput, flow.RoleOutput} {
		for _, change := range changes {
			parts = appendSome(parts, fieldsChanged(d, role, change), string(apiRoles[role]), change)
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

func appendSome(parts []string, n int, noun, change string) []string {
	if n == 0 {
		return parts
	}
	return append(parts, components.Quantity(n, noun)+" "+change)
}

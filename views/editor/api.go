package editor

import (
	"net/url"

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
	// Breaks is set if the draft would refuse callers of today.
	Breaks   bool
	ReadOnly bool
}

func (s APIState) publish() templ.SafeURL { return components.FlowURL(s.FlowID, "/publish") }

// compare returns the URL of the page that compares the live version with the draft.
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
	// Change is what publishing does to the field: ChangeAdded and so on.
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
	case ChangeAdded:
		return components.ToneWait, "in " + next
	case ChangeChanged:
		return components.ToneWait, "changes in " + next
	case ChangeRemoved:
		return components.ToneBad, "gone in " + next
	}
	return components.ToneNone, ""
}

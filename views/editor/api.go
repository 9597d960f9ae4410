package editor

import (
	"net/url"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// APIPane shows how programs call a flow, and lets users try it.
type APIPane struct {
	FlowID, Name string
	Rev          int64 // revision of the draft
	State        APIState
	Fields       []APIField
	Snippets     APISnippets
	Try          APITry
	// Keys is the section with the flow's API keys.
	Keys      templ.Component
	Calls     APICalls
	Addresses APIAddresses
}

// APIState reports whether a flow is published and how the draft differs from the live version.
type APIState struct {
	FlowID string
	Live   int64 // 0 before the first publish
	Next   int64 // the version that publishing makes live
	// URL starts runs; Base is the base URL of the API.
	URL, Base string
	// Differs summarizes how the draft differs from the live version; "" if it doesn't.
	Differs string
	// Breaks is set if publishing the draft would break existing callers.
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
	// Node is the ID of the field's node in the draft; "" if it was deleted.
	Node, Name string
	// Title is the title of the node if it differs from Name.
	Title string
	Type  string
	// Note is what callers must know first: that the field is required, or its default.
	Note string
	// About is the author's description of an input.
	About string
	// Change is the effect of publishing on the field, such as ChangeAdded.
	Change string
	// Next is the version that brings the change; Why explains it.
	Next int64
	Why  []string
}

// APIRole is input, output or webhook.
type APIRole string

// The roles, with their labels.
const (
	APIInput   APIRole = "input"
	APIOutput  APIRole = "output"
	APIWebhook APIRole = "webhook"
)

// id returns an HTML ID that stays the same across updates of the table.
func (f APIField) id() string {
	if f.Node != "" {
		return "api-field-" + f.Node
	}
	return "api-gone-" + string(f.Role) + "-" + f.Name
}

func (f APIField) path() templ.SafeURL {
	return components.FlowURL(f.FlowID, "?node="+url.QueryEscape(f.Node))
}

// mark returns the tag beside the name.
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

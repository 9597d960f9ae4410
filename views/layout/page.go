// Package layout renders the frame of every page: the document, navigation, settings tabs,
// toasts, and error pages. It knows the URLs of the main pages and assets, but not the content
// of pages.
package layout

import (
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/views/components"
)

// Page is the data of a page's frame.
type Page struct {
	// Title is the title of the page; the browser shows "Title · Sluice".
	Title string
	// Section is the part of the navigation that the page belongs to.
	Section Section
	Theme   Theme
	// Workspace is the name of the current workspace.
	Workspace string
	// Workspaces are the first workspaces of the user, for switching, with the current one.
	Workspaces []WorkspaceChoice
	// MoreWorkspaces is set if the user has more of them.
	MoreWorkspaces bool
	// NewWorkspace is set if the user may create workspaces.
	NewWorkspace bool
	// Flow is what the header of a flow's page shows.
	Flow components.FlowFacts
	// Waiting is the number of approvals that await an answer.
	Waiting int
	// Person is the signed-in user; nil without a session.
	Person *Person
	// Version is the version of Sluice, shown to signed-in users.
	Version string
	// Toasts are messages of the previous request. They are shown once.
	Toasts []Toast
	// Unsafe warns that the session cookie is sent without encryption.
	Unsafe bool
	// Canvas loads the styles of the canvas.
	Canvas bool
	// Panes loads the styles of the panes beside the canvas with the page, because one is open
	// from the start.
	Panes bool
	// Sheets are additional style sheets for this page.
	Sheets []string
	// Nonce allows the inline styles of the code editor. Only pages with a canvas have one.
	Nonce string
}

// nonce returns the nonce that the page passes to its scripts.
func (p Page) nonce() string {
	if p.Canvas {
		return p.Nonce
	}
	return ""
}

// WithSheet returns the page with an additional style sheet.
func (p Page) WithSheet(sheet string) Page {
	p.Sheets = append(slices.Clip(p.Sheets), sheet)
	return p
}

// Person is a user with their role in the current workspace.
type Person struct{ Name, Email, Role string }

// Initials returns one or two letters for the user's avatar.
func (p Person) Initials() string {
	words := strings.Fields(p.Name)
	if len(words) == 0 {
		words = []string{p.Email}
	}
	letters := first(words[0])
	if len(words) > 1 {
		letters += first(words[len(words)-1])
	}
	return strings.ToUpper(letters)
}

// first returns the first character of a word, for initials. An empty word gives "".
func first(word string) string {
	_, size := utf8.DecodeRuneInString(word)
	return word[:size]
}

// Theme is a user's color scheme: light, dark, or that of the system.
type Theme string

// The themes, as the cookie "theme" stores them.
const (
	ThemeSystem Theme = "system"
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// ParseTheme returns the theme that a cookie names; anything unknown is the system's.
func ParseTheme(cookie string) Theme {
	switch t := Theme(cookie); t {
	case ThemeLight, ThemeDark:
		return t
	}
	return ThemeSystem
}

// Class returns the CSS class of <html>; the system's theme has none.
func (t Theme) Class() string {
	if t == ThemeLight || t == ThemeDark {
		return string(t)
	}
	return ""
}

// is reports whether theme t is other; an empty theme is the system's.
func (t Theme) is(other Theme) bool {
	return t == other || t == "" && other == ThemeSystem
}

// Section is one entry of the navigation.
type Section string

// The sections, with their labels in the navigation.
const (
	SectionFlows       Section = "Flows"
	SectionRuns        Section = "Runs"
	SectionTriggers    Section = "Triggers"
	SectionKnowledge   Section = "Knowledge"
	SectionKeys        Section = "Keys"
	SectionDeliveries  Section = "Deliveries"
	SectionCredentials Section = "Credentials"
	SectionModels      Section = "Models"
	SectionUsage       Section = "Usage"
	SectionSettings    Section = "Settings"
	SectionDocs        Section = "Docs"
)

// sections are the entries of the navigation, from top to bottom.
var sections = []Section{
	SectionFlows, SectionRuns, SectionTriggers, SectionKnowledge, SectionKeys, SectionDeliveries, SectionUsage, SectionCredentials, SectionModels, SectionSettings, SectionDocs,
}

// path returns the URL of a section.
func (s Section) path() string { return "/" + strings.ToLower(string(s)) }

// Toast is a short message in the corner of the page.
type Toast struct {
	Tone components.Tone
	Text string
	// Undo is the URL of a form that reverts the action; "" if it can't be undone.
	Undo string
}

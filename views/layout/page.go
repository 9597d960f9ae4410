// Package layout renders what surrounds every page: the document, navigation,
// settings tabs, toasts, and error pages. It knows the URLs of the main pages and
// assets, and nothing of what a page is about.
package layout

import (
	"strings"
	"unicode/utf8"

	"sluice/views/components"
)

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.977 generate

// Page is what stands around the content of every page.
type Page struct {
	// Title is the page's own name; the browser shows "Title · Sluice".
	Title string
	// Section is the part of the navigation that the page belongs to.
	Section Section
	Theme   Theme
	// Workspace is the name of the workspace that the person works in.
	Workspace string
	// Workspaces are all that the person may work in, for switching.
	Workspaces []WorkspaceChoice
	// NewWorkspace is set if the person may make another.
	NewWorkspace bool
	// Waiting is how many questions of runs wait for an answer.
	Waiting int
	// Person is who is signed in; nil before.
	Person *Person
	// Version of the program, shown to people who are signed in.
	Version string
	// Toasts are messages of the request before, shown once.
	Toasts []Toast
	// Unsafe warns that the session's cookie travels without encryption.
	Unsafe bool
	// Canvas loads the styles of the canvas.
	Canvas bool
	// Panes loads the styles of what opens beside the canvas at once, because it is
	// open from the start.
	Panes bool
	// Sheet is a style sheet that few pages have, beside that of all.
	Sheet string
	// Nonce allows the styles that the code editor makes; it is on pages with
	// a canvas alone.
	Nonce string
}

// nonce is what the page tells its scripts.
func (p Page) nonce() string {
	if p.Canvas {
		return p.Nonce
	}
	return ""
}

// with adds a style sheet.
func (p Page) WithSheet(sheet string) Page {
	p.Sheet = sheet
	return p
}

// Person is who is signed in.
type Person struct{ Name, Email, Role string }

// Initials are one or two letters that stand for the person.
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

// Theme is how a person wants the pages: light, dark, or as the system has it.
type Theme string

// The themes; the cookie "theme" carries the same words.
const (
	ThemeSystem Theme = "system"
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// ParseTheme reads the cookie; what it does not know is the system's.
func ParseTheme(cookie string) Theme {
	switch t := Theme(cookie); t {
	case ThemeLight, ThemeDark:
		return t
	}
	return ThemeSystem
}

// class is what <html> wears; the system's theme needs none.
func (t Theme) Class() string {
	if t == ThemeLight || t == ThemeDark {
		return string(t)
	}
	return ""
}

// is reports whether a theme is the chosen one; none chosen is the system's.
func (t Theme) is(other Theme) bool {
	return t == other || t == "" && other == ThemeSystem
}

// Section is one entry of the navigation.
type Section string

// The sections, as they are called on the screen.
const (
	SectionFlows       Section = "Flows"
	SectionRuns        Section = "Runs"
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
	SectionFlows, SectionRuns, SectionKeys, SectionDeliveries, SectionUsage, SectionCredentials, SectionModels, SectionSettings, SectionDocs,
}

// path is where a section lives.
func (s Section) path() string { return "/" + strings.ToLower(string(s)) }

// Toast is a short message in the corner of the page.
type Toast struct {
	Tone components.Tone
	Text string
	// Undo is where a form takes back what was done; empty when it cannot.
	Undo string
}

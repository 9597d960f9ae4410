package console

import (
	"html"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// FormSettings are the settings of a flow's public form, as typed.
type FormSettings struct {
	FlowID, Flow, Description string
	LiveVersion               int64
	On, Unlisted, NoPassword  bool
	Keep                      bool // store conversations
	Title, Intro, Button      string
	PerMinute, PerDay         string
	MaxFile                   string // MiB
	Origins                   string // one per line
	Errors                    components.Errors
	URL, FrameTitle           string
	// Shown is set if the form is public, Published if the flow has a version.
	Shown, Published bool
	HasPassword      bool
	Embedded         bool  // some sites may embed the form
	UsedUp           bool  // the form has reached its daily run limit
	MayEdit          bool  // the person may change it
	Encrypted        bool  // the site is served over HTTPS
	MostFile         int64 // upper bound of the server for a file, in bytes
	Chat             bool  // the form is a chat, because the flow has an input of type messages
	// Fields are the first fields of the form, for the preview; More is the number of others.
	Fields []PreviewField
	More   int
}

// PreviewField is a field in the preview of a form. Text is what it shows before anybody types.
type PreviewField struct {
	Label, Text string
	Tall        bool
	Options     []string
}

// script returns the script tag that embeds the form; an alternative to frame.
func (s FormSettings) script() string {
	return `<script async src="` + s.URL + `/embed.js" data-title="` + html.EscapeString(s.FrameTitle) + `"></script>`
}

// frame returns the iframe that embeds the form.
func (s FormSettings) frame() string {
	return `<iframe src="` + s.URL + `" title="` + html.EscapeString(s.FrameTitle) + `" width="100%" height="720" style="border: 0" loading="lazy"></iframe>`
}

// integerField returns a field for a whole number.
func (s FormSettings) integerField(name, label, value, help string) components.Field {
	return components.Field{Name: name, Label: label, Type: "number", Value: value, Help: help, Error: s.Errors[name], Disabled: !s.MayEdit, Attrs: templ.Attributes{"min": "1", "step": "1", "inputmode": "numeric"}}
}

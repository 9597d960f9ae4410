package console

import (
	"html"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// FormSettings is what members decide about the form of a flow.
type FormSettings struct {
	FlowID, Flow, Description string
	On, Unlisted, NoPassword  bool
	Keep                      bool // conversations are kept
	Title, Intro, Button      string
	PerMinute, PerDay         string
	MaxFile                   string // MiB
	Origins                   string // one a line
	Errors                    components.Errors
	URL, FrameTitle           string
	// Shown is set if anybody can see it, Published that the flow has a version.
	Shown, Published bool
	HasPassword      bool
	Embedded         bool  // sites are listed that may embed it
	UsedUp           bool  // it has started all that it may today
	MayEdit          bool  // the person may change it
	Encrypted        bool  // it is reached over https
	MostFile         int64 // bytes that a file may have at all
	Chat             bool  // the form is a chat, because the flow has an input of type messages
}

// script is what other sites put into their pages instead of frame.
func (s FormSettings) script() string {
	return `<script async src="` + s.URL + `/embed.js" data-title="` + html.EscapeString(s.FrameTitle) + `"></script>`
}

// frame is what other sites put into their pages.
func (s FormSettings) frame() string {
	return `<iframe src="` + s.URL + `" title="` + html.EscapeString(s.FrameTitle) + `" width="100%" height="720" style="border: 0" loading="lazy"></iframe>`
}

// whole is a field of a whole number.
func (s FormSettings) whole(name, label, value, help string) components.Field {
	return components.Field{Name: name, Label: label, Type: "number", Value: value, Help: help, Error: s.Errors[name], Disabled: !s.MayEdit, Attrs: templ.Attributes{"min": "1", "step": "1", "inputmode": "numeric"}}
}

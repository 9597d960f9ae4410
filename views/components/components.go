// Package components renders the parts that pages share: buttons, fields, tables, times,
// numbers, charts, values and thumbnails of flows. It doesn't depend on any page.
package components

import (
	"fmt"
	"net/url"

	"sluice/static"

	"github.com/a-h/templ"
)

// ButtonLook is the visual weight of a button. A screen has at most one primary button.
type ButtonLook string

// The looks of buttons.
const (
	LookPlain   ButtonLook = ""
	LookPrimary ButtonLook = "primary"
	LookDanger  ButtonLook = "danger"
	LookQuiet   ButtonLook = "quiet"
)

// Button is a button, or with Href a link that looks like one. Without a Label, only the icon
// is shown and Title is its accessible name.
type Button struct {
	Label, Icon, Title string
	Look               ButtonLook
	// Size is "small", "large" or "".
	Size string
	// Type is the button's type; "" means "submit", as in HTML.
	Type, Name, Value string
	Href              string
	// Busy replaces the label while an htmx request is pending.
	Busy     string
	Disabled bool
	// Attrs are further attributes, such as data-hx-post.
	Attrs templ.Attributes
}

// classes returns the CSS classes of a button. A button without a label shows only its
// icon and is square ("only").
func (b Button) classes() templ.CSSClasses {
	return templ.Classes("btn", string(b.Look), b.Size, templ.KV("only", b.Label == ""))
}

// Field is one form field with its label, help and error.
type Field struct {
	// Name is the name of the form value. ID defaults to it.
	ID, Name, Label string
	Help, Error     string
	Value           string
	// Type is the type of the <input>; "" means "text".
	Type, Placeholder, Autocomplete string
	// Optional adds "optional" to the label; other fields are required.
	Optional, Disabled, Checked, Mono bool
	// Either is set if one of several fields must be filled in: this one is then neither
	// required nor labeled optional.
	Either bool
	// Size is "large" or "".
	Size    string
	Options []Option
	Attrs   templ.Attributes
}

// Option is one choice of a select field.
type Option struct{ Value, Label string }

// ControlID returns the HTML ID of the control, for its label and messages. It is the name of
// the field unless a page has the same form twice.
func (f Field) ControlID() string {
	if f.ID != "" {
		return f.ID
	}
	return "field-" + f.Name
}

func (f Field) kind() string {
	if f.Type != "" {
		return f.Type
	}
	return "text"
}

// required reports whether the browser requires a value. A select without an empty option
// always has one, and HTML forbids "required" on it.
func (f Field) required() bool {
	chosen := len(f.Options) > 0 && f.Options[0].Value != ""
	return !f.Optional && !f.Either && !chosen && f.kind() != "checkbox"
}

// ControlAttrs returns the attributes that all controls share: identity, validation, and
// references to the messages.
func (f Field) ControlAttrs() templ.Attributes {
	a := templ.Attributes{"id": f.ControlID(), "name": f.Name, "disabled": f.Disabled, "required": f.required()}
	var about string
	if f.Help != "" {
		about = f.ControlID() + "-help"
	}
	if f.Error != "" {
		a["aria-invalid"] = "true"
		about = f.ControlID() + "-error " + about
	}
	if about != "" {
		a["aria-describedby"] = about
	}
	for _, p := range [][2]string{{"placeholder", f.Placeholder}, {"autocomplete", f.Autocomplete}} {
		if p[1] != "" {
			a[p[0]] = p[1]
		}
	}
	for k, v := range f.Attrs {
		a[k] = v
	}
	return a
}

// classes returns the CSS classes of a control; look is "input", "select" or "area".
func (f Field) classes(look string) templ.CSSClasses {
	return templ.Classes(look, f.Size, templ.KV("mono", f.Mono))
}

// Errors maps names of fields to error messages; the key "" is for the whole form.
type Errors map[string]string

// Tab is one of several views with URLs of their own.
type Tab struct {
	Label, Href string
	// Count is shown beside the label unless it is "".
	Count   string
	Current bool
	Attrs   templ.Attributes
}

// Panel is one of several views on the same page, shown as tabs.
type Panel struct {
	Label   string
	Content templ.Component
}

// panelID returns the HTML ID of a tab or its panel.
func panelID(id, part string, i int) string { return fmt.Sprintf("%s-%s-%d", id, part, i) }

// tabStop returns the tabindex: the Tab key reaches only the selected tab, arrow keys the
// others.
func tabStop(selected bool) string {
	if selected {
		return "0"
	}
	return "-1"
}

// Empty is an empty state. Its children are the next step, such as a button.
type Empty struct{ Icon, Title, Text string }

// StateSign is the icon, label and color of a state.
type StateSign struct {
	Icon string
	Tone Tone
}

// stateSigns has the states of runs, steps, deliveries and cases.
var stateSigns = map[string]StateSign{
	"queued":    {"clock", ToneNone},
	"pending":   {"circle-dashed", ToneNone},
	"running":   {"loader", ToneRun},
	"retrying":  {"refresh-cw", ToneWait},
	"waiting":   {"pause", ToneWait},
	"succeeded": {"check", ToneOK},
	"passed":    {"check", ToneOK},
	"errored":   {"triangle-alert", ToneWait},
	"stale":     {"history", ToneWait},
	"delivered": {"check", ToneOK},
	"reused":    {"repeat", ToneOK},
	"skipped":   {"skip-forward", ToneNone},
	"failed":    {"x", ToneBad},
	"canceled":  {"ban", ToneNone},
	"unknown":   {"triangle-alert", ToneWait},
}

// Ended reports whether state is a final state of a run.
func Ended(state string) bool {
	return state == "succeeded" || state == "failed" || state == "canceled"
}

// StateWord returns the word for a state, in lower case.
func StateWord(state string) string {
	if state == "pending" {
		return "not started"
	}
	return state
}

// SignOf returns the sign of a state; an unknown state gets a plain circle.
func SignOf(state string) StateSign {
	if s, ok := stateSigns[state]; ok {
		return s
	}
	return StateSign{"circle", ToneNone}
}

// IconURL returns the URL of an icon. All icons are in one SVG sprite, so that a
// browser fetches and caches a single file.
func IconURL(name string) string { return static.URL("icons.svg") + "#" + name }

// Pages is the pagination of a list by cursors. An empty cursor means that there is no such
// page.
type Pages struct {
	// Path is the URL of the list without a cursor, Query its filters.
	Path           string
	Query          url.Values
	Before, After  string
	Previous, Next string // "Newer" and "Older" if empty
}

// link returns the URL of the list with another cursor and the same filter. name is
// "before" or "after", the parameter of the cursor.
func (p Pages) link(name, cursor string) templ.SafeURL {
	q := url.Values{}
	for k, v := range p.Query {
		q[k] = v
	}
	q.Set(name, cursor)
	return templ.SafeURL(p.Path + "?" + q.Encode())
}

// checkbox returns the field as a checkbox, which is never required.
func (f Field) checkbox() Field {
	f.Type = "checkbox"
	return f
}

// named returns the attributes that name a button without a label.
func (b Button) named() templ.Attributes {
	a := templ.Attributes{}
	for _, p := range [][2]string{{"name", b.Name}, {"value", b.Value}, {"title", b.Title}} {
		if p[1] != "" {
			a[p[0]] = p[1]
		}
	}
	if b.Label == "" {
		a["aria-label"] = b.Title
	}
	for k, v := range b.Attrs {
		a[k] = v
	}
	return a
}

// noteRole returns the ARIA role: errors are announced immediately, other notes are not.
func noteRole(tone Tone) string {
	if tone == ToneBad {
		return "alert"
	}
	return "note"
}

// Package components renders the parts that pages share: buttons, fields, tables,
// times, numbers, charts, values and small pictures of flows. It knows no page.
package components

import (
	"fmt"
	"net/url"

	"sluice/static"

	"github.com/a-h/templ"
)

// ButtonLook is how loud a button is; a screen has one primary.
type ButtonLook string

// The looks of buttons.
const (
	LookPlain   ButtonLook = ""
	LookPrimary ButtonLook = "primary"
	LookDanger  ButtonLook = "danger"
	LookQuiet   ButtonLook = "quiet"
)

// Button is a button, or a link that looks like one when Href is set. Without
// a Label it shows its icon alone and Title names it.
type Button struct {
	Label, Icon, Title string
	Look               ButtonLook
	// Size is "small", "large" or nothing.
	Size string
	// Type is "submit" when empty, as in HTML.
	Type, Name, Value string
	Href              string
	// Busy is said instead of the label while a request of htmx is on its way.
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

// Field is one field of a form with all that is said about it.
type Field struct {
	// Name is the form's; ID is made from it when empty.
	ID, Name, Label string
	Help, Error     string
	Value           string
	// Type is an <input>'s: "text" when empty.
	Type, Placeholder, Autocomplete string
	// Optional is said beside the label; all other fields are required.
	Optional, Disabled, Checked, Mono bool
	// Either is set if one of several fields is needed: this one alone is not
	// required, and not called optional.
	Either bool
	// Size is "large" or nothing.
	Size    string
	Options []Option
	Attrs   templ.Attributes
}

// Option is one choice of a select field.
type Option struct{ Value, Label string }

// ControlID returns the ID of the control, which its label and its messages refer to.
// It is the field's name unless the same form is twice on a page.
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

// required reports whether the browser insists on a value. A list of choices
// without an empty one always has a value, and HTML forbids to ask for it.
func (f Field) required() bool {
	chosen := len(f.Options) > 0 && f.Options[0].Value != ""
	return !f.Optional && !f.Either && !chosen && f.kind() != "checkbox"
}

// attrs are what every control of a field has in common: who it is, and which
// sentences belong to it.
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

// classes of a control; look is "input", "select" or "area".
func (f Field) classes(look string) templ.CSSClasses {
	return templ.Classes(look, f.Size, templ.KV("mono", f.Mono))
}

// Errors are sentences by the name of the field they belong to; "" is the form.
type Errors map[string]string

// Tab is one of several views of the same thing, with an address of its own.
type Tab struct {
	Label, Href string
	// Count is shown beside the label when not empty.
	Count   string
	Current bool
	Attrs   templ.Attributes
}

// Panel is one of several views that are all on the page.
type Panel struct {
	Label   string
	Content templ.Component
}

// panelID names a tab or a panel.
func panelID(id, part string, i int) string { return fmt.Sprintf("%s-%s-%d", id, part, i) }

// tabStop lets the Tab key stop at one tab alone; arrows reach the others.
func tabStop(selected bool) string {
	if selected {
		return "0"
	}
	return "-1"
}

// Empty is what stands where nothing is yet; its children are the next step.
type Empty struct{ Icon, Title, Text string }

// stateSign is how one state looks.
type StateSign struct {
	Icon string
	Tone Tone
}

// stateSigns covers the states of runs, steps and deliveries, by their own words.
var stateSigns = map[string]StateSign{
	"queued":    {"clock", ToneNone},
	"pending":   {"circle-dashed", ToneNone},
	"running":   {"loader", ToneRun},
	"retrying":  {"refresh-cw", ToneWait},
	"waiting":   {"pause", ToneWait},
	"succeeded": {"check", ToneOK},
	"delivered": {"check", ToneOK},
	"reused":    {"repeat", ToneOK},
	"skipped":   {"skip-forward", ToneNone},
	"failed":    {"x", ToneBad},
	"canceled":  {"ban", ToneNone},
}

// Ended reports whether a run in this state is over.
func Ended(state string) bool {
	return state == "succeeded" || state == "failed" || state == "canceled"
}

// SignOf returns how a state looks; an unknown one gets a plain circle.
func SignOf(state string) StateSign {
	if s, ok := stateSigns[state]; ok {
		return s
	}
	return StateSign{"circle", ToneNone}
}

// IconURL returns the URL of an icon. All icons are in one SVG sprite, so that a
// browser fetches and caches a single file.
func IconURL(name string) string { return static.URL("icons.svg") + "#" + name }

// Pages leads through a list by cursors; an empty one has no such page.
type Pages struct {
	// Path is the list's address without a cursor, with its filters as Query.
	Path           string
	Query          url.Values
	Before, After  string
	Previous, Next string // labels; "Newer" and "Older" when empty
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

// checkbox is the field as a box to tick, which is never required.
func (f Field) checkbox() Field {
	f.Type = "checkbox"
	return f
}

// named are the attributes of a button that stand for its face.
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

// noteRole makes a failure heard at once and leaves the rest to be read.
func noteRole(tone Tone) string {
	if tone == ToneBad {
		return "alert"
	}
	return "note"
}

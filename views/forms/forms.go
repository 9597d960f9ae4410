// Package forms renders the public form of a flow and its results. It knows
// nothing of members, stores or requests.
package forms

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/views/components"
	"sluice/views/layout"

	"github.com/a-h/templ"
)

// PublicPage stands around a page that anybody with its address sees.
type PublicPage struct {
	layout.Page
	Path string // of the form
	// About is what search engines and previews say of it.
	About string
	// Unlisted asks search engines to leave it out.
	Unlisted bool
	// Refresh reloads the page every two seconds where there are no scripts.
	Refresh bool
	// Chat is set for the page of a chat, which has its own script.
	Chat bool
}

// script returns the name of the page's script. Public pages load only this one and not
// that of the dashboard, to stay small.
func (p PublicPage) script() string {
	if p.Chat {
		return "chat.js"
	}
	return "form.js"
}

// FormPage is a flow as a form.
type FormPage struct {
	Title, Intro, Button string
	Fields               []FormField
	Error                string
	// Again is the ticket of the run whose inputs it shows; Once names this copy of
	// the form.
	Again, Once string
	// Password is set if it was asked for.
	Password bool
}

// FormField is one input of the flow.
type FormField struct {
	components.RunField
	Short bool  // a text of one line
	Radio bool  // all choices at once
	Most  int64 // bytes of a file
}

func (f FormPage) button() string { return cmp.Or(f.Button, "Run") }

// withSheet adds a style sheet that few pages have.
func (p PublicPage) withSheet(sheet string) PublicPage {
	p.Page = p.WithSheet(sheet)
	return p
}

// path is where the form is sent.
func (p PublicPage) path() templ.SafeURL { return templ.SafeURL(p.Path) }

// about is a text short enough for a search engine.
func about(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if shown, more := components.ClipText(text, 155); more {
		return shown + "…"
	}
	return text
}

// fileAttrs tell the script how large a file may be.
func (f FormField) fileAttrs() templ.Attributes {
	a := f.Control().ControlAttrs()
	a["data-most"] = strconv.FormatInt(f.Most, 10)
	if a["accept"] == "" {
		delete(a, "accept")
	}
	return a
}

// area is the field of several lines; JSON is checked while it is typed.
func (f FormField) area() components.Field {
	field := f.Control()
	if f.Type == "json" {
		field.Attrs["data-json"] = true
		field.Attrs["spellcheck"] = "false"
	}
	return field
}

// radioID names one of the choices.
func (f FormField) radioID(i int) string { return f.ControlID() + "-" + strconv.Itoa(i) }

// described names the sentences below the choices.
func (f FormField) described() string {
	s, _ := f.ControlAttrs()["aria-describedby"].(string)
	return strings.TrimSpace(s)
}

// NameWords writes a name as words: ticket_text is Ticket text.
func NameWords(name string) string {
	words := strings.Fields(strings.NewReplacer("_", " ", "-", " ").Replace(name))
	if len(words) == 0 {
		return name
	}
	text := strings.Join(words, " ")
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}

// PasswordAsk is what stands before a form that has a password.
type PasswordAsk struct{ Ticket, Error string }

// FormRun is a run that a form started, as its visitor sees it.
type FormRun struct {
	Title string
	// Path is where it is, URL the same for others, and Again the form with its
	// inputs.
	Path, URL, Again string
	State            string
	Done, All        int
	Outputs          []FormOutput
	Trouble          string
	// Until is when the address stops working; Reference names the run to members.
	Until     time.Time
	Reference string
	Erased    bool
}

// FormOutput is one output of the flow.
type FormOutput struct {
	Name    string
	Pending bool // it is not there yet, if it will be at all
	View    components.ValueView
}

// live reports whether the run is still going, so that the page must follow its events.
func (r FormRun) live() bool { return !components.Ended(r.State) }

// words say where the run stands.
func (r FormRun) words() string {
	switch r.State {
	case "queued":
		return "Queued…"
	case "waiting":
		return "Waiting. This can take a while; you may close the page and come back."
	case "succeeded":
		return "Done"
	case "failed":
		return "Failed"
	case "canceled":
		return "Canceled"
	}
	return "Working…"
}

// steps is how far it is.
func (r FormRun) steps() string {
	return components.Count(r.Done) + " of " + components.Quantity(r.All, "step")
}

// long tells a text that is copied from the page rather than from the button.
func (o FormOutput) text() bool { return o.View.IsText() }

// empty is set if it ended well and gave nothing.
func (r FormRun) empty() bool {
	return r.State == "succeeded" && !r.Erased && len(r.Outputs) == 0
}

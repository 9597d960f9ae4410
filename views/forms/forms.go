// Package forms renders the public form of a flow, its results, and approvals. It knows neither
// members nor stores nor requests.
package forms

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/flow/wording"
	"sluice/views/components"
	"sluice/views/layout"

	"github.com/a-h/templ"
)

// PublicPage is the data of a public page's frame.
type PublicPage struct {
	layout.Page
	Path string // of the form
	// About is the description for search engines and link previews.
	About string
	// Unlisted asks search engines not to index the page.
	Unlisted bool
	// Refresh reloads the page every two seconds in browsers without scripts.
	Refresh bool
	// Chat is set for a chat, which has its own script.
	Chat bool
}

// script returns the name of the page's script. Public pages stay small by not loading the
// script of the dashboard.
func (p PublicPage) script() string {
	if p.Chat {
		return "chat.js"
	}
	return "form.js"
}

// FormPage is the form of a flow.
type FormPage struct {
	Title, Intro, Button string
	Fields               []FormField
	Error                string
	// Again is the token of the run whose inputs are filled in. Once is a token against double
	// submission.
	Again, Once string
	// Continue is the token of the run whose conversation is continued.
	Continue string
	// Password is set if the visitor entered the form's password.
	Password bool
}

// FormField is the field of an input of the flow.
type FormField struct {
	components.RunField
	Short bool  // single-line text
	Radio bool  // radio buttons
	Most  int64 // maximum size of a file in bytes
}

func (f FormPage) button() string { return cmp.Or(f.Button, "Run") }

// withSheet returns the page with an additional style sheet.
func (p PublicPage) withSheet(sheet string) PublicPage {
	p.Page = p.WithSheet(sheet)
	return p
}

// path returns the URL to which the form is posted.
func (p PublicPage) path() templ.SafeURL { return templ.SafeURL(p.Path) }

// about shortens a text for search engines.
func about(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if shown, more := wording.Cut(text, 155); more {
		return shown + "…"
	}
	return text
}

// fileAttrs returns the attributes of a file field, with the size limit that the script checks.
func (f FormField) fileAttrs() templ.Attributes {
	a := f.Control().ControlAttrs()
	a["data-most"] = strconv.FormatInt(f.Most, 10)
	if a["accept"] == "" {
		delete(a, "accept")
	}
	return a
}

// area returns the field for multi-line text. JSON is validated as it is typed.
func (f FormField) area() components.Field {
	field := f.Control()
	if f.Type == "json" {
		field.Attrs["data-json"] = true
		field.Attrs["spellcheck"] = "false"
	}
	return field
}

// radioID returns the HTML ID of choice i.
func (f FormField) radioID(i int) string { return f.ControlID() + "-" + strconv.Itoa(i) }

// described returns the IDs of the help and the error below the choices.
func (f FormField) described() string {
	s, _ := f.ControlAttrs()["aria-describedby"].(string)
	return strings.TrimSpace(s)
}

// NameWords turns an identifier into a label: ticket_text becomes "Ticket text".
func NameWords(name string) string {
	words := strings.Fields(strings.NewReplacer("_", " ", "-", " ").Replace(name))
	if len(words) == 0 {
		return name
	}
	text := strings.Join(words, " ")
	_, size := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:size]) + text[size:]
}

// PasswordAsk asks for the password of a protected form.
type PasswordAsk struct{ Ticket, Error string }

// FormRun is a run started from a form, as shown to its visitor.
type FormRun struct {
	Title string
	// Path is the path of the result page, URL its absolute URL for sharing, and Again the URL
	// of the form with the same inputs. Continue is that of the form that continues the conversation, or "".
	Path, URL, Again, Continue string
	State                      string
	Done, All                  int
	Outputs                    []FormOutput
	Problem                    string
	// Until is when the result page expires. Reference identifies the run for members.
	Until     time.Time
	Reference string
	Erased    bool
}

// FormOutput is one output of the flow.
type FormOutput struct {
	Name    string
	Pending bool // not available yet; may stay so if its branch is skipped
	View    components.ValueView
	// Rendered is the HTML of a text with footnotes; "" for other values.
	Rendered string
}

// live reports whether the run is still going, so that the page must follow its events.
func (r FormRun) live() bool { return !components.Ended(r.State) }

// words describes the progress of the run.
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

// steps returns the number of finished steps.
func (r FormRun) steps() string {
	return components.Count(r.Done) + " of " + components.Quantity(r.All, "step")
}

// text reports whether the output is text, which is copied from the page; other values are
// copied from the button.
func (o FormOutput) text() bool { return o.View.IsText() }

// empty reports whether the run succeeded without outputs.
func (r FormRun) empty() bool {
	return r.State == "succeeded" && !r.Erased && len(r.Outputs) == 0
}

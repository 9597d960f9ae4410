package views

import (
	"html"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a-h/templ"
	"sluice/flow"
)

// PublicPage stands around a page that anybody with its address sees.
type PublicPage struct {
	Page
	Path string // of the form
	// About is what search engines and previews say of it.
	About string
	// Unlisted asks search engines to leave it out.
	Unlisted bool
	// Refresh loads the page anew every other second where there are no scripts.
	Refresh bool
}

// FormPage is a flow as a form.
type FormPage struct {
	Title, Intro, Button string
	Fields               []FormField
	Error                string
	// Again is the ticket of the run whose inputs it shows; Once names this copy of
	// the form.
	Again, Once string
	// Password tells that it was asked for.
	Password bool
}

// FormField is one input of the flow.
type FormField struct {
	RunField
	Short bool  // a text of one line
	Radio bool  // all choices at once
	Most  int64 // bytes of a file
}

func (f FormPage) button() string { return or(f.Button, "Run") }

// path is where the form is sent.
func (p PublicPage) path() templ.SafeURL { return templ.SafeURL(p.Path) }

// about is a text short enough for a search engine.
func about(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if shown, more := clipText(text, 155); more {
		return shown + "…"
	}
	return text
}

// fileAttrs tell the script how large a file may be.
func (f FormField) fileAttrs() templ.Attributes {
	a := f.control().attrs()
	a["data-most"] = strconv.FormatInt(f.Most, 10)
	if a["accept"] == "" {
		delete(a, "accept")
	}
	return a
}

// area is the field of several lines; JSON is checked while it is typed.
func (f FormField) area() Field {
	field := f.control()
	if f.Type == flow.TypeJSON {
		field.Attrs["data-json"] = true
		field.Attrs["spellcheck"] = "false"
	}
	return field
}

// radioID names one of the choices.
func (f FormField) radioID(i int) string { return f.id() + "-" + strconv.Itoa(i) }

// described names the sentences below the choices.
func (f FormField) described() string {
	s, _ := f.attrs()["aria-describedby"].(string)
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
	State            flow.RunState
	Done, All        int
	Outputs          []FormOutput
	Trouble          string
	// Until is when the address works no more; Reference names the run to members.
	Until     time.Time
	Reference string
	Erased    bool
}

// FormOutput is one output of the flow.
type FormOutput struct {
	Name    string
	Pending bool // it is not there yet, if it will be at all
	View    ValueView
}

func (r FormRun) live() bool { return !r.State.Ended() }

// words say where the run stands.
func (r FormRun) words() string {
	switch r.State {
	case flow.RunQueued:
		return "Waiting for its turn…"
	case flow.RunWaiting:
		return "Waiting. This can take a while; you may close the page and come back."
	case flow.RunSucceeded:
		return "Done"
	case flow.RunFailed:
		return "This did not work"
	case flow.RunCanceled:
		return "Canceled"
	}
	return "Working…"
}

// steps is how far it is.
func (r FormRun) steps() string { return Count(r.Done) + " of " + some(r.All, "step") }

// long tells a text that is copied from the page rather than from the button.
func (o FormOutput) text() bool { return shapeOf(o.View.Value) == shapeText }

// empty tells that it ended well and gave nothing.
func (r FormRun) empty() bool {
	return r.State == flow.RunSucceeded && !r.Erased && len(r.Outputs) == 0
}

// FormSettings is what members decide about the form of a flow.
type FormSettings struct {
	FlowID, Flow, Description string
	On, Unlisted, NoPassword  bool
	Title, Intro, Button      string
	PerMinute, PerDay         string
	MaxFile                   string // MiB
	Origins                   string // one a line
	Errors                    Errors
	URL, FrameTitle           string
	// Shown tells that anybody can see it, Published that the flow has a version.
	Shown, Published bool
	HasPassword      bool
	Embedded         bool  // sites are listed that may embed it
	UsedUp           bool  // it has started all that it may today
	MayEdit          bool  // the person may change it
	Encrypted        bool  // it is reached over https
	MostFile         int64 // bytes that a file may have at all
}

// frame is what other sites put into their pages.
func (s FormSettings) frame() string {
	return `<iframe src="` + s.URL + `" title="` + html.EscapeString(s.FrameTitle) + `" width="100%" height="720" style="border: 0" loading="lazy"></iframe>`
}

// whole is a field of a whole number.
func (s FormSettings) whole(name, label, value, help string) Field {
	return Field{Name: name, Label: label, Type: "number", Value: value, Help: help, Error: s.Errors[name], Disabled: !s.MayEdit, Attrs: templ.Attributes{"min": "1", "step": "1", "inputmode": "numeric"}}
}

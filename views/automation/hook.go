package automation

import (
	"net/url"
	"strconv"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// HookPage is the page of an incoming webhook.
type HookPage struct {
	FlowID, Flow string
	LiveVersion  int64
	ID           string // "" for a new one
	Title        string
	On, MayEdit  bool
	URL          string // where requests are sent; "" until it is shown
	Secret       string // that was generated with this response, to be entered at the service
	OldUntil     time.Time
	Form         HookForm
	Capture      Capture
	Test         HookTest
	Now          time.Time
}

// path returns the URL of an act of the webhook.
func (h HookPage) path(rest string) templ.SafeURL {
	return templ.SafeURL(TriggerPath(h.FlowID, h.ID) + rest)
}

// action returns the URL of the form.
func (h HookPage) action() templ.SafeURL {
	if h.ID == "" {
		return templ.SafeURL(TriggersPath(h.FlowID) + "/webhook")
	}
	return h.path("")
}

// HookForm has the settings of an incoming webhook as the form shows them.
type HookForm struct {
	Name        string
	Scheme      string
	Schemes     []components.Option
	Steps       []string // what to do at the service
	Secret      string   // name of a credential, or SecretNew or SecretTyped
	Second      string
	Typed       string
	Credentials []components.Option
	Challenge   string

	Header, Prefix, Algorithm, Encoding, Signed, TimestampHeader, Tolerance string

	When        string
	WhenExample []string
	Once        string
	Inputs      []InputField
	Reply       string
	Wait        string
	OnLate      string
	Body        string // output
	Status      string
	Type        string
	Outputs     []components.Option

	MaxBody, PerMinute, PerDay string
	Errors                     components.Errors
}

// HookTest is the form that sends a test to a webhook. An empty Media means that no test can be sent.
type HookTest struct {
	Media string // type of the body
	Event string // of GitHub
	Body  string
}

// Values of HookForm.Secret that are not names of credentials.
const (
	SecretNew   = "+new"
	SecretTyped = "+typed"
)

// secretOptions returns the choice of secrets.
func (f HookForm) secretOptions() []components.Option {
	return append([]components.Option{{Value: SecretNew, Label: "Generate a secret"}, {Value: SecretTyped, Label: "Enter a secret"}}, f.Credentials...)
}

// secondOptions returns the choice of second secrets.
func (f HookForm) secondOptions() []components.Option {
	return append([]components.Option{{Value: "", Label: "None"}}, f.Credentials...)
}

// Capture is the list of the newest requests to a webhook.
type Capture struct {
	FlowID, ID string
	Until      time.Time // every request is kept until then; zero if not
	MayEdit    bool
	Requests   []RequestRow
	Now        time.Time
}

// path returns the URL of an act of the webhook.
func (c Capture) path(rest string) string { return TriggerPath(c.FlowID, c.ID) + rest }

// draft returns the URL of the run form that a request fills in.
func (c Capture) draft(r RequestRow) string {
	return c.path("/draft?key=" + url.QueryEscape(r.Key))
}

// pollID returns an ID that differs in each response, so that a morph replaces the element, whose loading asks for the next one.
func (c Capture) pollID() string { return "poll-" + strconv.FormatInt(c.Now.UnixMilli(), 36) }

// RequestRow is a request to a webhook.
type RequestRow struct {
	State, Key, Detail string
	Title              string // what the request is about, such as the type of its event
	At                 time.Time
	RunID              string
	Repeats            int
	Kept               bool // the fields below are known
	Method             string
	Headers            []Header
	Size               int64
	Body               string
	Left               bool // the body was not kept
}

// Header is a header of a request.
type Header struct{ Name, Value string }

var (
	onceOptions  = []components.Option{{Value: "", Label: "ID that the service sends"}, {Value: "body", Label: "Equal bodies"}, {Value: "never", Label: "Never: every request starts"}}
	lateOptions  = []components.Option{{Value: "", Label: "200 with the run ID"}, {Value: "timeout", Label: "504"}}
	hookOverlaps = []components.Option{{Value: "0s", Label: "Not at all"}, {Value: "24h", Label: "1 day"}, {Value: "168h", Label: "7 days"}}
	replyOptions = []choice{{"accepted", "Immediately", "200 with the run ID, as soon as the run is saved"}, {"outputs", "With outputs", "as soon as they are known"}}
	algorithms   = []components.Option{{Value: "", Label: "SHA-256"}, {Value: "sha1", Label: "SHA-1"}, {Value: "sha512", Label: "SHA-512"}}
	encodings    = []components.Option{{Value: "", Label: "hex"}, {Value: "base64", Label: "base64"}}
)

// onceChoice returns the options, with an expression that was set through the API.
func onceChoice(once string) []components.Option {
	for _, o := range onceOptions {
		if o.Value == once {
			return onceOptions
		}
	}
	return append(append([]components.Option{}, onceOptions...), components.Option{Value: once, Label: once})
}

package console

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// DeliveriesPage is the log of webhooks with what narrows it.
type DeliveriesPage struct {
	Filter    DeliveriesFilter
	Flows     []components.Option
	Hosts     []string // that were sent to, as suggestions
	Rows      []DeliveryRow
	Pages     components.Pages
	Endpoints []EndpointView // those that need somebody, or all on their own page
	// Looked is how many deliveries were compared with the URL, and More that
	// others were not.
	Looked int
	More   bool
	// MayEdit is for who may send again.
	MayEdit  bool
	HasFlows bool
	Now      time.Time
}

// DeliveriesFilter is what the address of the log says.
type DeliveriesFilter struct {
	Flow, Endpoint, To string
	States             []string
	// Time is a preset or "custom"; From and Until are as they were typed.
	Time, From, Until string
	Errors            components.Errors
}

// DeliveryRow is a delivery as the log shows it.
type DeliveryRow struct {
	ID, State, FlowID, Flow, Node, URL string
	Test                               bool
	At, NextAt                         time.Time
	Tries                              int
	Status                             int    // of the newest attempt; 0 when there was no answer
	Failure                            string // a word for why there was none
	Took                               time.Duration
	Tried                              bool
}

// deliveryStates are the states to filter by, in the order in which a delivery can
// reach them.
var deliveryStates = []string{"pending", "delivered", "failed"}

// Values are the filter as the address carries it.
func (f DeliveriesFilter) Values() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"flow": f.Flow, "endpoint": f.Endpoint, "to": f.To, "time": f.Time, "from": f.From, "until": f.Until} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(f.States) > 0 {
		q["state"] = f.States
	}
	return q
}

// empty reports whether nothing is filtered. An empty list then means that there are no
// deliveries yet, and says so.
func (f DeliveriesFilter) empty() bool { return len(f.Values()) == 0 }

// has reports whether the filter includes a state. Several states can be chosen.
func (f DeliveriesFilter) has(state string) bool { return slices.Contains(f.States, state) }

// live is where the rows of the first page are fetched again; empty on others.
func (p DeliveriesPage) live() string {
	if p.Pages.Before != "" || len(p.Filter.Errors) > 0 {
		return ""
	}
	return "/deliveries?" + p.Filter.Values().Encode()
}

// again leads to sending all failed ones again, narrowed as the log is.
func (p DeliveriesPage) again() string { return againPath(p.Filter.Flow, p.Filter.Endpoint) }

// againPath returns the URL of the page that resends failed deliveries. An empty flow
// or endpoint does not narrow them down.
func againPath(flow, endpoint string) string {
	q := url.Values{}
	if flow != "" {
		q.Set("flow", flow)
	}
	if endpoint != "" {
		q.Set("endpoint", endpoint)
	}
	return "/deliveries/again?" + q.Encode()
}

// Mark changes when something about the rows does, apart from the time.
func (p DeliveriesPage) Mark() string {
	h := fnv.New64a()
	for _, r := range p.Rows {
		fmt.Fprint(h, r.mark(), "\n")
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// mark identifies what the row shows, except for relative times. A list that refreshes
// itself replaces only rows whose mark changed, so that focus and selection survive in
// the others.
func (r DeliveryRow) mark() string {
	return fmt.Sprintf("%s-%s-%d-%d-%d", r.ID, r.State, r.Tries, r.NextAt.Unix(), r.Status)
}

func (r DeliveryRow) path() templ.SafeURL { return templ.SafeURL(deliveryPath(r.ID)) }

func deliveryPath(id string) string { return "/deliveries/" + url.PathEscape(id) }

// sender is the node that sends, or that the run itself does.
func sender(node string) string { return cmp.Or(node, "run webhook") }

// answered is the newest attempt in a word: 200, or why nothing came.
func (r DeliveryRow) answered() string {
	switch {
	case !r.Tried:
		return "–"
	case r.Status > 0:
		return fmt.Sprint(r.Status)
	}
	return r.Failure
}

// ahead says in words how far off a moment is.
func ahead(at, now time.Time) string {
	d := at.Sub(now)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("in %d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("in %d min.", int(d.Minutes()))
	}
	return fmt.Sprintf("in %d hr.", int(d.Hours()+0.5))
}

// EndpointView is where messages go, and how it fares.
type EndpointView struct {
	ID, FlowID, Flow, Node, Host, URL string
	LastAt                            time.Time
	Status                            int
	Failure                           string
	Attempts, Succeeded               int
	P95                               time.Duration
	Bars                              []bool // the newest attempts, the oldest first: did they succeed
	// Trouble and Advice are a sentence each; empty while it works.
	Trouble, Advice string
}

// log returns the URL of the list of deliveries, filtered by this endpoint.
func (e EndpointView) log() string {
	return "/deliveries?" + url.Values{"endpoint": {e.ID}}.Encode()
}

// rate returns the percentage of attempts that succeeded, rounded down: 99.9 % must not
// look like all. It is a dash without attempts.
func (e EndpointView) rate() string {
	if e.Attempts == 0 {
		return "–"
	}
	return fmt.Sprintf("%d%%", e.Succeeded*100/e.Attempts)
}

// words returns the rate as a sentence with absolute numbers, for the tooltip.
func (e EndpointView) words() string {
	return fmt.Sprintf("%d of the last %s succeeded", e.Succeeded, components.Quantity(e.Attempts, "attempt"))
}

// DeliveryPage is one delivery with all its attempts.
type DeliveryPage struct {
	DeliveryRow
	RunID, Erased string
	Body          string // pretty; empty once erased
	Cut           bool   // the body is longer
	Custom        string // name of the header with the custom signature
	Attempts      []AttemptView
	Next          string // what happens next, in a sentence
	MayEdit       bool
	Poll          string // how soon the page looks again, as htmx writes it; empty when nothing is to come
	Now           time.Time
}

// AttemptView is one attempt.
type AttemptView struct {
	Number          int
	At              time.Time
	Took            time.Duration
	Status          int
	Reason          string // the words of the status
	Error, Response string
	Headers         [][2]string
	Open            bool
}

// tone returns the color of an attempt: any error, also an HTTP status that counts as a
// failure, is bad.
func (a AttemptView) tone() components.Tone {
	if a.Error == "" {
		return components.ToneOK
	}
	return components.ToneBad
}

// AgainPage asks whether failed deliveries are to be sent again.
type AgainPage struct {
	Flow, FlowName string
	Endpoint, Host string
	Since          string
	Asked          int64 // when the count was made, in microseconds
	Count          int
	Most           int // the count stops there
	Batch          int // so many are sent again at once
	Flows          []components.Option
	Errors         components.Errors
}

// counted returns the number of deliveries to resend. Counting stops at Most, and from
// there on the page says only that there are more than Most-1.
func (a AgainPage) counted() string {
	if a.Count >= a.Most {
		return "More than " + components.Count(a.Most-1)
	}
	return components.Count(a.Count)
}

// WebhooksPage is what a flow's webhooks are signed with and where they go.
type WebhooksPage struct {
	FlowID, Flow string
	Nodes        []WebhookNode
	Endpoints    []EndpointView
	Shared       bool       // a webhook is signed with the secret of the flow
	Signing      SigningBox // that secret
	Snippets     []components.Panel
	MayEdit      bool
	Now          time.Time
}

// ShownSecret is the secret that the user asked to see, or "".
func (p WebhooksPage) ShownSecret() string {
	for _, n := range p.Nodes {
		if n.Signing != nil && n.Signing.Secret != "" {
			return n.Signing.Secret
		}
	}
	return p.Signing.Secret
}

// SigningBox is one signing secret: that of a webhook node, or of the flow.
type SigningBox struct {
	Anchor     string // where on the page it is
	Node, From string // the node, as in WebhookNode; empty for the flow
	Label      string // whose secret it is
	Secret     string // set only if the user asked to see it
	Inherited  bool   // a node that uses the secret of the flow
	Before     []time.Time
	Error      string // why it was not replaced
}

// WebhookNode is a webhook of the draft or of the live version.
type WebhookNode struct {
	ID, Label, URL, From string // From is "draft" or "live"
	Live                 bool   // the live version sends it just so
	Outputs              string
	Secret               string      // what it is signed with, in words
	Signing              *SigningBox // nil where a credential signs
	Error                string
}

// anchor returns the HTML ID of the node's section. It includes From, because a node
// can be on the page twice, as in the draft and as in the live version.
func (n WebhookNode) anchor() string { return "webhook-" + n.From + "-" + n.ID }

// to returns the URL of an action on the webhooks of the flow; rest begins with a
// slash.
func (p WebhooksPage) to(rest string) templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(p.FlowID) + "/webhooks" + rest)
}

// run leads to the step that sent it.
func (d DeliveryPage) run() string {
	if d.Node == "" {
		return components.RunPath(d.RunID)
	}
	return StepPath(d.RunID, d.Node)
}

// shortRun returns the run's ID in the abbreviated form that lists of runs use.
func (d DeliveryPage) shortRun() string { return RunLine{ID: d.RunID}.shortID() }

// answer is what came back, in a few words.
func (a AttemptView) answer() string {
	if a.Status == 0 {
		return "no answer"
	}
	return strings.TrimSpace(fmt.Sprint(a.Status, " ", a.Reason))
}

// answered is the newest attempt in a word.
func (e EndpointView) answered() string {
	return DeliveryRow{Status: e.Status, Failure: e.Failure, Tried: e.Attempts > 0}.answered()
}

// headers are as they were sent, except for the value of the custom one.
func (a AttemptView) headers(custom string) string {
	var b strings.Builder
	for _, h := range a.Headers {
		fmt.Fprintf(&b, "%s: %s\n", h[0], h[1])
	}
	if custom != "" {
		fmt.Fprintf(&b, "%s: (hidden)\n", custom)
	}
	return b.String()
}

// sentBy leads to the node that sent it, or to the run if that did.
func (d DeliveryPage) sentBy() templ.SafeURL {
	switch {
	case d.Node != "":
		return components.FlowURL(d.FlowID, "?node="+url.QueryEscape(d.Node))
	case d.RunID != "":
		return templ.SafeURL(components.RunPath(d.RunID))
	}
	return components.FlowURL(d.FlowID, "/webhooks")
}

// path is the rest of the address, which tells endpoints of one host apart.
func (e EndpointView) path() string {
	u, err := url.Parse(e.URL)
	if err != nil || e.Host == "" || u.RequestURI() == "/" {
		return ""
	}
	return u.RequestURI()
}

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

// DeliveriesPage is the log of webhook deliveries with its filters.
type DeliveriesPage struct {
	Filter    DeliveriesFilter
	Flows     []components.Option
	Hosts     []string // suggestions for the URL filter: hosts that deliveries were sent to
	Rows      []DeliveryRow
	Pages     components.Pages
	Endpoints []EndpointView // those with problems; on their own page, all
	// Looked is the number of deliveries that the search by URL read; More is set if it stopped
	// before the end.
	Looked int
	More   bool
	// MayEdit is set if the user may resend deliveries.
	MayEdit  bool
	HasFlows bool
	Now      time.Time
}

// DeliveriesFilter holds the query parameters of the log.
type DeliveriesFilter struct {
	Flow, Endpoint, To string
	States             []string
	// Time is a preset or "custom". From and Until are kept as typed.
	Time, From, Until string
	Errors            components.Errors
}

// DeliveryRow is one delivery in the log.
type DeliveryRow struct {
	ID, State, FlowID, Flow, Node, URL string
	Sender                             string // name of the node
	Test                               bool
	At, NextAt                         time.Time
	Tries                              int
	Status                             int    // HTTP status of the newest attempt; 0 without a response
	Failure                            string // short reason why there was no response
	Duration                           time.Duration
	Tried                              bool
}

// shown returns the state to display: a delivery that was refused and is tried again is retrying.
func (r DeliveryRow) shown() string {
	if r.State == "pending" && r.Tries > 0 {
		return "retrying"
	}
	return r.State
}

// deliveryStates are the states to filter by, in the order in which a delivery can
// reach them.
var deliveryStates = []string{"pending", "delivered", "failed"}

// Values returns the filter as URL parameters, without empty ones.
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

// live returns the URL that refreshes the rows of the first page; "" on other pages, which
// don't refresh.
func (p DeliveriesPage) live() string {
	if p.Pages.Before != "" || len(p.Filter.Errors) > 0 {
		return ""
	}
	return "/deliveries?" + p.Filter.Values().Encode()
}

// resend returns the URL of the page that resends failed deliveries, with the log's filters for
// flow and endpoint.
func (p DeliveriesPage) resend() string { return resendPath(p.Filter.Flow, p.Filter.Endpoint) }

// resendPath returns the URL of the page that resends failed deliveries. An empty flow or
// endpoint does not narrow them down.
func resendPath(flow, endpoint string) string {
	q := url.Values{}
	if flow != "" {
		q.Set("flow", flow)
	}
	if endpoint != "" {
		q.Set("endpoint", endpoint)
	}
	return "/deliveries/again?" + q.Encode()
}

// Mark is a hash of the rows, except for relative times. A poll with the current mark gets no
// new rows.
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

// sender returns the webhook node that sent a delivery, or the run webhook of the request.
func sender(node string) string { return cmp.Or(node, "run webhook") }

// answered summarizes the newest attempt: a status such as 200, or why there was no response.
func (r DeliveryRow) answered() string {
	switch {
	case !r.Tried:
		return "–"
	case r.Status > 0:
		return fmt.Sprint(r.Status)
	}
	return r.Failure
}

// EndpointView is the URL of an endpoint with its recent success rate.
type EndpointView struct {
	ID, FlowID, Flow, Node, Host, URL string
	Sender                            string // name of the node
	LastAt                            time.Time
	Status                            int
	Failure                           string
	Attempts, Succeeded               int
	P95                               time.Duration
	Bars                              []bool // whether each of the newest attempts succeeded, oldest first
	// Problem and Advice are one sentence each, or empty while the endpoint works.
	Problem, Advice string
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

// words returns the success rate with absolute numbers, for the tooltip.
func (e EndpointView) words() string {
	return fmt.Sprintf("%d of the last %s succeeded", e.Succeeded, components.Quantity(e.Attempts, "attempt"))
}

// DeliveryPage is one delivery with all of its attempts.
type DeliveryPage struct {
	DeliveryRow
	RunID, Erased string
	Body          string // indented; empty once erased
	Cut           bool   // the body is longer than shown
	Custom        string // name of the header with the custom signature
	Attempts      []AttemptView
	Next          string // what happens next, as a sentence
	MayEdit       bool
	Poll          string // polling interval in htmx syntax; "" if nothing will change
	Now           time.Time
}

// AttemptView is one attempt to deliver.
type AttemptView struct {
	Number          int
	At              time.Time
	Duration        time.Duration
	Status          int
	Reason          string // reason phrase of the status
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

// ResendPage asks for confirmation before failed deliveries are resent.
type ResendPage struct {
	Flow, FlowName string
	Endpoint, Host string
	Since          string
	Asked          int64 // when they were counted, in Unix microseconds
	Count          int
	Most           int // counting stops here
	Batch          int // how many are resent in one go
	Flows          []components.Option
	Errors         components.Errors
}

// counted returns the number of deliveries to resend. Counting stops at Most, and from
// there on the page says only that there are more than Most-1.
func (a ResendPage) counted() string {
	if a.Count >= a.Most {
		return "More than " + components.Count(a.Most-1)
	}
	return components.Count(a.Count)
}

// WebhooksPage lists a flow's webhooks with their URLs and signing secrets.
type WebhooksPage struct {
	FlowID, Flow string
	LiveVersion  int64
	Nodes        []WebhookNode
	Endpoints    []EndpointView
	Shared       bool       // some webhook is signed with the flow's secret
	Signing      SigningBox // the flow's secret
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

// SigningBox is one signing secret, of a webhook node or of the flow.
type SigningBox struct {
	Anchor     string // HTML ID of the section on the page
	Node, From string // as in WebhookNode; empty for the flow
	Label      string // name of the node or flow that owns the secret
	Secret     string // set only if the user asked to see it
	Inherited  bool   // the node uses the flow's secret
	Before     []time.Time
	Error      string // why the secret wasn't replaced
}

// WebhookNode is a webhook node of the draft or of the live version.
type WebhookNode struct {
	ID, Label, URL, From string // From is "draft" or "live"
	Live                 bool   // the live version has the same webhook
	Outputs              string
	Secret               string      // what signs it, for display
	Signing              *SigningBox // nil if a credential signs
	Error                string
}

// anchor returns the HTML ID of the node's section. It includes From, because a node
// can be on the page twice, as in the draft and as in the live version.
func (n WebhookNode) anchor() string { return "webhook-" + n.From + "-" + n.ID }

// actionURL returns the URL of an action on the flow's webhooks; action starts with a slash.
func (p WebhooksPage) actionURL(action string) templ.SafeURL {
	return templ.SafeURL("/flows/" + url.PathEscape(p.FlowID) + "/webhooks" + action)
}

// run returns the URL of the step that sent the delivery, or of its run.
func (d DeliveryPage) run() string {
	if d.Node == "" {
		return components.RunPath(d.RunID)
	}
	return StepPath(d.RunID, d.Node)
}

// shortRun returns the run's ID in the abbreviated form that lists of runs use.
func (d DeliveryPage) shortRun() string { return shortID(d.RunID) }

// answer summarizes the response of the attempt.
func (a AttemptView) answer() string {
	if a.Status == 0 {
		return "no answer"
	}
	return strings.TrimSpace(fmt.Sprint(a.Status, " ", a.Reason))
}

// answered summarizes the newest attempt to reach the endpoint.
func (e EndpointView) answered() string {
	return DeliveryRow{Status: e.Status, Failure: e.Failure, Tried: e.Attempts > 0}.answered()
}

// headers formats the request headers, with the value of the custom signature header masked.
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

// sentBy returns the URL of the node that sent the delivery, or of the run.
func (d DeliveryPage) sentBy() templ.SafeURL {
	switch {
	case d.Node != "":
		return components.FlowURL(d.FlowID, "?node="+url.QueryEscape(d.Node))
	case d.RunID != "":
		return templ.SafeURL(components.RunPath(d.RunID))
	}
	return components.FlowURL(d.FlowID, "/webhooks")
}

// path returns the URL's path and query, which distinguish endpoints on the same host.
func (e EndpointView) path() string {
	u, err := url.Parse(e.URL)
	if err != nil || e.Host == "" || u.RequestURI() == "/" {
		return ""
	}
	return u.RequestURI()
}

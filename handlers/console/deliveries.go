package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

const (
	deliveriesPerPage = 50
	maxEndpoints      = 50
	maxNotices        = 3 // failing endpoints above the list
	maxHosts          = 200
)

// deliveryRoutes returns the routes of webhook deliveries and of the endpoints that
// receive them.
func (s *Server) deliveryRoutes() []route {
	return []route{
		{http.MethodGet, "/deliveries", web.Viewer, listDeliveries},
		{http.MethodGet, "/deliveries/endpoints", web.Viewer, listEndpoints},
		{http.MethodGet, "/deliveries/again", web.Editor, confirmResend},
		{http.MethodPost, "/deliveries/again", web.Editor, web.Posted(resendFailed)},
		{http.MethodGet, "/deliveries/:delivery", web.Viewer, web.With(findDelivery, showDelivery)},
		{http.MethodPost, "/deliveries/:delivery/redeliver", web.Editor, web.With(findDelivery, redeliver)},
	}
}

// listDeliveries is GET /deliveries. An open list polls with ?mark=, a digest of its
// rows. It gets the rows, or 204 if nothing has changed.
func listDeliveries(c *call) error {
	filter, choice := readDeliveriesFilter(c)
	page := consoleview.DeliveriesPage{Filter: filter, MayEdit: c.MayEdit(), Now: c.s.Now()}
	status := http.StatusOK
	if len(filter.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	} else if err := findDeliveries(c, &page, choice); err != nil {
		return err
	}
	if c.IsFragment() && c.QueryParam("mark") != "" {
		if page.Mark() == c.QueryParam("mark") {
			return c.NoContent(http.StatusNoContent)
		}
		return c.Render(http.StatusOK, consoleview.DeliveryRows(page))
	}
	if err := fillDeliveriesPage(c, &page); err != nil {
		return err
	}
	return c.Render(status, consoleview.Deliveries(c.Page("Deliveries", layout.SectionDeliveries), page))
}

// findDeliveries fills in the rows of a page.
func findDeliveries(c *call, page *consoleview.DeliveriesPage, choice flow.DeliveryQuery) error {
	found, err := c.s.Store.ListDeliveryRows(c.Ctx(), choice)
	if err != nil {
		return err
	}
	if page.Flows, err = flowOptions(c); err != nil {
		return err
	}
	senders := newSenders(c)
	for i := range found.Rows {
		row := deliveryRow(&found.Rows[i], page.Flows)
		row.Sender = senders.name(row.FlowID, row.Node)
		page.Rows = append(page.Rows, row)
	}
	page.Pages = components.Pages{Path: "/deliveries", Query: page.Filter.Values(), Before: found.Newer, After: found.Older}
	page.Looked, page.More = found.Looked, found.More
	return nil
}

// fillDeliveriesPage fills in the hosts to filter by, and up to maxNotices failing
// endpoints.
func fillDeliveriesPage(c *call, page *consoleview.DeliveriesPage) (err error) {
	if page.Hosts, err = c.s.Store.ListHosts(c.Ctx(), c.WorkspaceID(), maxHosts); err != nil {
		return err
	}
	failing, err := endpointViews(c, "", true)
	if err != nil {
		return err
	}
	failing = slices.DeleteFunc(failing, func(e consoleview.EndpointView) bool { return e.Problem == "" })
	page.Endpoints = failing[:min(len(failing), maxNotices)]
	return nil
}

// flowOptions returns the flows of the workspace as options, by name.
func flowOptions(c *call) (list []components.Option, err error) {
	flows, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	for i := range flows {
		list = append(list, components.Option{Value: string(flows[i].ID), Label: flows[i].Name})
	}
	sorting.By(list, func(a, b components.Option) int {
		return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label))
	})
	return list, err
}

// senders finds the names of the nodes that send messages, in the drafts of their flows. It reads
// each flow once.
type senders struct {
	c      *call
	drafts map[string]*flow.Document
}

// maxSenders is the largest number of flows that are read for one page. Nodes of others have their IDs.
const maxSenders = 20

func newSenders(c *call) *senders { return &senders{c, map[string]*flow.Document{}} }

// name returns the name of a node, or its ID if it was deleted. Alarms have a word instead.
func (s *senders) name(flowID, node string) string {
	if flow.AlarmOf(node) != "" {
		return "Alarm"
	}
	doc, read := s.drafts[flowID]
	if node != "" && !read && len(s.drafts) < maxSenders {
		if f, err := s.c.s.Store.FindFlow(s.c.Ctx(), s.c.WorkspaceID(), flow.FlowID(flowID)); err == nil {
			doc, _ = document.ParseDocument(f.Draft)
		}
		s.drafts[flowID] = doc
	}
	if doc == nil || node == "" {
		return node
	}
	return web.NodeTitle(doc, s.c.s.Kinds, node)
}

// optionLabel returns the label of a value, or the value if there is no such
// option, for example because the flow was deleted.
func optionLabel(list []components.Option, value string) string {
	for _, o := range list {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

// deliveryRow converts a row of the list. Query strings of URLs are not shown,
// because they may contain secrets.
func deliveryRow(r *flow.DeliveryRow, flows []components.Option) consoleview.DeliveryRow {
	row := consoleview.DeliveryRow{
		ID: r.ID, State: string(r.State), FlowID: string(r.FlowID), Flow: optionLabel(flows, string(r.FlowID)), Node: r.Node, URL: flow.ShownURL(r.URL), Test: r.RunID == "" && flow.AlarmOf(r.Node) == "",
		At: r.CreatedAt, NextAt: r.NextAt, Tries: int(r.Tries),
	}
	if r.Last != nil {
		row.Tried, row.Status, row.Duration, row.Failure = true, r.Last.Status, r.Last.Latency, causeText[r.Last.Cause]
	}
	return row
}

// readDeliveriesFilter reads the filter from the query. Unknown values are
// ignored, so that old links keep working; dates that cannot be read become
// errors.
func readDeliveriesFilter(c *call) (consoleview.DeliveriesFilter, flow.DeliveryQuery) {
	q := c.Request().URL.Query()
	span, runs := consoleview.RunsFilter{Time: q.Get("time"), From: q.Get("from"), Until: q.Get("until"), Errors: components.Errors{}}, flow.RunQuery{}
	c.readSpan(&span, &runs)
	f := consoleview.DeliveriesFilter{
		Flow: validID(flow.PrefixFlow, q.Get("flow")), Endpoint: validID(flow.PrefixEndpoint, q.Get("endpoint")), To: strings.TrimSpace(q.Get("to")),
		Time: span.Time, From: span.From, Until: span.Until, Errors: span.Errors,
	}
	choice := flow.DeliveryQuery{
		WorkspaceID: c.WorkspaceID(), FlowID: flow.FlowID(f.Flow), EndpointID: f.Endpoint, From: runs.From, Until: runs.Until, Limit: deliveriesPerPage,
		Before: validID(flow.PrefixDelivery, q.Get("after")), After: validID(flow.PrefixDelivery, q.Get("before")),
	}
	choice.Host, choice.URL = parseReceiver(f.To)
	for _, s := range q["state"] {
		state := flow.DeliveryState(s)
		if slices.Contains([]flow.DeliveryState{flow.DeliveryPending, flow.DeliveryDelivered, flow.DeliveryFailed}, state) && !slices.Contains(choice.States, state) {
			f.States, choice.States = append(f.States, s), append(choice.States, state)
		}
	}
	return f, choice
}

// parseReceiver parses a URL or a host to filter by. address is empty unless the
// text is a URL with a path.
func parseReceiver(text string) (host, address string) {
	if !strings.Contains(text, "://") {
		return strings.ToLower(strings.TrimSuffix(text, "/")), ""
	}
	if host = flow.HostOf(text); host == "" {
		return text, "" // not a valid host, so nothing matches
	}
	_, rest, _ := strings.Cut(text, "://")
	if _, path, _ := strings.Cut(rest, "/"); path != "" {
		address = text
	}
	return host, address
}

// showDelivery is GET /deliveries/{id}.
func showDelivery(c *call, d *flow.DeliveryRecord) error {
	flows, err := flowOptions(c)
	if err != nil {
		return err
	}
	page := deliveryPage(c, d, flows)
	page.Sender = newSenders(c).name(page.FlowID, page.Node)
	return c.Render(http.StatusOK, consoleview.Delivery(c.Page("Delivery of "+page.Flow, layout.SectionDeliveries), page))
}

// findDelivery finds the delivery of the path, with all attempts.
func findDelivery(c *call) (*flow.DeliveryRecord, error) {
	if !flow.ValidID(flow.PrefixDelivery, c.Param("delivery")) {
		return nil, web.ErrNotFound
	}
	return c.s.Store.ReadDelivery(c.Ctx(), c.WorkspaceID(), c.Param("delivery"))
}

// deliveryPage converts a delivery. While it is pending, the page reloads
// itself: every second near the next attempt, else every 30 seconds.
func deliveryPage(c *call, d *flow.DeliveryRecord, flows []components.Option) consoleview.DeliveryPage {
	now := c.s.Now()
	page := consoleview.DeliveryPage{
		DeliveryRow: consoleview.DeliveryRow{
			ID: d.ID, State: string(d.State), FlowID: string(d.FlowID), Flow: optionLabel(flows, string(d.FlowID)), Node: d.Node, URL: flow.ShownURL(d.URL), Test: d.Test(),
			At: d.CreatedAt, Tries: len(d.Attempts),
		},
		RunID: string(d.RunID), Custom: d.Header, MayEdit: c.MayEdit(), Now: now,
	}
	if d.State == flow.DeliveryPending {
		page.NextAt, page.Poll = d.NextAt, "load delay:30s"
		if d.NextAt.Sub(now) < time.Minute {
			page.Poll = "load delay:1s"
		}
	}
	page.Next = nextText(d, now)
	if d.Erased != "" {
		page.Erased = "The content was erased with its run."
	} else {
		page.Body, page.Cut = web.ShownBody(flow.HideApprovalLinks(c.s.Links.Message(&d.Delivery, now)))
	}
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		page.Attempts = append(page.Attempts, attemptView(&d.Attempts[i], i == len(d.Attempts)-1))
	}
	return page
}

// attemptView converts one attempt.
func attemptView(a *flow.DeliveryAttempt, open bool) consoleview.AttemptView {
	v := consoleview.AttemptView{
		Number: int(a.Number), At: a.StartedAt, Duration: a.Latency, Status: a.Status, Reason: http.StatusText(a.Status), Error: a.Error, Response: a.Response, Open: open,
	}
	for _, h := range a.Headers() {
		if h.Value != "" {
			v.Headers = append(v.Headers, [2]string{h.Name, h.Value})
		}
	}
	return v
}

// nextText describes the next attempt at a delivery or, if it failed, what the user
// can do.
func nextText(d *flow.DeliveryRecord, now time.Time) string {
	switch {
	case d.State == flow.DeliveryDelivered:
		return "Delivered."
	case d.State == flow.DeliveryFailed && d.Test():
		return "A test is sent once. Fix the receiver, then resend it."
	case d.State == flow.DeliveryFailed && len(d.Attempts) > 0 && d.Attempts[len(d.Attempts)-1].Cause == flow.CauseGone:
		return "The receiver responded 410 Gone, so this message is not retried. Resend it when the receiver accepts messages again."
	case d.State == flow.DeliveryFailed:
		return "All attempts failed. Fix the receiver, then resend the message."
	case !d.NextAt.After(now):
		return "Sending now."
	}
	return fmt.Sprintf("Next attempt on %s.", wording.Second(d.NextAt))
}

// redeliver is POST redeliver: it starts a new series of attempts. The message ID
// stays the same, so that receivers can deduplicate.
func redeliver(c *call, d *flow.DeliveryRecord) error {
	if _, err := c.s.deliveries.Resend(c.Ctx(), c.Actor(), c.WorkspaceID(), d.ID); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The message is being resent.")
	return c.Redirect("/deliveries/" + d.ID)
}

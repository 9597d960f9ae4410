package console

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

const (
	deliveriesPerPage = 50
	endpointsShown    = 50
	notesShown        = 3 // endpoints in trouble above the log
	hostsOffered      = 200
)

func (s *Server) deliveryRoutes() []route {
	return []route{
		{http.MethodGet, "/deliveries", web.Viewer, onWebhook((*webhookCall).listDeliveries)},
		{http.MethodGet, "/deliveries/endpoints", web.Viewer, onWebhook((*webhookCall).listEndpoints)},
		{http.MethodGet, "/deliveries/again", web.Editor, onWebhook((*webhookCall).askAgain)},
		{http.MethodPost, "/deliveries/again", web.Editor, onWebhook(web.Posted((*webhookCall).sendAgain))},
		{http.MethodGet, "/deliveries/:delivery", web.Viewer, onWebhook(web.With((*webhookCall).findDelivery, (*webhookCall).showDelivery))},
		{http.MethodPost, "/deliveries/:delivery/redeliver", web.Editor, onWebhook(web.With((*webhookCall).findDelivery, (*webhookCall).redeliver))},
	}
}

// listDeliveries is GET /deliveries. A log that is open asks for its rows alone,
// and hears nothing when they are as it has them.
func (c *webhookCall) listDeliveries() error {
	filter, choice := c.readDeliveriesFilter()
	page := consoleview.DeliveriesPage{Filter: filter, MayEdit: c.MayEdit(), Now: c.s.Now()}
	status := http.StatusOK
	if len(filter.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	} else if err := c.findDeliveries(&page, choice); err != nil {
		return err
	}
	if c.IsFragment() && c.QueryParam("mark") != "" {
		if page.Mark() == c.QueryParam("mark") {
			return c.NoContent(http.StatusNoContent)
		}
		return c.Render(http.StatusOK, consoleview.DeliveryRows(page))
	}
	if err := c.aroundDeliveries(&page); err != nil {
		return err
	}
	return c.Render(status, consoleview.Deliveries(c.Page("Deliveries", layout.SectionDeliveries), page))
}

func (c *webhookCall) findDeliveries(page *consoleview.DeliveriesPage, choice flow.DeliveryChoice) error {
	found, err := c.s.Store.ListDeliveryRows(c.Ctx(), choice)
	if err != nil {
		return err
	}
	if page.Flows, err = c.flowOptions(); err != nil {
		return err
	}
	for i := range found.Rows {
		page.Rows = append(page.Rows, deliveryRow(&found.Rows[i], page.Flows))
	}
	page.Pages = components.Pages{Path: "/deliveries", Query: page.Filter.Values(), Before: found.Newer, After: found.Older}
	page.Looked, page.More = found.Looked, found.More
	return nil
}

// aroundDeliveries fills in what stands around the rows: what can be chosen, and
// the endpoints that need somebody.
func (c *webhookCall) aroundDeliveries(page *consoleview.DeliveriesPage) (err error) {
	if page.Hosts, err = c.s.Store.ListHosts(c.Ctx(), c.WorkspaceID(), hostsOffered); err != nil {
		return err
	}
	failing, err := c.endpoints("", true)
	if err != nil {
		return err
	}
	failing = slices.DeleteFunc(failing, func(e consoleview.EndpointView) bool { return e.Trouble == "" })
	page.Endpoints = failing[:min(len(failing), notesShown)]
	return nil
}

// flowOptions are the flows of the workspace, by name.
func (c *webhookCall) flowOptions() (list []components.Option, err error) {
	flows, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	for i := range flows {
		list = append(list, components.Option{Value: flows[i].ID, Label: flows[i].Name})
	}
	slices.SortStableFunc(list, func(a, b components.Option) int {
		return strings.Compare(strings.ToLower(a.Label), strings.ToLower(b.Label))
	})
	return list, err
}

// optionLabel is the name of a choice, or its value when there is none.
func optionLabel(list []components.Option, value string) string {
	for _, o := range list {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

func deliveryRow(r *flow.DeliveryRow, flows []components.Option) consoleview.DeliveryRow {
	row := consoleview.DeliveryRow{
		ID: r.ID, State: string(r.State), FlowID: r.FlowID, Flow: optionLabel(flows, r.FlowID), Node: r.Node, URL: flow.ShownURL(r.URL), Test: r.RunID == "",
		At: r.CreatedAt, NextAt: r.NextAt, Tries: int(r.Tries),
	}
	if r.Last != nil {
		row.Tried, row.Status, row.Took, row.Failure = true, r.Last.Status, r.Last.Latency, causeWords[r.Last.Cause]
	}
	return row
}

// readDeliveriesFilter reads what the address asks for. What it does not know
// narrows nothing.
func (c *webhookCall) readDeliveriesFilter() (consoleview.DeliveriesFilter, flow.DeliveryChoice) {
	q := c.Request().URL.Query()
	span, runs := consoleview.RunsFilter{Time: q.Get("time"), From: q.Get("from"), Until: q.Get("until"), Errors: components.Errors{}}, flow.RunChoice{}
	c.readSpan(&span, &runs)
	f := consoleview.DeliveriesFilter{
		Flow: validOr(flow.PrefixFlow, q.Get("flow")), Endpoint: validOr(flow.PrefixEndpoint, q.Get("endpoint")), To: strings.TrimSpace(q.Get("to")),
		Time: span.Time, From: span.From, Until: span.Until, Errors: span.Errors,
	}
	choice := flow.DeliveryChoice{
		WorkspaceID: c.WorkspaceID(), FlowID: f.Flow, EndpointID: f.Endpoint, From: runs.From, Until: runs.Until, Limit: deliveriesPerPage,
		Before: validOr(flow.PrefixDelivery, q.Get("after")), After: validOr(flow.PrefixDelivery, q.Get("before")),
	}
	choice.Host, choice.URL = receiverOf(f.To)
	for _, s := range q["state"] {
		state := flow.DeliveryState(s)
		if slices.Contains([]flow.DeliveryState{flow.DeliveryPending, flow.DeliveryDelivered, flow.DeliveryFailed}, state) && !slices.Contains(choice.States, state) {
			f.States, choice.States = append(f.States, s), append(choice.States, state)
		}
	}
	return f, choice
}

// receiverOf reads a URL or a host. Only a URL with a path narrows further than
// its host.
func receiverOf(text string) (host, address string) {
	if !strings.Contains(text, "://") {
		return strings.ToLower(strings.TrimSuffix(text, "/")), ""
	}
	if host = flow.HostOf(text); host == "" {
		return text, "" // no host is called that, so nothing fits
	}
	_, rest, _ := strings.Cut(text, "://")
	if _, path, has := strings.Cut(rest, "/"); has && path != "" {
		address = text
	}
	return host, address
}

// showDelivery is GET /deliveries/{id}.
func (c *webhookCall) showDelivery(d *flow.DeliveryRecord) error {
	flows, err := c.flowOptions()
	if err != nil {
		return err
	}
	page := c.deliveryPage(d, flows)
	return c.Render(http.StatusOK, consoleview.Delivery(c.Page("Delivery of "+page.Flow, layout.SectionDeliveries), page))
}

func (c *webhookCall) findDelivery() (*flow.DeliveryRecord, error) {
	if !flow.ValidID(flow.PrefixDelivery, c.Param("delivery")) {
		return nil, web.ErrNotFound
	}
	return c.s.Store.ReadDelivery(c.Ctx(), c.WorkspaceID(), c.Param("delivery"))
}

func (c *webhookCall) deliveryPage(d *flow.DeliveryRecord, flows []components.Option) consoleview.DeliveryPage {
	now := c.s.Now()
	page := consoleview.DeliveryPage{
		DeliveryRow: consoleview.DeliveryRow{
			ID: d.ID, State: string(d.State), FlowID: d.FlowID, Flow: optionLabel(flows, d.FlowID), Node: d.Node, URL: flow.ShownURL(d.URL), Test: d.Test(),
			At: d.CreatedAt, Tries: len(d.Attempts),
		},
		RunID: d.RunID, Custom: d.Header, MayEdit: c.MayEdit(), Now: now,
	}
	if d.State == flow.DeliveryPending {
		page.NextAt, page.Poll = d.NextAt, "load delay:30s"
		if d.NextAt.Sub(now) < time.Minute {
			page.Poll = "load delay:1s"
		}
	}
	page.Next = nextWords(d, now)
	if d.Erased != "" {
		page.Erased = "The content was erased with its run."
	} else {
		page.Body, page.Cut = web.ShownBody(c.s.Links.Message(&d.Delivery, now))
	}
	for i := len(d.Attempts) - 1; i >= 0; i-- {
		page.Attempts = append(page.Attempts, attemptView(&d.Attempts[i], i == len(d.Attempts)-1))
	}
	return page
}

func attemptView(a *flow.DeliveryAttempt, open bool) consoleview.AttemptView {
	v := consoleview.AttemptView{
		Number: int(a.Number), At: a.StartedAt, Took: a.Latency, Status: a.Status, Reason: http.StatusText(a.Status), Error: a.Error, Response: a.Response, Open: open,
	}
	for _, h := range a.Headers() {
		if h.Value != "" {
			v.Headers = append(v.Headers, [2]string{h.Name, h.Value})
		}
	}
	return v
}

// nextWords say what happens next.
func nextWords(d *flow.DeliveryRecord, now time.Time) string {
	switch {
	case d.State == flow.DeliveryDelivered:
		return "The receiver has it. Nothing more is sent."
	case d.State == flow.DeliveryFailed && d.Test():
		return "A test is sent once. Mend the receiver, then send it again."
	case d.State == flow.DeliveryFailed && len(d.Attempts) > 0 && d.Attempts[len(d.Attempts)-1].Cause == flow.CauseGone:
		return "The receiver asked for no more, so this message was given up. Send it again once the receiver takes messages."
	case d.State == flow.DeliveryFailed:
		return "All attempts were used up, and nothing more is sent by itself. Mend the receiver, then send it again."
	case !d.NextAt.After(now):
		return "It is being sent now."
	}
	return fmt.Sprintf("The next attempt is on %s.", d.NextAt.UTC().Format("2 Jan 2006, 15:04:05 UTC"))
}

// redeliver is POST redeliver: a new series of attempts under the same ID.
func (c *webhookCall) redeliver(d *flow.DeliveryRecord) error {
	if _, err := c.s.Store.Redeliver(c.Ctx(), c.WorkspaceID(), d.ID); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "It is sent again.")
	return c.AuditAndRedirect("/deliveries/"+d.ID, "delivery.redeliver", d.ID, flow.ShownURL(d.URL))
}

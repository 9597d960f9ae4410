package console

import (
	"net/http"

	"sluice/flow"
	"sluice/flow/endpoints"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// listEndpoints is GET /deliveries/endpoints.
func listEndpoints(c *call) error {
	page := consoleview.DeliveriesPage{MayEdit: c.MayEdit(), Now: c.s.Now()}
	var err error
	if page.Endpoints, err = endpointViews(c, "", false); err != nil {
		return err
	}
	return c.Render(http.StatusOK, consoleview.Endpoints(c.Page("Endpoints", layout.SectionDeliveries), page))
}

// endpointViews returns the receivers of a flow, or of the whole workspace if
// flowID is empty. failing selects those whose last attempt failed.
func endpointViews(c *call, flowID flow.FlowID, failing bool) (views []consoleview.EndpointView, err error) {
	list, err := c.s.Store.ListEndpoints(c.Ctx(), c.WorkspaceID(), flowID, failing, maxEndpoints)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	flows, err := flowOptions(c)
	senders := newSenders(c)
	for i := range list {
		v := endpointView(c, &list[i], optionLabel(flows, string(list[i].FlowID)))
		v.Sender = senders.name(v.FlowID, v.Node)
		views = append(views, v)
	}
	return views, err
}

// maxBars is the largest number of attempts in the chart of an endpoint.
const maxBars = 40

// endpointView converts an endpoint with its success rate, its latency and, if
// it fails for a known reason, advice.
func endpointView(c *call, e *endpoints.Endpoint, name string) consoleview.EndpointView {
	v := consoleview.EndpointView{
		ID: e.ID, FlowID: string(e.FlowID), Flow: name, Node: e.Node, Host: e.Host, URL: flow.ShownURL(e.URL), LastAt: e.LastAt,
		Attempts: len(e.Attempts), Succeeded: e.Succeeded(), P95: e.P95(),
	}
	for _, a := range e.Attempts[max(0, len(e.Attempts)-maxBars):] {
		v.Bars = append(v.Bars, a.Error == "")
	}
	if last := e.Last(); last != nil {
		v.Status, v.Failure = last.Status, causeText[last.Cause]
		if t, ok := endpointProblems[e.Problem(c.s.Now())]; ok {
			v.Problem, v.Advice = e.Host+t.problem, last.Error+" "+t.advice
		}
	}
	return v
}

// causeText names each cause of a missing response.
var causeText = map[flow.Cause]string{
	flow.CauseTimeout: "timeout", flow.CauseTLS: "TLS", flow.CauseConnection: "no connection", flow.CauseOwn: "not sent",
}

// endpointProblems has the problem, which follows the host, and the advice for each
// problem.
var endpointProblems = map[endpoints.Problem]struct{ problem, advice string }{
	endpoints.ProblemRedirect: {" redirects.", "Enter its new address; failed messages can be resent."},
	endpoints.ProblemGone:     {" was disabled by its owner.", "Remove the webhook, or ask the owner to accept messages again. Each new message is tried once and kept."},
	endpoints.ProblemTLS:      {" cannot be reached over HTTPS.", "Its owner has to fix the certificate; Sluice always verifies it."},
	endpoints.ProblemTimeout:  {" responds too late.", "A receiver has 15 seconds to respond: store the message, respond, and process it afterwards."},
	endpoints.ProblemRefuses:  {" refuses messages.", "Check the address, and that the receiver verifies signatures with the current secret."},
	endpoints.ProblemOwn:      {" gets no messages.", "Check the address and the secrets of the webhook node."},
	endpoints.ProblemLong:     {" has been failing for a while.", "Messages are retried for three days. After that they are listed here as failed and can be resent."},
}

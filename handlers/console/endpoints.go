package console

import (
	"net/http"

	"sluice/flow"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// listEndpoints is GET /deliveries/endpoints.
func (c *webhookCall) listEndpoints() error {
	page := consoleview.DeliveriesPage{MayEdit: c.MayEdit(), Now: c.s.Now()}
	var err error
	if page.Endpoints, err = c.endpoints("", false); err != nil {
		return err
	}
	return c.Render(http.StatusOK, consoleview.Endpoints(c.Page("Endpoints", layout.SectionDeliveries), page))
}

// endpoints are where webhooks of a flow, or of the workspace, were sent last.
func (c *webhookCall) endpoints(flowID string, failing bool) (views []consoleview.EndpointView, err error) {
	list, err := c.s.Store.ListEndpoints(c.Ctx(), c.WorkspaceID(), flowID, failing, endpointsShown)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	flows, err := c.flowOptions()
	for i := range list {
		views = append(views, c.endpointView(&list[i], optionLabel(flows, list[i].FlowID)))
	}
	return views, err
}

// barsShown is how many attempts the picture of an endpoint has.
const barsShown = 40

func (c *webhookCall) endpointView(e *flow.Endpoint, name string) consoleview.EndpointView {
	v := consoleview.EndpointView{
		ID: e.ID, FlowID: e.FlowID, Flow: name, Node: e.Node, Host: e.Host, URL: flow.ShownURL(e.URL), LastAt: e.LastAt,
		Attempts: len(e.Attempts), Succeeded: e.Succeeded(), P95: e.P95(),
	}
	for _, a := range e.Attempts[max(0, len(e.Attempts)-barsShown):] {
		v.Bars = append(v.Bars, a.Error == "")
	}
	if last := e.Last(); last != nil {
		v.Status, v.Failure = last.Status, causeWords[last.Cause]
		if words, ok := troubleWords[e.Trouble(c.s.Now())]; ok {
			v.Trouble, v.Advice = e.Host+words.trouble, last.Error+" "+words.advice
		}
	}
	return v
}

// causeWords are a word each for why no answer came.
var causeWords = map[flow.Cause]string{
	flow.CauseTimeout: "timeout", flow.CauseTLS: "TLS", flow.CauseConnection: "no connection", flow.CauseOwn: "not sent",
}

// troubleWords say what is wrong with an endpoint, and what to do.
var troubleWords = map[flow.Trouble]struct{ trouble, advice string }{
	flow.TroubleRedirect: {" redirects.", "What failed meanwhile can be sent again."},
	flow.TroubleGone:     {" was disabled by its owner.", "Remove the webhook, or ask the owner to take messages again. Each new message is tried once and kept."},
	flow.TroubleTLS:      {" cannot be reached over HTTPS.", "Its owner has to mend the certificate; Sluice sends nothing without checking it."},
	flow.TroubleTimeout:  {" answers too late.", "A receiver has 15 seconds: let it store the message, answer at once and work on it afterwards."},
	flow.TroubleRefuses:  {" refuses messages.", "Check the address, and that the receiver verifies with the secret that the messages are signed with."},
	flow.TroubleOwn:      {" is not sent to.", "Check the webhook node: its address and its secrets."},
	flow.TroubleLong:     {" has been failing for a while.", "Messages are tried for three days, then they wait here as failed and can be sent again."},
}

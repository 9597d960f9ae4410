package console

import (
	"net/http"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

const (
	// maxCounted bounds the count of failed messages, so that the page is fast.
	maxCounted = 100_001
	// resendBatch is the largest number of messages that one request resends. It
	// takes a few seconds.
	resendBatch = 10_000
)

// readResend reads the filter of failed messages to resend. Unlike in lists, an
// invalid ID is an error: ignoring it would resend all messages.
func readResend(c *call) (consoleview.ResendPage, flow.FailedQuery, error) {
	a := consoleview.ResendPage{Flow: c.FormValue("flow"), Endpoint: c.FormValue("endpoint"), Since: c.FormValue("since"), Most: maxCounted, Batch: resendBatch, Errors: components.Errors{}}
	if a.Flow != "" && !flow.ValidID(flow.PrefixFlow, a.Flow) || a.Endpoint != "" && !flow.ValidID(flow.PrefixEndpoint, a.Endpoint) {
		return a, flow.FailedQuery{}, web.ErrNotFound
	}
	choice := flow.FailedQuery{WorkspaceID: c.WorkspaceID(), FlowID: flow.FlowID(a.Flow), EndpointID: a.Endpoint, Since: readTime(a.Errors, "since", a.Since), Asked: c.s.Now()}
	flows, err := flowOptions(c)
	if err != nil {
		return a, choice, err
	}
	a.Flows = append([]components.Option{{Value: "", Label: "All flows"}}, web.BoundOptions(flows, a.Flow)...)
	if a.Endpoint != "" {
		e, err := c.s.Store.FindEndpoint(c.Ctx(), c.WorkspaceID(), a.Endpoint)
		if err != nil {
			return a, choice, err
		}
		a.Host, a.FlowName = e.Host, optionLabel(flows, string(e.FlowID))
	}
	return a, choice, nil
}

// confirmResend is GET /deliveries/again: the number of failed messages that would
// be resent.
func confirmResend(c *call) error {
	a, choice, err := readResend(c)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if len(a.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	} else if a.Count, err = c.s.Store.CountFailed(c.Ctx(), choice, maxCounted); err != nil {
		return err
	}
	a.Asked = choice.Asked.UnixMicro()
	return c.Render(status, consoleview.Resend(c.Page("Resend failed messages", layout.SectionDeliveries), a))
}

// resendFailed is POST /deliveries/again. It includes only messages that had
// failed when the page was rendered, so that submitting the form twice resends each
// message once.
func resendFailed(c *call) error {
	a, choice, err := readResend(c)
	if err != nil {
		return err
	}
	if asked, err := strconv.ParseInt(c.FormValue("asked"), 10, 64); err == nil && asked < choice.Asked.UnixMicro() {
		choice.Asked = time.UnixMicro(asked)
	}
	if len(a.Errors) > 0 {
		return c.Render(http.StatusUnprocessableEntity, consoleview.Resend(c.Page("Resend failed messages", layout.SectionDeliveries), a))
	}
	which := ""
	if a.Host != "" {
		which += " to " + a.Host
	}
	if a.Since != "" {
		which += " since " + a.Since
	}
	n, err := c.s.deliveries.ResendFailed(c.Ctx(), c.Actor(), choice, resendBatch, which)
	if err != nil {
		return err
	}
	switch n {
	case 0:
		c.Toast(components.ToneNone, "There are no failed messages left to resend.")
	case 1:
		c.Toast(components.ToneOK, "1 message is being resent.")
	default:
		c.Toast(components.ToneOK, components.Count(n)+" messages are being resent.")
	}
	return c.Redirect("/deliveries")
}

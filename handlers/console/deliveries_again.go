package console

import (
	"fmt"
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
	// mostCounted is where counting failed messages stops, so that nobody waits.
	mostCounted = 100_001
	// againAtOnce is how many are sent again by one press: some seconds' work.
	againAtOnce = 10_000
)

// readAgain reads which failed messages are meant. What cannot be read must not
// be taken for all of them.
func (c *webhookCall) readAgain() (consoleview.AgainPage, flow.FailedChoice, error) {
	a := consoleview.AgainPage{Flow: c.FormValue("flow"), Endpoint: c.FormValue("endpoint"), Since: c.FormValue("since"), Most: mostCounted, Batch: againAtOnce, Errors: components.Errors{}}
	if a.Flow != "" && !flow.ValidID(flow.PrefixFlow, a.Flow) || a.Endpoint != "" && !flow.ValidID(flow.PrefixEndpoint, a.Endpoint) {
		return a, flow.FailedChoice{}, web.ErrNotFound
	}
	choice := flow.FailedChoice{WorkspaceID: c.WorkspaceID(), FlowID: a.Flow, EndpointID: a.Endpoint, Since: readMoment(a.Errors, "since", a.Since), Asked: c.s.Now()}
	flows, err := c.flowOptions()
	if err != nil {
		return a, choice, err
	}
	a.Flows = append([]components.Option{{Value: "", Label: "All flows"}}, flows...)
	if a.Endpoint != "" {
		e, err := c.s.Store.FindEndpoint(c.Ctx(), c.WorkspaceID(), a.Endpoint)
		if err != nil {
			return a, choice, err
		}
		a.Host, a.FlowName = e.Host, optionLabel(flows, e.FlowID)
	}
	return a, choice, nil
}

// askAgain is GET /deliveries/again: how many failed messages would be sent.
func (c *webhookCall) askAgain() error {
	a, choice, err := c.readAgain()
	if err != nil {
		return err
	}
	status := http.StatusOK
	if len(a.Errors) > 0 {
		status = http.StatusUnprocessableEntity
	} else if a.Count, err = c.s.Store.CountFailed(c.Ctx(), choice, mostCounted); err != nil {
		return err
	}
	a.Asked = choice.Asked.UnixMicro()
	return c.Render(status, consoleview.Again(c.Page("Send failed messages again", layout.SectionDeliveries), a))
}

// sendAgain is POST /deliveries/again. What failed after the person looked is
// left alone, so the same form sent twice sends nothing twice.
func (c *webhookCall) sendAgain() error {
	a, choice, err := c.readAgain()
	if err != nil {
		return err
	}
	if asked, err := strconv.ParseInt(c.FormValue("asked"), 10, 64); err == nil && asked < choice.Asked.UnixMicro() {
		choice.Asked = time.UnixMicro(asked)
	}
	if len(a.Errors) > 0 {
		return c.Render(http.StatusUnprocessableEntity, consoleview.Again(c.Page("Send failed messages again", layout.SectionDeliveries), a))
	}
	n, err := c.s.Store.RedeliverFailed(c.Ctx(), choice, againAtOnce)
	if err != nil {
		return err
	}
	detail := fmt.Sprintf("%d messages", n)
	if a.Host != "" {
		detail += " to " + a.Host
	}
	if a.Since != "" {
		detail += " since " + a.Since
	}
	switch n {
	case 0:
		c.Toast(components.ToneNone, "There was nothing left to send again.")
	case 1:
		c.Toast(components.ToneOK, "1 message is sent again.")
	default:
		c.Toast(components.ToneOK, components.Count(n)+" messages are sent again.")
	}
	return c.AuditAndRedirect("/deliveries", "delivery.redeliver_failed", a.Flow, detail)
}

package hooks

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/hooks"
	"sluice/handlers/web"
)

// refuse answers a request that starts nothing. Only a code leaves the server.
func (c *call) refuse(err error) error {
	if web.IsClientGone(err, c.Request()) {
		return c.NoContent(web.StatusClientGone)
	}
	e, ok := errors.AsType[*flow.Error](err)
	if !ok {
		id := ""
		if c.trigger != nil {
			id = c.trigger.ID
		}
		c.s.Log.Error("a request to a trigger failed", "request_id", c.RequestID(), "trigger", id, "error", err)
		e = &flow.Error{Code: flow.CodeInternal}
	}
	status, code := refusalStatus(e), e.Code
	if status == http.StatusNotFound {
		code = flow.CodeNotFound // whatever the cause, which stays hidden
		select {
		case <-time.After(time.Until(c.arrived.Add(hiddenFor))):
		case <-c.Ctx().Done():
		}
	}
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		c.RetryAfter(max(e.After, 5*time.Second))
	}
	return c.JSONBlob(status, []byte(`{"code":`+strconv.Quote(string(code))+`}`))
}

// longestBudgetWait is how long a sender is asked to wait for a budget.
const longestBudgetWait = time.Hour

// refusalStatus returns the status by which senders know whether to send an event again.
func refusalStatus(e *flow.Error) int {
	switch e.Code {
	case flow.CodeNotFound, flow.CodeNotPublished:
		return http.StatusNotFound
	case flow.CodeSignatureInvalid, flow.CodeEventTooOld:
		return http.StatusUnauthorized
	case flow.CodeInputInvalid, flow.CodeExpressionFailed:
		return http.StatusUnprocessableEntity
	case flow.CodeBodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case flow.CodeUnsupportedMediaType:
		return http.StatusUnsupportedMediaType
	case flow.CodeRateLimited:
		return http.StatusTooManyRequests
	case flow.CodeBudgetExceeded:
		if e.After > longestBudgetWait {
			return http.StatusPaymentRequired
		}
		return http.StatusServiceUnavailable
	case flow.CodeInternal:
		return http.StatusInternalServerError
	default: // full queues, draining, outages, quotas, a paused trigger
		return http.StatusServiceUnavailable
	}
}

// reply answers an accepted event: with the ID of its run, or with outputs.
func (c *call) reply(run *flow.Run) error {
	if c.config.Reply != hooks.ReplyOutputs {
		return c.accepted(run)
	}
	ctx, cancel := context.WithTimeout(c.Ctx(), time.Duration(c.config.Wait())*time.Second)
	defer cancel()
	outputs, err := c.await(ctx, run)
	if err != nil {
		return err
	}
	if outputs == nil {
		if c.config.OnLate == hooks.LateTimeout {
			return c.JSONBlob(http.StatusGatewayTimeout, []byte(`{"code":"timeout"}`))
		}
		return c.accepted(run)
	}
	status, kind, body, err := c.config.Respond(outputs)
	if err != nil {
		return err
	}
	return c.Blob(status, kind, body)
}

// accepted answers with the ID of the run.
func (c *call) accepted(run *flow.Run) error {
	return c.JSONBlob(http.StatusOK, []byte(`{"run_id":`+strconv.Quote(string(run.ID))+`}`))
}

// await waits until the outputs of the response are known, and returns nil if they are late or the run fails.
func (c *call) await(ctx context.Context, run *flow.Run) (*flow.Object, error) {
	w := c.s.Runner.WatchRun(run.ID)
	defer w.Stop()
	again := time.NewTicker(time.Second) // the notification of a change by another instance may be lost
	defer again.Stop()
	for {
		outputs, over, err := c.outputs(run)
		if outputs != nil || over || err != nil {
			return outputs, err
		}
		select {
		case <-w.Changes:
		case <-again.C:
		case <-c.s.Drained:
			return nil, nil
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// outputs returns the outputs of the response, or nil if they are not known yet. over reports that they never will be.
func (c *call) outputs(run *flow.Run) (outputs *flow.Object, over bool, err error) {
	now, err := c.s.Store.FindRun(c.Ctx(), run.WorkspaceID, run.FlowID, run.ID)
	if err != nil {
		return nil, false, err
	}
	if now.State == flow.RunSucceeded {
		return now.Outputs, true, nil
	}
	needs := c.config.Needs()
	if needs == nil || now.State.Ended() {
		return nil, now.State.Ended(), nil
	}
	steps, err := c.s.Store.FindSteps(c.Ctx(), run.WorkspaceID, run.ID)
	if err != nil {
		return nil, false, err
	}
	known := &flow.Object{}
	for _, e := range contract.EventsAfter(now, steps, c.live.outputs, 0) {
		if e.Output != nil {
			known.Set(e.Output.Name, e.Output.Value)
		}
	}
	for _, name := range needs {
		if !known.Has(name) {
			return nil, false, nil
		}
	}
	return known, false, nil
}

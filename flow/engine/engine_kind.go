package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"sluice/flow"
	"sluice/flow/inflight"
	"sluice/flow/worktime"
)

// run executes the kind of one node once the memory that it needs is free. ctx has the time limit of
// the step; whole ends only when the step is aborted.
func (c *execution) run(whole, ctx context.Context, a Action, needs int64) result {
	lease := c.sig.Memory.Lease(whole)
	var out flow.Out
	resume := worktime.Wait(ctx)
	err := memoryError(lease.Take(needs), c.sig.Memory)
	resume()
	if err == nil {
		out, err = c.runKind(inflight.WithLease(ctx, lease), a)
	}
	return result{a.Node, out, err, lease}
}

// runKind executes the kind of one node. A panic is a bug in the kind and fails only this step.
// Reads from the store, such as credentials, budgets and files, are retried during database
// outages: the run was accepted, so an outage must not fail it.
func (c *execution) runKind(ctx context.Context, a Action) (out flow.Out, err error) {
	n := a.def
	defer func() {
		if r := recover(); r != nil {
			c.Report(fmt.Errorf("kind %s panicked at %s: %s\n%s", n.Kind, a.In.Key, c.secrets.Text(fmt.Sprint(r)), debug.Stack()))
			err = flow.Errorf(flow.CodeInternal, "The node kind %s failed unexpectedly. See the server log for details.", n.Kind)
		}
	}()
	ctx, done := c.track(flow.OutlastOutages(ctx), a)
	defer done()
	ctx, call := c.traceCalls(ctx, a)
	secrets, flushText := c.bindCapabilities(ctx, a)
	defer c.limitCalls(ctx, a)()
	outside := a.class == flow.Outside
	var ofCase *caseStep
	run := n.kind.Run
	if c.plan.run.Case != nil {
		if ctx, ofCase, err = c.beginCase(ctx, a); ofCase != nil {
			run = func(ctx context.Context, _ *flow.In) (flow.Out, error) { return ofCase.run(ctx) }
		}
	}
	// A recorded result or a stub is known: it is not from a service, which could return what other runs sent it meanwhile.
	known := ofCase != nil && ofCase.out != nil
	if outside { // no other step receives data
		err = cmp.Or(err, c.loadSecrets(ctx, known))
	}
	if known {
		out = *ofCase.out
	} else if err == nil {
		out, err = c.callKind(ctx, a, run)
		out.Answer = answerOf(call, secrets)
	}
	if outside && ctx.Err() == nil { // runs of the tree may have used more meanwhile
		err = cmp.Or(err, c.loadSecrets(ctx, known))
	}
	if delay, ok := errors.AsType[*flow.DelayError](err); ok && ctx.Err() == nil {
		out, err = flow.Out{Suspend: &flow.Suspension{Until: c.Now().Add(delay.Wait)}}, nil
	}
	if err == nil {
		err = normalizeOutputs(&out)
	}
	if err == nil {
		err = n.checkDeliveryCredentials(out.Deliveries)
	}
	if err == nil {
		flushText()
		if out = redactOut(out, secrets); ofCase != nil {
			return ofCase.finish(ctx, out)
		}
		return out, nil
	}
	out, err = redactOut(out, secrets), redactError(err, secrets)
	if worktime.Expired(ctx) {
		return out, &flow.Error{Code: flow.CodeStepTimeout, Retryable: true, Message: fmt.Sprintf("The step took longer than its time limit of %s.", n.timeLimit())}
	}
	if flow.AsError(err).Code == flow.CodeInternal && ctx.Err() == nil {
		c.Report(fmt.Errorf("step %s: %w", a.In.Key, err))
	}
	return out, err
}

// callKind runs the kind of a step within its budget.
func (c *execution) callKind(ctx context.Context, a Action, run func(context.Context, *flow.In) (flow.Out, error)) (flow.Out, error) {
	expected, err := c.checkBudget(ctx, a.def, a.In)
	if err == nil {
		err = c.fetchArrived(ctx, a.def, a.In)
	}
	if err != nil {
		return flow.Out{}, err
	}
	out, err := run(ctx, a.In)
	bookLost(&out, expected.amount)
	c.Costs.note(expected.model, expected.amount, out.Usage.CostNanoUSD)
	return out, err
}

// track marks the run busy while a step executes code in this process: an inline or compute
// step all the time, an outside step while it processes a response. A step that waits for a
// response cannot crash the process.
func (c *execution) track(ctx context.Context, a Action) (_ context.Context, done func()) {
	if a.class != flow.Outside {
		c.mark.Enter()
		return ctx, c.mark.Leave
	}
	if c.Calls == nil {
		return ctx, func() {}
	}
	calls := &activity{mark: c.mark}
	return c.Calls(ctx, c.mayCall, calls.set), calls.end
}

// mayCall is called before each request to an external service. It returns an error if the
// worker may have lost the run, because another worker may then call the same paid service.
func (c *execution) mayCall(ctx context.Context) error {
	if c.MayCall == nil {
		return nil
	}
	return c.MayCall(ctx, c.plan.run.ID, c.plan.run.Attempt)
}

// timeLimit returns how long an attempt may take: the limit of the node, of its kind, or the
// default, in this order.
func (n *graphNode) timeLimit() time.Duration {
	switch {
	case n.TimeoutS > 0:
		return time.Duration(n.TimeoutS * float64(time.Second))
	case n.kind.Timeout > 0:
		return n.kind.Timeout
	}
	return flow.StepTimeout
}

// expand calls Expand of the kind of a step. A panic is a bug in the kind and fails the step.
func (c *execution) expand(a Action) {
	next, err := c.callExpand(a)
	if err == nil && next.Outputs != nil {
		r := result{node: a.Node, out: flow.Out{Outputs: next.Outputs}}
		if r.err = normalizeOutputs(&r.out); r.err == nil {
			c.count(&r)
		}
		next.Outputs, err = r.out.Outputs, r.err
	}
	c.plan.Expanded(a.Node, next, err, c.Now())
}

func (c *execution) callExpand(a Action) (next flow.Next, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.Report(fmt.Errorf("kind %s panicked at %s: %s\n%s", a.def.Kind, a.In.Key, c.secrets.Text(fmt.Sprint(r)), debug.Stack()))
			err = flow.Errorf(flow.CodeInternal, "The node kind %s failed unexpectedly. See the server log for details.", a.def.Kind)
		}
	}()
	c.mark.Enter()
	defer c.mark.Leave()
	if next, has, err := c.stubbed(a); has {
		return next, err
	}
	if next, err = a.def.kind.Expand(a.In, a.So); err != nil && flow.AsError(err).Code == flow.CodeInternal {
		c.Report(fmt.Errorf("step %s: %w", a.In.Key, err))
	}
	return next, err
}

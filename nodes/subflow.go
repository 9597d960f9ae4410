package nodes

import (
	"context"

	"sluice/flow"
	"sluice/nodes/pinned"
)

// subflowPorts are the fixed ports of a subflow node.
var subflowPorts = []string{"outputs"}

// The subflow kind runs another flow as one step: as a child run, which the step waits for
// without occupying a worker.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "subflow", Title: "Subflow", Group: groupControl, Icon: "workflow", Class: flow.Outside, Reads: true, Timeout: flow.ModelTimeout, WaitsFor: flow.WaitsForChildren,
		Summary: "Runs another flow as one step.",
		Doc: "Runs a published flow of the workspace and outputs its outputs. Each input of the flow is a field and a port named `input.` and its name; each output is a port of the same name.\n\n" +
			"In the builder, *New child flow from selection* makes a flow of the selected nodes, publishes it, and puts a subflow in their place.\n\n" +
			"Without a `version`, the version that is live when the step first starts is used, also for retries and reruns of it. With one, the node stays with it until you change it: the builder says when a newer version is live, and shows what it changes.\n\n" +
			"The other flow runs as a child run with its own steps, cost and page. The step waits for it without holding a worker, so the other flow may ask for an approval or wait for days. " +
			"Canceling this run cancels the child. If the child fails, the step fails with [`child_failed`](errors.md#child_failed).",
		Fields:        childFields(),
		DynamicSchema: func(n *flow.Node) flow.DynamicSchema { return childSchema(n, subflowPorts, nil) },
		Open:          pinned.InputPrefix,
		Outputs:       []flow.Port{{Name: "outputs", Title: "Outputs", Type: flow.TypeJSON, Schema: map[string]any{"type": "object"}, Help: "All outputs of the flow in one object."}},
		Example:       flow.Example{Config: map[string]any{"flow": "summarize-a-text", "input.text": "A long text."}},
		Tool:          &flow.ToolUse{Effect: writes, Result: []string{"outputs"}, Opens: pinned.InputPrefix},
		Run:           runSubflow,
		Cleanup:       stopChildren,
	}
})

// writes proposes that a flow may change something: what its nodes do is known only once it runs.
func writes(*flow.Node) flow.Effect { return flow.EffectWrite }

// stopChildren cancels the child runs of a step that has ended early.
func stopChildren(ctx context.Context, in *flow.In) error { return in.Children.Stop(ctx) }

// runSubflow starts the child run, suspends the step until it has ended, and returns its
// outputs.
func runSubflow(ctx context.Context, in *flow.In) (flow.Out, error) {
	children, err := in.Children.Start(ctx, childRequest(in, []*flow.Object{givenInputs(in)}))
	if err != nil {
		return flow.Out{}, err
	}
	if done, err := awaitChildren(ctx, in, children); !done || err != nil {
		return flow.Out{Suspend: childSuspension(in)}, err
	}
	var out flow.Out
	err = in.Children.Read(ctx, func(r *flow.ChildResult) error {
		if r.State != flow.RunSucceeded {
			return childError("The flow", r)
		}
		out.Untrusted = out.Untrusted || r.Untrusted
		out.Outputs = map[string]any{"outputs": r.Outputs}
		for _, p := range contractPorts(in.Config, "outputs") {
			if value, given := r.Outputs.Lookup(p.name); given {
				out.Outputs[childOutput(p.name, subflowPorts)] = value
			}
		}
		return nil
	})
	return out, err
}

// awaitChildren reports whether the step can continue. After the time limit of the step it
// cancels the children and returns an error.
func awaitChildren(ctx context.Context, in *flow.In, children *flow.Children) (done bool, err error) {
	if children.Decided() {
		return true, nil
	}
	if deadline, limited := childDeadline(in); limited && in.State != nil && !in.Now().Before(deadline) {
		if err := in.Children.Stop(ctx); err != nil {
			return true, err
		}
		return true, &flow.Error{Code: flow.CodeStepTimeout, Retryable: true, Message: "The step took longer than its time limit of " + in.Timeout.String() + "."}
	}
	return false, nil
}

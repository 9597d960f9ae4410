package flowtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/flow"
	"sluice/flow/value"
)

// waitLimit is when a waiting step checks again if no event wakes it.
const waitLimit = 24 * time.Hour

// spawnKind starts child runs and outputs a digest of their results. The simulation
// provides their store (simchildren_test.go).
var spawnKind = flow.Kind{
	Name: "spawn", Title: "Spawn", Group: "Test", Summary: "Runs children.", Class: flow.Outside, WaitsFor: flow.WaitsForChildren,
	Fields: []flow.Field{
		{Name: "items", Type: flow.FieldInteger, Typed: true}, {Name: "concurrency", Type: flow.FieldInteger, Typed: true},
		{Name: "bad", Type: flow.FieldInteger, Typed: true}, // the item that fails; 0 for none
		{Name: "keep", Type: flow.FieldBoolean, Typed: true}, {Name: "fails", Type: flow.FieldInteger, Typed: true},
	},
	Inputs:  []flow.Port{{Name: "values", Type: flow.TypeAny, List: true}},
	Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}},
	Run:     spawn,
	Cleanup: func(ctx context.Context, in *flow.In) error { return in.Children.Stop(ctx) },
}

// spawn starts one child run per item and suspends until their outcome is decided. A
// failed item stops the others and fails the step, unless "keep" is set.
func spawn(ctx context.Context, in *flow.In) (flow.Out, error) {
	if in.Children == nil {
		return flow.Out{}, errors.New("there is no store of children")
	}
	items := make([]*flow.Object, in.Int("items"))
	for i := range items {
		items[i] = value.NewObject(value.Member{Name: "n", Value: i + 1}, value.Member{Name: "bad", Value: i+1 == in.Int("bad")})
	}
	keep := in.Config["keep"] == true
	children, err := in.Children.Start(ctx, flow.ChildRequest{Items: items, Concurrency: in.Int("concurrency"), KeepErrors: keep})
	if err != nil {
		return flow.Out{}, err
	}
	switch {
	case !children.Decided():
		return flow.Out{Suspend: &flow.Suspension{Until: clock(ctx).Add(waitLimit), State: "children", Event: true}}, nil
	case children.Failed > 0 && !keep:
		return flow.Out{}, errors.Join(in.Children.Stop(ctx), &flow.Error{Code: flow.CodeChildFailed, Message: "An item failed.", Retryable: true})
	}
	var results []any
	err = in.Children.Read(ctx, func(r *flow.ChildResult) error {
		results = append(results, fmt.Sprint(r.Item, r.State, r.Outputs.Get("text")))
		return nil
	})
	digest := flow.Hash(value.Canonical([]any{in.Node, in.Ports["values"], results}))[:8]
	return flow.Out{Outputs: map[string]any{"text": in.Node + "-" + digest}, Usage: OneCall}, err
}

// awaitKind waits for an approval, which the simulation gives.
var awaitKind = flow.Kind{
	Name: "await", Title: "Await", Group: "Test", Summary: "Asks a question.", Class: flow.Outside, WaitsFor: flow.WaitsForApproval,
	Inputs:  []flow.Port{{Name: "values", Type: flow.TypeAny, List: true}},
	Outputs: []flow.Port{{Name: "text", Type: flow.TypeText}},
	Run: func(ctx context.Context, in *flow.In) (flow.Out, error) {
		if in.TakeDecision == nil {
			return flow.Out{}, errors.New("nobody can be asked")
		}
		d, err := in.TakeDecision(ctx)
		if err != nil {
			return flow.Out{}, err
		}
		if d == nil {
			return flow.Out{Suspend: &flow.Suspension{Until: clock(ctx).Add(waitLimit), State: "asked", Event: true}}, nil
		}
		return flow.Out{Outputs: map[string]any{"text": string(d.Outcome)}}, nil
	},
}

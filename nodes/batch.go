package nodes

import (
	"context"

	"sluice/flow"
	"sluice/nodes/batches"
)

// The batch kind runs a flow for each row of a table, like a map. Only the documents of batches have it.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: batches.Kind, Title: "Rows", Group: groupControl, Icon: "list-tree", Class: flow.Outside, Timeout: flow.ModelTimeout, WaitsFor: flow.WaitsForChildren,
		Internal: true,
		Summary:  "Runs a flow for every row of a table.",
		Fields: []flow.Field{
			{Name: "file", Title: "File", Type: flow.FieldFile, Required: true, Help: "CSV, TSV, JSON or XLSX."},
			{Name: "spec", Title: "Spec", Type: flow.FieldJSON, Typed: true, Required: true, Help: "The flow, and how its inputs are made of a row."},
		},
		Outputs: []flow.Port{
			{Name: "total", Title: "Total", Type: flow.TypeNumber, Help: "How many rows there are."},
			{Name: "succeeded", Title: "Succeeded", Type: flow.TypeNumber, Help: "How many rows succeeded."},
			{Name: "failed", Title: "Failed", Type: flow.TypeNumber, Help: "How many rows failed."},
		},
		Run:     func(ctx context.Context, in *flow.In) (flow.Out, error) { return runBatch(ctx, d, in) },
		Cleanup: stopChildren,
		Partial: func(outputs map[string]any) bool { f, _ := flow.Float(outputs["failed"]); return f > 0 },
	}
})

// runBatch starts a child run for each row, and suspends the step until all have ended.
func runBatch(ctx context.Context, d Deps, in *flow.In) (flow.Out, error) {
	spec, err := batches.ReadSpec(in.Config["spec"])
	if err != nil {
		return flow.Out{}, err
	}
	children, err := in.Children.Start(ctx, flow.ChildRequest{
		Flow: string(spec.Flow), Version: spec.Version, Concurrency: spec.Concurrency, KeepErrors: spec.OnError != batches.Stop, MaxFailed: spec.MaxFailed,
		AllRows: !spec.SkipInvalid, MaySkip: true,
		Rows: spec.Rows(ctx, d.Documents, in, in.Config["file"]),
	})
	if err != nil {
		return flow.Out{}, err
	}
	if done, err := awaitChildren(ctx, in, children); !done || err != nil {
		wait := childSuspension(in)
		wait.Until = batches.NextLook(in.Now(), wait.Until)
		return flow.Out{Suspend: wait}, err
	}
	if children.TooManyFailed() {
		return flow.Out{}, failedItem(ctx, in)
	}
	if err := batches.CheckStarted(children); err != nil {
		return flow.Out{}, err
	}
	return flow.Out{Outputs: map[string]any{"total": children.Total, "succeeded": children.Succeeded, "failed": children.Failed}}, nil
}

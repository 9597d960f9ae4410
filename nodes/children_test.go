package nodes

import (
	"context"

	"sluice/flow"
)

// echoes are child runs that succeed immediately and return their inputs as outputs.
type echoes struct{ items []map[string]any }

func echoChildren(*flow.Run, *flow.In) flow.ChildRuns { return &echoes{} }

func (e *echoes) Start(_ context.Context, r flow.ChildRequest) (*flow.Children, error) {
	e.items = r.Items
	return &flow.Children{Total: len(r.Items), Succeeded: len(r.Items)}, nil
}

func (e *echoes) Read(_ context.Context, each func(*flow.ChildResult) error) error {
	for i, item := range e.items {
		if err := each(&flow.ChildResult{Item: i, State: flow.RunSucceeded, Inputs: item, Outputs: item}); err != nil {
			return err
		}
	}
	return nil
}

func (e *echoes) Stop(context.Context) error { return nil }

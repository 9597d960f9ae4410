package nodes

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"sluice/flow"
)

// echoes are child runs that succeed immediately and return their inputs as outputs.
type echoes struct{ items []*flow.Object }

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

// endlessChildren are child runs that do not end before they are canceled.
type endlessChildren struct{ stopped bool }

func (e *endlessChildren) Start(_ context.Context, r flow.ChildRequest) (*flow.Children, error) {
	return &flow.Children{Total: len(r.Items), Running: len(r.Items)}, nil
}

// Read returns no result, as for a child that was canceled before it started.
func (e *endlessChildren) Read(context.Context, func(*flow.ChildResult) error) error { return nil }

func (e *endlessChildren) Stop(context.Context) error {
	e.stopped = true
	return nil
}

func TestChildren_fail_the_step_at_its_time_limit(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"subflow", "map"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := New(Deps{}).Find(name)
			now, children := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC), &endlessChildren{}
			in := &flow.In{Node: "n", Config: maps.Clone(k.Example.Config), Ports: k.Example.Ports, Timeout: time.Minute,
				Clock: func() time.Time { return now }, Children: children}
			out, err := k.Run(t.Context(), in)
			if err != nil || out.Suspend == nil || !out.Suspend.Until.Equal(now.Add(time.Minute)) {
				t.Fatalf("got %+v, %v, want a step that waits for a minute", out.Suspend, err)
			}
			in.State, now = out.Suspend.State, out.Suspend.Until
			if _, err := k.Run(t.Context(), in); !errors.Is(err, &flow.Error{Code: flow.CodeStepTimeout}) || !children.stopped {
				t.Errorf("got %v (children canceled: %t), want %s and canceled children", err, children.stopped, flow.CodeStepTimeout)
			}
		})
	}
}

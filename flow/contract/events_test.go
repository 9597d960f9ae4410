package contract_test

import (
	"testing"

	"sluice/flow"
	"sluice/flow/contract"
)

func TestEventsAfter(t *testing.T) {
	t.Parallel()
	run := &flow.Run{State: flow.RunRunning, RunSeq: 1, Seq: 5}
	steps := []flow.Step{{Path: "o", Node: "o", Seq: 4, OutputSeq: 5, Outputs: map[string]any{"value": "v"}}, {Path: "a", Node: "a", Seq: 3}}
	outputs := []contract.Output{{Node: "o", Name: "answer"}}
	for after, want := range map[int64][]int64{0: {1, 3, 4, 5}, 1: {3, 4, 5}, 4: {5}, 5: nil} {
		events := contract.EventsAfter(run, steps, outputs, after)
		if len(events) != len(want) {
			t.Fatalf("after %d: %+v", after, events)
		}
		for i, e := range events {
			if e.Seq != want[i] || (e.Seq == 5) != (e.Output != nil) || e.Output != nil && (e.Output.Name != "answer" || e.Output.Value != "v") {
				t.Errorf("after %d: %+v", after, e)
			}
		}
	}
}

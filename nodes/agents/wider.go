package agents

import (
	"context"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/providers"
)

// Wider is the output of a turn that names the tools whose flows can do more than when the flow of the agent was published: by node,
// what they do now. What follows from it must not change when the flows change again, so the turn that makes the calls records it.
const Wider = "wider"

// NoteWider adds Wider to the outputs of a turn with calls. What tools can do changes only with the flows that they run.
func NoteWider(ctx context.Context, in *flow.In, outputs map[string]any) error {
	items, _ := outputs["items"].([]providers.Item)
	with, _ := in.Ports[Port].(*Turn)
	if in.Widened == nil || with == nil || !with.RunsFlows || !slices.ContainsFunc(items, func(item providers.Item) bool { return item.Call != nil }) {
		return nil
	}
	found, err := in.Widened(ctx)
	if err != nil {
		return fmt.Errorf("compare what tools can do: %w", err)
	}
	if len(found) == 0 {
		return nil
	}
	wider := map[string]any{}
	for node, more := range found {
		list := make([]any, len(more))
		for i, phrase := range more {
			list[i] = phrase
		}
		wider[node] = list
	}
	outputs[Wider] = wider
	return nil
}

// widerTools reads Wider from the outputs of a turn.
func widerTools(outputs map[string]any) map[string][]string {
	recorded, ok := flow.AsObject(outputs[Wider])
	if !ok {
		return nil
	}
	wider := map[string][]string{}
	for node, v := range recorded.All() {
		list, _ := v.([]any)
		for _, phrase := range list {
			wider[node] = append(wider[node], flow.Text(phrase))
		}
	}
	return wider
}

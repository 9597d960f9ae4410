package engine

import (
	"fmt"
	"maps"

	"sluice/flow"
	"sluice/flow/sorting"
)

// normalizeOutputs converts the outputs and the suspension state of a kind to plain values, so
// that the next node receives exactly what is stored. It returns an error for anything that
// cannot be converted.
func normalizeOutputs(o *flow.Out) error {
	for _, port := range sorting.Keys(o.Outputs) {
		v, changed, err := flow.AsValue(o.Outputs[port], flow.MaxValueDepth)
		if err != nil {
			return fmt.Errorf("output %s: %w", port, err)
		}
		if changed {
			o.Outputs = maps.Clone(o.Outputs)
			o.Outputs[port] = v
		}
	}
	if o.Suspend == nil {
		return nil
	}
	state, _, err := flow.AsValue(o.Suspend.State, flow.MaxValueDepth)
	if err != nil {
		return fmt.Errorf("state of the suspension: %w", err)
	}
	o.Suspend = &flow.Suspension{Until: o.Suspend.Until, State: state, Event: o.Suspend.Event}
	return nil
}

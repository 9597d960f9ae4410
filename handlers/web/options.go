package web

import (
	"slices"

	"sluice/views/components"
)

// MaxOptions bounds the flows and keys that a page offers to choose from: one with thousands of them would be
// slow. Pages of flows and keys link to their runs, usage and alarms.
const MaxOptions = 100

// BoundOptions returns at most MaxOptions options, among them the one that is selected.
func BoundOptions(list []components.Option, selected string) []components.Option {
	if len(list) <= MaxOptions {
		return list
	}
	short := slices.Clone(list[:MaxOptions])
	if i := slices.IndexFunc(list, func(o components.Option) bool { return o.Value == selected }); i >= MaxOptions {
		short[MaxOptions-1] = list[i]
	}
	return short
}

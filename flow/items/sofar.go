package items

import (
	"slices"
	"strings"

	"sluice/flow"
)

// PartialOutput is an output of a flow while the items of a map still run.
type PartialOutput struct {
	Name   string
	Values []any // of the first items, in their order; nil for one that failed
}

// ownPorts are the outputs of a map that do not list one output of each item.
var ownPorts = []string{"results", "file", "errors", "succeeded", "failed"}

// SoFar returns the outputs of a flow that the step at path fills with a list, with the
// values of its first items. It stops at the first item that has not ended, because lists
// are in the order of items: what is returned never changes any more.
func SoFar(d *flow.Document, path string, first []flow.ChildResult) (list []PartialOutput) {
	ended := 0
	for ended < len(first) && first[ended].Item == ended && first[ended].State.Ended() {
		ended++
	}
	if ended == 0 {
		return nil
	}
	for _, e := range d.Edges {
		port, ok := strings.CutPrefix(e.From, path+".")
		n := d.Node(e.ToNode())
		if !ok || slices.Contains(ownPorts, port) || n == nil || n.Kind != "output" {
			continue
		}
		out := PartialOutput{Name: flow.Text(n.Config["name"])}
		for i := range first[:ended] {
			out.Values = append(out.Values, first[i].Outputs[strings.TrimPrefix(port, "output.")])
		}
		list = append(list, out)
	}
	return list
}

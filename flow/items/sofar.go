package items

import (
	"slices"
	"strings"

	"sluice/flow"
)

// PartialOutput is the value so far of an output that a running map fills.
type PartialOutput struct {
	Name   string
	Values []any // of the first items, in their order; nil for one that failed
}

// ownPorts are the output ports of a map that do not collect an output of its items.
var ownPorts = []string{"results", "file", "errors", "succeeded", "failed"}

// SoFar returns the outputs of a flow that the map at path fills, with the values of its
// first items. It stops at the first item that has not ended, because lists have the order
// of the items: returned values never change later.
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
			out.Values = append(out.Values, first[i].Outputs.Get(strings.TrimPrefix(port, "output.")))
		}
		list = append(list, out)
	}
	return list
}

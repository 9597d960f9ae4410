package document

import (
	"context"
	"fmt"
	"testing"

	"sluice/flow"
)

// TestPlaceRest_leaves_room_for_ports places a node with many outputs above another.
func TestPlaceRest_leaves_room_for_ports(t *testing.T) {
	t.Parallel()
	kind := func(name string, outputs int) flow.Kind {
		k := flow.Kind{Name: name, Title: name, Summary: "Test.", Group: "test", Run: func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil }}
		for i := range outputs {
			k.Outputs = append(k.Outputs, flow.Port{Name: fmt.Sprint("o", i), Title: "O", Type: flow.TypeText})
		}
		return k
	}
	kinds := flow.NewRegistry(kind("small", 7), kind("large", 9))
	d := &flow.Document{Nodes: []flow.Node{{ID: "a", Kind: "small"}, {ID: "b", Kind: "large"}, {ID: "c", Kind: "unknown"}, {ID: "d", Kind: "small"}}}
	PlaceRest(d, kinds)
	for i, row := range []float64{0, 1, 3, 4} {
		if got := d.Nodes[i].Position.Y; got != row*RowHeight {
			t.Errorf("%s is at %v, want row %v", d.Nodes[i].ID, got, row)
		}
	}
}

// TestPlaceRest_hangs_tools_below_their_agent places tools in a row below all other nodes, also a tool that another node feeds.
func TestPlaceRest_hangs_tools_below_their_agent(t *testing.T) {
	t.Parallel()
	d := &flow.Document{
		Nodes: []flow.Node{{ID: "in"}, {ID: "find", Tool: &flow.Tool{}}, {ID: "refund", Tool: &flow.Tool{}}, {ID: "agent"}, {ID: "out"}},
		Edges: []flow.Edge{{From: "in.value", To: "agent.text"}, {From: "in.value", To: "refund.order"}, {From: "find.tool", To: "agent.tools"}, {From: "refund.tool", To: "agent.tools"}, {From: "agent.text", To: "out.value"}},
	}
	PlaceRest(d, flow.NewRegistry())
	var got []string
	for i := range d.Nodes {
		got = append(got, fmt.Sprint(d.Nodes[i].ID, *d.Nodes[i].Position))
	}
	if want := "[in{0 0} find{130 220} refund{390 220} agent{260 0} out{520 0}]"; fmt.Sprint(got) != want {
		t.Errorf("placed %v, want %s", got, want)
	}
}

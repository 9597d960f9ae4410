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

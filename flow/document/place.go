package document

import "sluice/flow"

// The grid for nodes without a position, in canvas units. A node is 176 wide (canvas.css), and few
// are higher than 200. One with many ports takes several rows.
const (
	ColumnWidth = 260
	RowHeight   = 220

	withoutPorts = 80 // height of a node without its ports
	portHeight   = 20
)

// PlaceRest sets the position of every node without one: in columns, each to the right of the
// nodes it depends on, and below all nodes with a position. Documents written by hand or by
// programs often have no positions.
func PlaceRest(d *flow.Document, kinds *flow.Registry) {
	top := 0.0
	for i := range d.Nodes {
		if p := d.Nodes[i].Position; p != nil {
			top = max(top, p.Y+2*RowHeight)
		}
	}
	columns, rows := columnsOf(d), map[int]int{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Position != nil {
			continue
		}
		column := columns[n.ID]
		n.Position = &flow.Position{X: float64(column * ColumnWidth), Y: top + float64(rows[column]*RowHeight)}
		rows[column] += rowsOf(n, kinds)
	}
}

// rowsOf returns how many rows of the grid a node takes.
func rowsOf(n *flow.Node, kinds *flow.Registry) int {
	k := kinds.For(n)
	if k == nil {
		return 1
	}
	ports := len(flow.OutputPorts(n, k)) // of the inputs, only those with an edge are shown
	return 1 + (withoutPorts+portHeight*ports-1)/RowHeight
}

// columnsOf returns the length of the longest path to each node. Cycles, which a draft may have,
// end the path.
func columnsOf(d *flow.Document) map[string]int {
	feeds, waits := map[string][]string{}, map[string]int{}
	for _, e := range d.Edges {
		from, to := e.FromNode(), e.ToNode()
		feeds[from] = append(feeds[from], to)
		waits[to]++
	}
	var ready []string
	for i := range d.Nodes {
		if id := d.Nodes[i].ID; waits[id] == 0 {
			ready = append(ready, id)
		}
	}
	column := map[string]int{}
	for len(ready) > 0 {
		id := ready[0]
		ready = ready[1:]
		for _, to := range feeds[id] {
			column[to] = max(column[to], column[id]+1)
			if waits[to]--; waits[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	return column
}

// KeepPlaces gives nodes without a position the position of the node with the same ID in another
// document.
func KeepPlaces(d *flow.Document, was *flow.Document) {
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Position == nil {
			if old := was.Node(n.ID); old != nil {
				n.Position = old.Position
			}
		}
	}
}

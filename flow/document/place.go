package document

import "sluice/flow"

// Where nodes that nobody has placed are put, in units of the canvas: there a node
// is 176 wide (canvas.css), and few are higher than 200.
const (
	ColumnWidth = 260
	RowHeight   = 220
)

// PlaceRest puts every node without a position in columns, each to the right of
// what feeds it, and below the nodes that have one: documents written by hand or
// by programs often have none, and would lie in one heap.
func PlaceRest(d *flow.Document) {
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
		rows[column]++
	}
}

// columnsOf counts the edges on the longest way to each node. Circles, which a
// draft may have, end the count.
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

// KeepPlaces gives nodes without a position that of their namesakes.
func KeepPlaces(d *flow.Document, was *flow.Document) {
	for i := range d.Nodes {
		if n := &d.Nodes[i]; n.Position == nil {
			if old := was.Node(n.ID); old != nil {
				n.Position = old.Position
			}
		}
	}
}

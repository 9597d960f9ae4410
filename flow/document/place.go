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
// nodes it depends on, and below all nodes with a position. Tools come last, side by side below
// the node that they belong to. Documents written by hand or by programs often have no positions.
func PlaceRest(d *flow.Document, kinds *flow.Registry) {
	top := 0.0
	for i := range d.Nodes {
		if p := d.Nodes[i].Position; p != nil {
			top = max(top, p.Y+2*RowHeight)
		}
	}
	users := toolUsers(d)
	columns, rows := columnsOf(d, users), map[int]int{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Position != nil || users[n.ID] != "" {
			continue
		}
		column := columns[n.ID]
		n.Position = &flow.Position{X: float64(column * ColumnWidth), Y: top + float64(rows[column]*RowHeight)}
		rows[column] += rowsOf(n, kinds)
	}
	placeTools(d, kinds, users)
}

// toolUsers returns the node that each tool without a position belongs to, by the ID of the tool.
func toolUsers(d *flow.Document) map[string]string {
	users := map[string]string{}
	for _, e := range d.Edges {
		tool, user := d.Node(e.FromNode()), d.Node(e.ToNode())
		if tool != nil && user != nil && tool != user && tool.Tool != nil && user.Tool == nil && tool.Position == nil && e.From == tool.ID+"."+flow.ToolPort {
			users[tool.ID] = user.ID
		}
	}
	return users
}

// placeTools sets the positions of tools: in one row below all other nodes, centered below the node that they belong to as far as there is room.
func placeTools(d *flow.Document, kinds *flow.Registry, users map[string]string) {
	below, of := 0.0, map[string]int{}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		if n.Position != nil {
			below = max(below, n.Position.Y+float64(rowsOf(n, kinds)*RowHeight))
		}
		if users[n.ID] != "" {
			of[users[n.ID]]++
		}
	}
	free := 0.0 // left end of the rest of the row
	for i := range d.Nodes {
		user := &d.Nodes[i]
		if of[user.ID] == 0 {
			continue
		}
		x := max(free, user.Position.X-float64((of[user.ID]-1)*ColumnWidth)/2)
		for k := range d.Nodes {
			if tool := &d.Nodes[k]; users[tool.ID] == user.ID {
				tool.Position = &flow.Position{X: x, Y: below}
				x += ColumnWidth
			}
		}
		free = x
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

// columnsOf returns the length of the longest path to each node that is no tool. Cycles, which a
// draft may have, end the path.
func columnsOf(d *flow.Document, tools map[string]string) map[string]int {
	feeds, waits := map[string][]string{}, map[string]int{}
	for _, e := range d.Edges {
		from, to := e.FromNode(), e.ToNode()
		if tools[from] != "" || tools[to] != "" {
			continue
		}
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

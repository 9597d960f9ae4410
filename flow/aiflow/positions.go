package aiflow

import "sluice/flow"

// The grid that nodes without coordinates are laid on, in canvas units.
const (
	columnWidth = 320
	rowHeight   = 180
)

// place puts every node where it was. Nodes that the file gives no coordinates
// are laid in columns, each to the right of what feeds it, below the others.
func (c *conversion) place() {
	top, any := 0.0, false
	for _, s := range c.sources {
		if s.id != "" && s.at != nil {
			c.d.Node(s.id).Position = s.at
			top, any = max(top, s.at.Y), true
		}
	}
	if any {
		top += 2 * rowHeight
	}
	rows := map[int]int{}
	columns := c.columns()
	for _, s := range c.sources {
		if s.id == "" || s.at != nil {
			continue
		}
		column := columns[s.id]
		c.d.Node(s.id).Position = &flow.Position{X: float64(column * columnWidth), Y: top + float64(rows[column]*rowHeight)}
		rows[column]++
	}
}

// columns counts the edges on the longest way to each node. Circles, which a
// file may have, end the count.
func (c *conversion) columns() map[string]int {
	feeds := map[string][]string{}
	waits := map[string]int{}
	for i, e := range c.d.Edges {
		from, to := before(e.From), c.arrived[i].to.id
		feeds[from] = append(feeds[from], to)
		waits[to]++
	}
	column := map[string]int{}
	var ready []string
	for i := range c.d.Nodes {
		if id := c.d.Nodes[i].ID; waits[id] == 0 {
			ready = append(ready, id)
		}
	}
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

// before is the node of a port.
func before(port string) string {
	for i := range len(port) {
		if port[i] == '.' {
			return port[:i]
		}
	}
	return port
}

package aiflow

import "sluice/flow/document"

// placeNodes keeps the positions of the file. Nodes without one are placed below the
// others.
func (c *conversion) placeNodes() {
	for _, s := range c.sources {
		if s.id != "" && s.position != nil {
			c.d.Node(s.id).Position = s.position
		}
	}
	document.PlaceRest(c.d, c.kinds)
}

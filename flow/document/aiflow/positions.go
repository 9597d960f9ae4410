package aiflow

import "sluice/flow/document"

// place puts every node where it was, and those that the file gives no
// coordinates below them.
func (c *conversion) place() {
	for _, s := range c.sources {
		if s.id != "" && s.at != nil {
			c.d.Node(s.id).Position = s.at
		}
	}
	document.PlaceRest(c.d)
}

package document

import (
	"regexp"

	"sluice/flow"
)

// numberedID is an ID that the builder gave to a second node of a kind: template_2.
var numberedID = regexp.MustCompile(`^(.+)_(\d+)$`)

// NodeTitle returns what people call a node in texts: its label; for inputs and outputs
// the name that the API uses; the title of its kind, with a number if it has one
// ("Template 2"), when the builder made the ID; or else the ID that a person chose. k is the
// node's kind, nil if that is unknown.
func NodeTitle(n *flow.Node, k *flow.Kind) string {
	if n.Label != "" {
		return n.Label
	}
	if k == nil {
		return n.ID
	}
	if name, ok := n.Config["name"].(string); ok && name != "" && (k.Role == flow.RoleInput || k.Role == flow.RoleOutput) {
		return name
	}
	if n.ID == n.Kind {
		return k.Title
	}
	if m := numberedID.FindStringSubmatch(n.ID); m != nil && m[1] == n.Kind {
		return k.Title + " " + m[2]
	}
	return n.ID
}

package document

import (
	"regexp"

	"sluice/flow"
)

// numberedID is an ID that the builder gave to a second node of a kind: template_2.
var numberedID = regexp.MustCompile(`^(.+)_(\d+)$`)

// NodeTitle returns the name of a node in texts for users: its label; for inputs and outputs, the
// name in the API; if the builder generated the ID, the title of its kind with the number in the
// ID ("Template 2"); or else the ID. k is the kind of the node, or nil if it is unknown.
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

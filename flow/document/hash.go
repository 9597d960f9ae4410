package document

import (
	"sluice/flow"
	"sluice/flow/value"
)

// NodeHash returns the hash of the kind and the config of a node, which together with its input determine its result.
func NodeHash(n *flow.Node) string { return flow.Hash(value.Canonical([]any{n.Kind, n.Config})) }

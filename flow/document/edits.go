package document

import (
	"time"

	"sluice/flow"
)

// Edit is one change of a draft. Op determines which other fields are used; MarshalJSON defines
// the JSON format.
type Edit struct {
	Op          string
	Places      map[string]*flow.Position // move: by node ID; nil removes the position
	New         *flow.Node                // add
	Groups      []Membership              // add: the groups that the node joins
	Nodes       []string                  // remove
	Cut         []flow.Edge               // remove: the edges removed with the nodes; set when it is applied
	Edge        flow.Edge                 // connect, disconnect
	Node        string                    // set, put
	Field       string                    // set: a config field
	Member      string                    // put: label, color, disabled, retry, timeout_s or on_error
	Value       any                       // set, put
	Unset       bool                      // set, put: remove the value
	ID          string                    // group
	Group       *flow.Group               // group: nil removes it
	Name        *string                   // name
	Description *string                   // name
	// At is an index: among the edges of the port for connect and disconnect, among the nodes
	// for add, among the groups for group. An add with an index restores a node: it is skipped,
	// and not rejected, if the ID is in use again.
	At *int
	// Place is the index among all edges of an edge that a connect restores. It is ignored
	// unless it is consistent with At.
	Place *int
}

// The operations of an Edit.
const (
	OpMove       = "move"
	OpAdd        = "add"
	OpRemove     = "remove"
	OpConnect    = "connect"
	OpDisconnect = "disconnect"
	OpSet        = "set"
	OpPut        = "put"
	OpGroup      = "group"
	OpName       = "name"
)

// Membership is the index of a node in a group.
type Membership struct {
	Group string `json:"id"`
	At    int    `json:"at"`
}

// Limits of a transaction that a client sends, which holds the changes of one gesture.
const (
	MaxEdits     = 2000
	MaxEditBytes = 1 << 20
)

// Skipped is an edit of a transaction that was not applied because another edit had removed its
// subject.
type Skipped struct {
	Op     int    `json:"op"` // index in the transaction
	Code   string `json:"code"`
	Node   string `json:"node,omitempty"`
	Detail string `json:"detail"`
}

// Codes of skipped edits.
const (
	SkippedNodeGone   = "node_gone"
	SkippedEdgeGone   = "edge_gone"
	SkippedGroupGone  = "group_gone"
	SkippedNodeExists = "node_exists" // a node to be restored, but its ID is in use again
	SkippedEdgeExists = "edge_exists"
)

// EditTx is a transaction in the edit log of a draft.
type EditTx struct {
	Rev       int64     `json:"rev"` // of the draft after it
	TxID      string    `json:"txid"`
	Tab       string    `json:"tab"`
	UserID    string    `json:"user"`
	CreatedAt time.Time `json:"created_at"`
	Ops       []Edit    `json:"ops"` // as applied
	Inverse   []Edit    `json:"-"`   // edits that undo it; empty in lists
	Skipped   []Skipped `json:"-"`   // empty in lists
}

// MarshalJSON writes the members that belong to the operation.
func (e Edit) MarshalJSON() ([]byte, error) {
	m := map[string]any{"op": e.Op}
	optional := func(name string, n *int) {
		if n != nil {
			m[name] = *n
		}
	}
	switch e.Op {
	case OpMove:
		m["nodes"] = e.Places
	case OpAdd:
		m["node"] = e.New
		optional("at", e.At)
		if len(e.Groups) > 0 {
			m["groups"] = e.Groups
		}
	case OpRemove:
		m["nodes"] = e.Nodes
		if len(e.Cut) > 0 {
			m["edges"] = e.Cut
		}
	case OpConnect, OpDisconnect:
		m["edge"] = e.Edge
		optional("at", e.At)
		optional("place", e.Place)
	case OpSet, OpPut:
		e.writeValue(m)
	case OpGroup:
		m["id"] = e.ID
		optional("at", e.At)
		if e.Group != nil {
			m["group"] = e.Group
		}
	case OpName:
		e.writeNames(m)
	}
	return flow.EncodeJSON(m), nil
}

// writeValue adds the members of a set or a put. Without "value" the member is removed,
// which differs from the value null.
func (e *Edit) writeValue(m map[string]any) {
	m["node"] = e.Node
	if e.Op == OpSet {
		m["field"] = e.Field
	} else {
		m["member"] = e.Member
	}
	if !e.Unset {
		m["value"] = e.Value
	}
}

// writeNames adds the members of a rename; absent ones are not changed.
func (e *Edit) writeNames(m map[string]any) {
	if e.Name != nil {
		m["name"] = *e.Name
	}
	if e.Description != nil {
		m["description"] = *e.Description
	}
}

// UnmarshalJSON reads an edit strictly.
func (e *Edit) UnmarshalJSON(data []byte) error {
	v, err := flow.DecodeJSON(data)
	if err != nil {
		return err
	}
	r := &reader{}
	*e = r.edit(v, "")
	if len(r.problems) > 0 {
		return &flow.ProblemError{Problem: r.problems[0]}
	}
	return nil
}

// Changed lists the nodes that look different after the edits, in the order of the edits and
// without duplicates: nodes with changed content, and nodes whose fields became connected or
// disconnected. It excludes moved and removed nodes.
func Changed(ops []Edit) []string {
	c := changedNodes{place: map[string]int{}}
	for i := range ops {
		c.edit(&ops[i])
	}
	var list []string
	for i, id := range c.list {
		if c.place[id] == i+1 {
			list = append(list, id)
		}
	}
	return list
}

// changedNodes collects node IDs. place is the index in list plus 1; 0 means not in the list.
type changedNodes struct {
	list  []string
	place map[string]int
}

// note adds a node once, in the order of the first change.
func (c *changedNodes) note(id string) {
	if c.place[id] == 0 {
		c.list = append(c.list, id)
		c.place[id] = len(c.list)
	}
}

// edit notes the nodes that look different after an edit. An edge changes its target node.
func (c *changedNodes) edit(e *Edit) {
	switch e.Op {
	case OpAdd:
		c.note(e.New.ID)
	case OpSet, OpPut:
		c.note(e.Node)
	case OpConnect, OpDisconnect:
		id, _ := e.Edge.Target()
		c.note(id)
	case OpRemove:
		for _, cut := range e.Cut {
			id, _ := cut.Target()
			c.note(id)
		}
		for _, id := range e.Nodes {
			c.place[id] = 0
		}
	}
}

// ByNode groups problems by node. Problems of an edge belong to its target node, problems of the
// whole flow to "".
func ByNode(d *flow.Document, problems []flow.Problem) map[string][]flow.Problem {
	m := map[string][]flow.Problem{}
	for _, p := range problems {
		node := p.Node
		if node == "" {
			node = nodeAt(d, p.Pointer)
		}
		m[node] = append(m[node], p)
	}
	return m
}

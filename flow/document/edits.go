package document

import (
	"time"

	"sluice/flow"
)

// Edit is one change of a draft. Which members count is decided by Op; people
// and programs write it as JSON (see MarshalJSON).
type Edit struct {
	Op          string
	Places      map[string]*flow.Position // move: nil takes the position away
	New         *flow.Node                // add
	Groups      []Membership              // add: the groups that the node joins
	Nodes       []string                  // remove
	Cut         []flow.Edge               // remove: the edges that went with the nodes, known once it is carried out
	Edge        flow.Edge                 // connect, disconnect
	Node        string                    // set, put
	Field       string                    // set: a config field
	Member      string                    // put: label, color, disabled, retry, timeout_s or on_error
	Value       any                       // set, put
	Unset       bool                      // set, put: there is no value, so what is there is taken out
	ID          string                    // group
	Group       *flow.Group               // group: nil removes it
	Name        *string                   // name
	Description *string                   // name
	// At is a place: among the edges of the port for connect and disconnect,
	// among the nodes for add, among the groups for group. An add with a place
	// puts a node back: when its ID is in use again, it is skipped and not refused.
	At *int
	// Place is where among all edges an edge stood, of a connect that puts it
	// back. It only counts while it agrees with At.
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

// Membership is a node's place in a group.
type Membership struct {
	Group string `json:"id"`
	At    int    `json:"at"`
}

// Limits of a transaction that a client sends, which is what one gesture changes.
const (
	MaxEdits     = 2000
	MaxEditBytes = 1 << 20
)

// Skipped says what of a transaction was left out, and why: somebody else had
// removed what it was about.
type Skipped struct {
	Op     int    `json:"op"` // its place in the transaction
	Code   string `json:"code"`
	Node   string `json:"node,omitempty"`
	Detail string `json:"detail"`
}

// Codes of what is skipped.
const (
	SkippedNodeGone   = "node_gone"
	SkippedEdgeGone   = "edge_gone"
	SkippedGroupGone  = "group_gone"
	SkippedNodeExists = "node_exists" // a node was to be put back, but its ID is in use again
	SkippedEdgeExists = "edge_exists"
)

// EditTx is a transaction of a draft as the log keeps it.
type EditTx struct {
	Rev       int64     `json:"rev"` // of the draft after it
	TxID      string    `json:"txid"`
	Tab       string    `json:"tab"`
	UserID    string    `json:"user"`
	CreatedAt time.Time `json:"created_at"`
	Ops       []Edit    `json:"ops"` // what was carried out
	Inverse   []Edit    `json:"-"`   // what takes it back; empty in lists
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

// Changed lists the nodes that look different after the edits, each once in
// the order of the edits: their own content, or which of their fields are fed
// by an edge. Moves and nodes that are gone are not among them.
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

// changedNodes gathers IDs; place is 1 for the first, and 0 for none.
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

// edit notes the nodes that look different after an edit. An edge changes the node that it
// arrives at, whose port is fed or no longer fed.
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

// ByNode sorts problems by the node that they belong to; that of an edge is
// the node that it arrives at, and "" has those of the whole flow.
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

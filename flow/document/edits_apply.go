package document

import (
	"fmt"
	"maps"
	"slices"

	"sluice/flow"
)

// Edited is what edits make of a document.
type Edited struct {
	Document *flow.Document
	Ops      []Edit // what was carried out, to be sent to others
	Inverse  []Edit // what takes it back
	Skipped  []Skipped
}

// ApplyEdits carries out a transaction on a copy of a document. It is tolerant
// of what others have removed: that is skipped and reported. An edit that would
// break the form of the document refuses all of them with an *Error of
// CodeEditsInvalid; whether the nodes make sense is for Validate.
//
// The old document stays as it was. It shares with the new one what the edits
// leave alone, and values with the edits, so none of them may be changed later.
func ApplyEdits(d *flow.Document, ops []Edit) (*Edited, error) {
	b := newEditor(d)
	if err := b.all(ops); err != nil {
		return nil, err
	}
	return b.result(), nil
}

// editor carries out edits one after the other.
type editor struct {
	d         *flow.Document
	before    *flow.Document    // as it was
	kinds     *flow.Registry    // when known, literal secrets are extracted
	extractor *secretExtractor  // nil unless kinds are known
	moved     []ExtractedSecret // secrets that were taken out of the document
	index     map[string]int    // node ID to place; nil while it is out of date
	owned     map[string]bool   // nodes whose config is a copy already
	apart     map[string]bool   // nodes that could not be put back: their IDs are somebody else's now
	op        int               // the place of the edit being carried out
	done      []Edit
	undo      [][]Edit // what takes back each thing done, in the order they were done
	skipped   []Skipped
	refused   *flow.Problem
}

// newEditor returns an editor on a shallow copy of the document: the lists are copied, nodes
// are shared until own copies one. A draft of 500 nodes is thus edited without copying their configs.
func newEditor(d *flow.Document) *editor {
	copied := *d
	copied.Nodes, copied.Edges, copied.Groups = slices.Clone(d.Nodes), slices.Clone(d.Edges), slices.Clone(d.Groups)
	for i := range copied.Groups {
		copied.Groups[i].Nodes = slices.Clone(d.Groups[i].Nodes)
	}
	return &editor{d: &copied, before: d, owned: map[string]bool{}, apart: map[string]bool{}, done: []Edit{}, skipped: []Skipped{}}
}

// carriers carry out each operation.
var carriers = map[string]func(*editor, *Edit){
	OpMove: (*editor).move, OpAdd: (*editor).add, OpRemove: (*editor).remove, OpConnect: (*editor).connect,
	OpDisconnect: (*editor).disconnect, OpSet: (*editor).set, OpPut: (*editor).put, OpGroup: (*editor).group, OpName: (*editor).name,
}

// all applies the edits in order and stops at the first that is refused: a transaction is
// applied as a whole or not at all. Edits whose subject is gone are skipped instead.
func (b *editor) all(ops []Edit) error {
	for i := range ops {
		b.op = i
		carry := carriers[ops[i].Op]
		if carry == nil {
			b.refuse("/op", "unknown", "", "there is no operation %q", ops[i].Op)
		} else {
			carry(b, &ops[i])
		}
		if b.refused != nil {
			return EditsInvalid([]flow.Problem{*b.refused})
		}
	}
	return nil
}

// result returns the new document and the inverse. The inverses of the edits are undone in
// reverse order.
func (b *editor) result() *Edited {
	slices.Reverse(b.undo)
	inverse := append([]Edit{}, slices.Concat(b.undo...)...)
	return &Edited{Document: b.d, Ops: b.done, Inverse: inverse, Skipped: b.skipped}
}

// did records an edit as it was applied, with the edits that undo it.
func (b *editor) did(e Edit, undo ...Edit) {
	b.done, b.undo = append(b.done, e), append(b.undo, undo)
}

// refuse rejects the whole transaction because of the current edit.
func (b *editor) refuse(pointer, code, node, format string, args ...any) {
	b.refused = &flow.Problem{Pointer: flow.Pointer(b.op) + pointer, Code: code, Node: node, Detail: fmt.Sprintf(format, args...)}
}

// skip leaves the current edit out and reports why.
func (b *editor) skip(code, node, format string, args ...any) {
	b.skipped = append(b.skipped, Skipped{Op: b.op, Code: code, Node: node, Detail: fmt.Sprintf(format, args...)})
}

// place is where the node of an ID stands, or -1.
func (b *editor) place(id string) int {
	if b.index == nil {
		b.index = make(map[string]int, len(b.d.Nodes))
		for i := range b.d.Nodes {
			b.index[b.d.Nodes[i].ID] = i
		}
	}
	if i, ok := b.index[id]; ok {
		return i
	}
	return -1
}

// find is the place of a node that an edit is about, or -1 after reporting
// that it is skipped.
func (b *editor) find(id string) int {
	i := b.place(id)
	switch {
	case i < 0:
		b.skip(SkippedNodeGone, id, "the node %s is not there any more", id)
	case b.apart[id]:
		b.skip(SkippedNodeExists, id, "the node %s is another one now", id)
		i = -1
	}
	return i
}

// node returns a node to read from, or nil after reporting that the edit is skipped; see own
// for writing to its config.
func (b *editor) node(id string) *flow.Node {
	if i := b.find(id); i >= 0 {
		return &b.d.Nodes[i]
	}
	return nil
}

// move places nodes on the canvas. Nodes that are gone are skipped one by one, since a drag
// of many nodes must not fail because of one.
func (b *editor) move(e *Edit) {
	to, from := map[string]*flow.Position{}, map[string]*flow.Position{}
	for _, id := range flow.SortedNames(e.Places) {
		if n := b.node(id); n != nil {
			from[id], to[id] = n.Position, e.Places[id]
			n.Position = e.Places[id]
		}
	}
	if len(to) > 0 {
		b.did(Edit{Op: OpMove, Places: to}, Edit{Op: OpMove, Places: from})
	}
}

// set writes or removes one config field.
func (b *editor) set(e *Edit) {
	n := b.node(e.Node)
	if n == nil {
		return
	}
	old, had := n.Config[e.Field]
	b.own(n)
	if e.Unset {
		delete(n.Config, e.Field)
	} else {
		n.Config[e.Field] = e.Value
	}
	more := b.extractSecrets(n, e.Field)
	done := *e
	done.Value = n.Config[e.Field]
	b.did(done, Edit{Op: OpSet, Node: e.Node, Field: e.Field, Value: old, Unset: !had})
	b.done = append(b.done, more...)
}

// own makes the config of a node a copy that may be written to.
func (b *editor) own(n *flow.Node) {
	if b.owned[n.ID] {
		return
	}
	b.owned[n.ID] = true
	if n.Config = maps.Clone(n.Config); n.Config == nil {
		n.Config = map[string]any{}
	}
}

// put writes or removes a member beside the config, such as the label.
func (b *editor) put(e *Edit) {
	n := b.node(e.Node)
	if n == nil {
		return
	}
	if !isMember(e.Member) {
		b.refuse("/member", "unknown", e.Node, "%q cannot be put", e.Member)
		return
	}
	from, problems := memberOf(e, flow.Pointer(b.op))
	if len(problems) > 0 {
		b.refused = &problems[0]
		return
	}
	old, had := NodeMember(n, e.Member)
	putMember(n, e.Member, &from)
	b.did(*e, Edit{Op: OpPut, Node: e.Node, Member: e.Member, Value: old, Unset: !had})
}

// name renames the flow or changes its description.
func (b *editor) name(e *Edit) {
	undo := Edit{Op: OpName}
	if e.Name != nil {
		if old := b.d.Name; old != "" {
			undo.Name = &old
		}
		if r := flow.HiddenRune(*e.Name); r != 0 && *e.Name != b.d.Name {
			b.refuse("/name", "invalid", "", "there is a character in the name that does not show (%U); type it again without", r)
			return
		}
		b.d.Name = *e.Name
	}
	if e.Description != nil {
		old := b.d.Description
		undo.Description, b.d.Description = &old, *e.Description
	}
	if b.d.Name == "" && e.Name != nil {
		b.refuse("/name", "required", "", "a flow needs a name")
		return
	}
	b.did(*e, undo)
}

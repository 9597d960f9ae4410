package document

import (
	"fmt"
	"maps"
	"slices"

	"sluice/flow"
	"sluice/flow/sorting"
)

// Edited is the result of edits to a document.
type Edited struct {
	Document *flow.Document
	Ops      []Edit // as applied, to be sent to other editors
	Inverse  []Edit // edits that undo them
	Skipped  []Skipped
}

// ApplyEdits applies a transaction to a copy of a document. It skips and reports edits whose
// subject was removed by someone else. If an edit would make the document malformed, it applies
// none and returns CodeEditsInvalid. It does not validate the nodes; see Validate.
//
// The old document is not changed. It shares unchanged parts with the new document, which also
// shares values with the edits, so none of them may be modified later.
func ApplyEdits(d *flow.Document, ops []Edit) (*Edited, error) {
	b := newEditor(d)
	if err := b.all(ops); err != nil {
		return nil, err
	}
	return b.result(), nil
}

// editor applies edits one after the other.
type editor struct {
	d         *flow.Document
	before    *flow.Document                         // the original
	kinds     *flow.Registry                         // if set, literal secrets are extracted
	extractor *secretExtractor                       // nil unless kinds is set
	written   map[string]bool                        // nodes with fields that were set, whose secrets are not extracted yet
	moved     map[string]map[string]*ExtractedSecret // secrets that were taken out of the document, by node and secret
	index     map[string]int                         // node ID to index; nil if outdated
	owned     map[string]bool                        // nodes whose config is a copy already
	apart     map[string]bool                        // nodes that could not be restored because their IDs are in use
	op        int                                    // index of the current edit
	done      []Edit
	undo      [][]Edit // edits that undo each applied edit, in the order of application
	skipped   []Skipped
	refused   *flow.Problem
}

// newEditor returns an editor on a shallow copy of the document: the lists are copied, nodes are
// shared until own copies one. So editing a draft of 500 nodes does not copy their configs.
func newEditor(d *flow.Document) *editor {
	copied := *d
	copied.Nodes, copied.Edges, copied.Groups = slices.Clone(d.Nodes), slices.Clone(d.Edges), slices.Clone(d.Groups)
	for i := range copied.Groups {
		copied.Groups[i].Nodes = slices.Clone(d.Groups[i].Nodes)
	}
	return &editor{d: &copied, before: d, owned: map[string]bool{}, written: map[string]bool{}, moved: map[string]map[string]*ExtractedSecret{}, apart: map[string]bool{}, done: []Edit{}, skipped: []Skipped{}}
}

// appliers maps each operation to the method that applies it.
var appliers = map[string]func(*editor, *Edit){
	OpMove: (*editor).move, OpAdd: (*editor).add, OpRemove: (*editor).remove, OpConnect: (*editor).connect,
	OpDisconnect: (*editor).disconnect, OpSet: (*editor).set, OpPut: (*editor).put, OpGroup: (*editor).group, OpName: (*editor).name,
}

// all applies the edits in order and stops at the first rejected one, because a transaction is
// applied completely or not at all. Edits whose subject is gone are skipped instead.
func (b *editor) all(ops []Edit) error {
	for i := range ops {
		b.op = i
		apply := appliers[ops[i].Op]
		if apply == nil {
			b.refuse("/op", "unknown", "", "there is no operation %q", ops[i].Op)
		} else {
			apply(b, &ops[i])
		}
		if b.refused != nil {
			return EditsInvalid([]flow.Problem{*b.refused})
		}
	}
	return nil
}

// result returns the new document and the inverse, which undoes the edits in reverse order.
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

// skip records that the current edit is not applied, and why.
func (b *editor) skip(code, node, format string, args ...any) {
	b.skipped = append(b.skipped, Skipped{Op: b.op, Code: code, Node: node, Detail: fmt.Sprintf(format, args...)})
}

// place returns the index of the node with an ID, or -1.
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

// find returns the index of the node that the current edit changes. If the node does not exist,
// it skips the edit and returns -1.
func (b *editor) find(id string) int {
	i := b.place(id)
	switch {
	case i < 0:
		b.skip(SkippedNodeGone, id, "the node %s no longer exists", id)
	case b.apart[id]:
		b.skip(SkippedNodeExists, id, "another node has the ID %s now", id)
		i = -1
	}
	return i
}

// node returns the node that the current edit changes, or nil after skipping the edit. Call own
// before writing to its config.
func (b *editor) node(id string) *flow.Node {
	if i := b.find(id); i >= 0 {
		return &b.d.Nodes[i]
	}
	return nil
}

// move sets the positions of nodes. Removed nodes are skipped individually, because dragging
// many nodes must not fail because of one.
func (b *editor) move(e *Edit) {
	to, from := map[string]*flow.Position{}, map[string]*flow.Position{}
	for _, id := range sorting.Keys(e.Places) {
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
	b.cloneConfig(n)
	if e.Unset {
		delete(n.Config, e.Field)
	} else {
		n.Config[e.Field] = e.Value
	}
	b.written[n.ID] = true
	b.did(*e, Edit{Op: OpSet, Node: e.Node, Field: e.Field, Value: old, Unset: !had})
}

// cloneConfig replaces the config of a node by a copy that may be modified.
func (b *editor) cloneConfig(n *flow.Node) {
	if b.owned[n.ID] {
		return
	}
	b.owned[n.ID] = true
	if n.Config = maps.Clone(n.Config); n.Config == nil {
		n.Config = map[string]any{}
	}
}

// put writes or removes a member of a node other than the config, such as the label.
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
			b.refuse("/name", "invalid", "", "the name contains an invisible character (%U); type it again without it", r)
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

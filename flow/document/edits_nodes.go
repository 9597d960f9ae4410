package document

import (
	"slices"

	"sluice/flow"
)

// add adds a node. An ID in use is rejected, because the client chose it. If the edit restores a
// node (it has an index), another node has taken the ID and the edit is skipped.
func (b *editor) add(e *Edit) {
	switch {
	case e.New == nil || !flow.NodeIDPattern.MatchString(e.New.ID):
		b.refuse("/node/id", "invalid", "", "an ID has 1 to 64 of the characters a-z, 0-9, _ and -")
	case b.place(e.New.ID) >= 0 && e.At != nil:
		b.apart[e.New.ID] = true
		b.skip(SkippedNodeExists, e.New.ID, "the ID %s is in use again", e.New.ID)
	case b.place(e.New.ID) >= 0:
		b.refuse("/node/id", "duplicate", e.New.ID, "there is a node %q already; give the new one another ID", e.New.ID)
	case len(b.d.Nodes) >= flow.MaxNodes:
		b.refuse("/node", "too_many", "", "at most %d nodes", flow.MaxNodes)
	default:
		b.insert(e)
	}
}

// insert inserts the node at its index and extracts literal secrets from its config before the
// document is stored anywhere.
func (b *editor) insert(e *Edit) {
	n := *e.New
	i := placeIn(e.At, len(b.d.Nodes))
	b.d.Nodes = slices.Insert(b.d.Nodes, i, n)
	b.index = nil
	delete(b.apart, n.ID)
	b.owned[n.ID] = false
	b.extractSecrets(&b.d.Nodes[i])
	for _, in := range e.Groups {
		b.join(n.ID, in)
	}
	b.did(*e, Edit{Op: OpRemove, Nodes: []string{n.ID}})
}

// placeIn returns a wanted index limited to the length of a list, or the length if at is nil.
func placeIn(at *int, length int) int {
	if at == nil {
		return length
	}
	return min(max(*at, 0), length)
}

// join adds a restored node to a group that it was in.
func (b *editor) join(id string, in Membership) {
	i := b.groupPlace(in.Group)
	if i < 0 {
		b.skip(SkippedGroupGone, id, "the group %s that %s was in no longer exists", in.Group, id)
		return
	}
	g := &b.d.Groups[i]
	g.Nodes = slices.Insert(g.Nodes, placeIn(&in.At, len(g.Nodes)), id)
}

// remove removes nodes with their edges. It records only those that existed.
func (b *editor) remove(e *Edit) {
	done := Edit{Op: OpRemove}
	for _, id := range e.Nodes {
		if i := b.find(id); i >= 0 {
			b.settle(id)
			done.Nodes = append(done.Nodes, id)
			done.Cut = append(done.Cut, b.takeOut(i)...)
		}
	}
	if len(done.Nodes) > 0 {
		b.done = append(b.done, done)
	}
}

// takeOut removes a node with its edges and memberships.
func (b *editor) takeOut(i int) (cut []flow.Edge) {
	n := b.d.Nodes[i]
	back := Edit{Op: OpAdd, New: &n, At: &i, Groups: b.leave(n.ID)}
	edges := b.cut(n.ID)
	for j := range edges {
		cut = append(cut, edges[j].Edge)
	}
	b.d.Nodes = slices.Delete(b.d.Nodes, i, i+1)
	b.index = nil
	b.undo = append(b.undo, append([]Edit{back}, edges...))
	return cut
}

// leave removes a node from all groups and returns its memberships in the order in which they
// must be restored.
func (b *editor) leave(id string) (list []Membership) {
	for i := range b.d.Groups {
		g := &b.d.Groups[i]
		for at := slices.Index(g.Nodes, id); at >= 0; at = slices.Index(g.Nodes, id) {
			g.Nodes = slices.Delete(g.Nodes, at, at+1)
			list = append(list, Membership{Group: g.ID, At: at})
		}
	}
	slices.Reverse(list)
	return list
}

// group creates, changes or removes a group. It omits members that no longer exist.
func (b *editor) group(e *Edit) {
	i := b.groupPlace(e.ID)
	switch {
	case e.Group == nil && i < 0:
		b.skip(SkippedGroupGone, "", "the group %s no longer exists", e.ID)
	case e.Group == nil:
		old := b.d.Groups[i]
		b.d.Groups = slices.Delete(b.d.Groups, i, i+1)
		b.did(Edit{Op: OpGroup, ID: e.ID}, Edit{Op: OpGroup, ID: e.ID, Group: &old, At: &i})
	case e.ID == "" || e.Group.ID != e.ID:
		b.refuse("/group/id", "invalid", "", "the ID of a group cannot change; remove the group and add another")
	case i < 0 && len(b.d.Groups) >= flow.MaxNodes:
		b.refuse("/group", "too_many", "", "at most %d groups", flow.MaxNodes)
	default:
		b.regroup(e, i)
	}
}

// regroup replaces or adds a group, with only the members that still exist. i is the index of
// the current group with that ID, or -1.
func (b *editor) regroup(e *Edit, i int) {
	g := *e.Group
	g.Nodes = make([]string, 0, len(e.Group.Nodes))
	for _, id := range e.Group.Nodes {
		if b.find(id) >= 0 {
			g.Nodes = append(g.Nodes, id)
		}
	}
	shown := g
	shown.Nodes = slices.Clone(g.Nodes)
	done, undo := Edit{Op: OpGroup, ID: e.ID, Group: &shown, At: e.At}, Edit{Op: OpGroup, ID: e.ID}
	if i < 0 {
		b.d.Groups = slices.Insert(b.d.Groups, placeIn(e.At, len(b.d.Groups)), g)
	} else {
		old := b.d.Groups[i]
		b.d.Groups[i], undo.Group = g, &old
	}
	b.did(done, undo)
}

// groupPlace returns the index of a group, or -1.
func (b *editor) groupPlace(id string) int {
	return slices.IndexFunc(b.d.Groups, func(g flow.Group) bool { return g.ID == id })
}

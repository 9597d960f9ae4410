package document

import (
	"slices"

	"sluice/flow"
)

// add adds a node. An ID in use is refused, because the browser chose it; if the edit
// restores a node (it has a place), another node took the ID and the edit is skipped.
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

// insert puts the node at its place and moves literal secrets out of its config, before
// the document is stored anywhere.
func (b *editor) insert(e *Edit) {
	n := *e.New
	i := placeIn(e.At, len(b.d.Nodes))
	b.d.Nodes = slices.Insert(b.d.Nodes, i, n)
	b.index = nil
	delete(b.apart, n.ID)
	b.owned[n.ID] = false
	b.extractSecrets(&b.d.Nodes[i], "")
	for _, in := range e.Groups {
		b.join(n.ID, in)
	}
	b.did(*e, Edit{Op: OpRemove, Nodes: []string{n.ID}})
}

// placeIn is a wanted place in a list that has this many items: the last when
// none is wanted.
func placeIn(at *int, length int) int {
	if at == nil {
		return length
	}
	return min(max(*at, 0), length)
}

// join puts a restored node back into a group that it was in.
func (b *editor) join(id string, in Membership) {
	i := b.groupPlace(in.Group)
	if i < 0 {
		b.skip(SkippedGroupGone, id, "the group %s that %s was in is not there any more", in.Group, id)
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

// leave takes a node out of all groups. The memberships that come back are in
// the order in which they are to be restored.
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

// group makes, changes or removes a group. Members that are gone are left out.
func (b *editor) group(e *Edit) {
	i := b.groupPlace(e.ID)
	switch {
	case e.Group == nil && i < 0:
		b.skip(SkippedGroupGone, "", "the group %s is not there any more", e.ID)
	case e.Group == nil:
		old := b.d.Groups[i]
		b.d.Groups = slices.Delete(b.d.Groups, i, i+1)
		b.did(Edit{Op: OpGroup, ID: e.ID}, Edit{Op: OpGroup, ID: e.ID, Group: &old, At: &i})
	case e.ID == "" || e.Group.ID != e.ID:
		b.refuse("/group/id", "invalid", "", "a group keeps its ID; remove the group and make another")
	case i < 0 && len(b.d.Groups) >= flow.MaxNodes:
		b.refuse("/group", "too_many", "", "at most %d groups", flow.MaxNodes)
	default:
		b.regroup(e, i)
	}
}

// regroup replaces or adds a group, with only those members that still exist. i is the place of
// the present group of that ID, or -1.
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

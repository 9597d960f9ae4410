package estimates

import (
	"context"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/sorting"
)

// former is what runs that made recordings executed: the live version, and the documents of the latest tests. A node that is not among it gives
// others something new, although their own results are recorded.
type former struct {
	nodes     map[string]bool // by place; nil if no document is known, which says nothing
	documents map[string]bool // by hash; of tests only, which know those below them
}

// formerTests is how many of the latest tests are looked at.
const formerTests = 10

// findFormer reads the documents.
func (w *walk) findFormer(ctx context.Context) error {
	t := w.test
	list, err := w.Store.ListTests(ctx, t.WorkspaceID, t.FlowID, "", formerTests)
	if err != nil {
		return err
	}
	f, err := w.Store.FindFlow(ctx, t.WorkspaceID, t.FlowID)
	if err != nil && !flow.IsNotFound(err) {
		return err
	}
	documents := map[string]bool{}
	for i := range list {
		if list[i].ID == t.ID || list[i].Spec.Mode == flow.CaseReplay { // a replay records nothing
			continue
		}
		for _, hash := range list[i].Spec.Documents() {
			documents[hash] = true
		}
	}
	hashes := sorting.Keys(documents)
	if len(documents) > 0 {
		w.former.documents = documents
	}
	if f != nil && f.LiveVersion > 0 {
		hashes = append(hashes, f.LiveHash)
	}
	for _, hash := range hashes {
		data, err := w.Store.FindDocument(ctx, t.WorkspaceID, hash)
		if flow.IsNotFound(err) {
			continue
		}
		if err != nil {
			return err
		}
		d, _ := document.ParseDocument(data)
		if d == nil {
			continue
		}
		if w.former.nodes == nil {
			w.former.nodes = map[string]bool{}
		}
		for i := range d.Nodes {
			w.former.nodes[place(d, &d.Nodes[i])] = true
		}
	}
	return nil
}

// lacks reports whether no document had a node with these settings and these edges to it, or it runs a flow with another document than before.
func (f *former) lacks(c *called, n *flow.Node) bool {
	if f.nodes != nil && (c.top || f.documents != nil) && !f.nodes[place(c.doc, n)] {
		return true
	}
	return f.documents != nil && slices.ContainsFunc(c.calls, func(k call) bool { return k.node == n.ID && !f.documents[k.hash] })
}

// place identifies a node by its settings and what feeds it.
func place(d *flow.Document, n *flow.Node) string {
	var edges []string
	for _, e := range d.Edges {
		if e.ToNode() == n.ID {
			edges = append(edges, e.From+" "+e.To)
		}
	}
	slices.Sort(edges)
	return n.ID + "\n" + document.NodeHash(n) + "\n" + strings.Join(edges, "\n")
}

// before returns the nodes that feed one.
func before(d *flow.Document, id string) (nodes []string) {
	for _, e := range d.Edges {
		if e.ToNode() == id {
			nodes = append(nodes, e.FromNode())
		}
	}
	return nodes
}

// inOrder returns the nodes of a document, each after those that feed it.
func inOrder(d *flow.Document) (list []*flow.Node) {
	done := map[string]bool{}
	var visit func(id string)
	visit = func(id string) {
		n := d.Node(id)
		if n == nil || done[id] {
			return
		}
		done[id] = true
		for _, from := range before(d, id) {
			visit(from)
		}
		list = append(list, n)
	}
	for i := range d.Nodes {
		visit(d.Nodes[i].ID)
	}
	return list
}

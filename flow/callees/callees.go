// Package callees finds the documents that a flow runs in other flows.
package callees

import (
	"context"
	"slices"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
)

// Store has flows and their versions.
type Store interface {
	FindFlowID(ctx context.Context, ws flow.WorkspaceID, ref string) (flow.FlowID, error)
	FindFlow(ctx context.Context, ws flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error)
	FindVersion(ctx context.Context, ws flow.WorkspaceID, id flow.FlowID, number int64) (*flow.Version, error)
	FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error)
}

// Finder finds the documents that are live now. Those in the parameter together take the place of the live ones of their flows.
type Finder struct {
	Store Store
	Kinds *flow.Registry
	Draft func(f *flow.Flow) bool // whether a flow runs its draft; nil if none does
}

// Below has the documents that a document runs in other flows, and these in turn.
type Below struct {
	Hash string // of all of them; "" without any
	// Documents are those that no node names by a version, by flow.
	Documents map[flow.FlowID]*flow.Document
	found     map[string]bool
}

// Find returns the documents that a document runs in other flows, and these in turn.
func (s *Finder) Find(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, together map[flow.FlowID]*flow.Document) (*Below, error) {
	b := &Below{Documents: map[flow.FlowID]*flow.Document{}, found: map[string]bool{}}
	if err := s.add(ctx, ws, d, b, together); err != nil || len(b.found) == 0 {
		return b, err
	}
	list := make([]string, 0, len(b.found))
	for entry := range b.found {
		list = append(list, entry)
	}
	slices.Sort(list)
	b.Hash = flow.Hash([]byte(strings.Join(list, "\n")))
	return b, nil
}

func (s *Finder) add(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, b *Below, together map[flow.FlowID]*flow.Document) error {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		ref, _ := n.Config["flow"].(string)
		if k := s.Kinds.Find(n.Kind); k == nil || !k.StartsRuns() || ref == "" {
			continue
		}
		child, id, hash, err := s.find(ctx, ws, ref, n.Config["version"], together)
		if err != nil {
			return err
		}
		if entry := ref + " " + hash; hash != "" && !b.found[entry] {
			b.found[entry] = true
			if n.Config["version"] == nil {
				b.Documents[id] = child
			}
			if err := s.add(ctx, ws, child, b, together); err != nil {
				return err
			}
		}
	}
	return nil
}

// Document returns the document that a node runs of another flow, with its hash. The hash is empty if there is no such version.
func (s *Finder) Document(ctx context.Context, ws flow.WorkspaceID, ref string, version any, together map[flow.FlowID]*flow.Document) (*flow.Document, string, error) {
	d, _, hash, err := s.find(ctx, ws, ref, version, together)
	return d, hash, err
}

func (s *Finder) find(ctx context.Context, ws flow.WorkspaceID, ref string, version any, together map[flow.FlowID]*flow.Document) (d *flow.Document, id flow.FlowID, hash string, err error) {
	id = flow.FlowID(ref)
	if document.ValidSlug(ref) {
		found, err := s.Store.FindFlowID(ctx, ws, ref)
		if err != nil && !flow.IsNotFound(err) {
			return nil, "", "", err
		}
		id = found
	}
	f, err := s.Store.FindFlow(ctx, ws, id)
	if flow.IsNotFound(err) {
		return nil, "", "", nil
	}
	if err != nil {
		return nil, "", "", err
	}
	if version == nil {
		d = together[id]
	}
	if d == nil && s.Draft != nil && s.Draft(f) {
		d, _ = document.ParseDocument(f.Draft)
	}
	if d != nil {
		return d, id, flow.DocumentHash(d.Compact()), nil
	}
	hash = f.LiveHash
	if n, ok := flow.Float(version); ok && n > 0 {
		v, err := s.Store.FindVersion(ctx, ws, id, int64(n))
		if flow.IsNotFound(err) {
			return nil, "", "", nil
		}
		if err != nil {
			return nil, "", "", err
		}
		hash = v.DocumentHash
	}
	if hash == "" {
		return nil, "", "", nil
	}
	data, err := s.Store.FindDocument(ctx, ws, hash)
	if err != nil {
		return nil, "", "", err
	}
	if d, _ = document.ParseDocument(data); d == nil {
		return nil, "", "", nil
	}
	return d, id, hash, nil
}

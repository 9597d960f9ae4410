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

// Hash returns a hash of the documents that a document runs in other flows, and these in turn; "" without any.
func (s *Finder) Hash(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, together map[flow.FlowID]*flow.Document) (string, error) {
	found := map[string]bool{}
	if err := s.add(ctx, ws, d, found, together); err != nil || len(found) == 0 {
		return "", err
	}
	list := make([]string, 0, len(found))
	for entry := range found {
		list = append(list, entry)
	}
	slices.Sort(list)
	return flow.Hash([]byte(strings.Join(list, "\n"))), nil
}

func (s *Finder) add(ctx context.Context, ws flow.WorkspaceID, d *flow.Document, found map[string]bool, together map[flow.FlowID]*flow.Document) error {
	for i := range d.Nodes {
		n := &d.Nodes[i]
		ref, _ := n.Config["flow"].(string)
		if k := s.Kinds.Find(n.Kind); k == nil || !k.StartsRuns() || ref == "" {
			continue
		}
		child, hash, err := s.Document(ctx, ws, ref, n.Config["version"], together)
		if err != nil {
			return err
		}
		if entry := ref + " " + hash; hash != "" && !found[entry] {
			found[entry] = true
			if err := s.add(ctx, ws, child, found, together); err != nil {
				return err
			}
		}
	}
	return nil
}

// Document returns the document that a node runs of another flow, with its hash. The hash is empty if there is no such version.
func (s *Finder) Document(ctx context.Context, ws flow.WorkspaceID, ref string, version any, together map[flow.FlowID]*flow.Document) (*flow.Document, string, error) {
	id := flow.FlowID(ref)
	if document.ValidSlug(ref) {
		found, err := s.Store.FindFlowID(ctx, ws, ref)
		if err != nil && !flow.IsNotFound(err) {
			return nil, "", err
		}
		id = found
	}
	f, err := s.Store.FindFlow(ctx, ws, id)
	if flow.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	var d *flow.Document
	if version == nil {
		d = together[id]
	}
	if d == nil && s.Draft != nil && s.Draft(f) {
		d, _ = document.ParseDocument(f.Draft)
	}
	if d != nil {
		return d, flow.DocumentHash(d.Compact()), nil
	}
	hash := f.LiveHash
	if n, ok := flow.Float(version); ok && n > 0 {
		v, err := s.Store.FindVersion(ctx, ws, id, int64(n))
		if flow.IsNotFound(err) {
			return nil, "", nil
		}
		if err != nil {
			return nil, "", err
		}
		hash = v.DocumentHash
	}
	if hash == "" {
		return nil, "", nil
	}
	data, err := s.Store.FindDocument(ctx, ws, hash)
	if err != nil {
		return nil, "", err
	}
	if d, _ = document.ParseDocument(data); d == nil {
		return nil, "", nil
	}
	return d, hash, nil
}

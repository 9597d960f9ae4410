package api

import (
	"context"
	"errors"
	"fmt"

	"sluice/flow"
	"sluice/flow/cache"
	"sluice/flow/contract"
	"sluice/flow/document"
)

// Outline is the interface of a document: its inputs, its outputs and the nodes that
// take part in a run.
type Outline struct {
	Name, Description string
	Inputs            []contract.Input
	Outputs           []document.Output
	Nodes             []outlineNode     // in an order in which they can run
	Labels            map[string]string // of nodes, for people
	Reply             string            // name of the output that is the reply in a chat; empty without outputs
	Agents            map[string]bool   // nodes that are agents; see document.SpeakingAgents
	Sources           map[string]string // by output: ID of the node whose text is the output, if there is one
}

// outlineNode is a node that takes part in a run, unlike a note on the canvas.
type outlineNode struct{ id, kind string }

// Outlines caches outlines by workspace and hash of the document. Stored documents are
// immutable, so entries never become stale. It is safe for concurrent use.
type Outlines struct {
	store Store
	kinds *flow.Registry
	cache cache.Cache[string, *Outline]
	names cache.Cache[string, string] // of documents; many more than outlines
}

// Sizes of the caches. Names are small, and listing the tools of package mcp needs the names of all
// flows of a workspace.
const (
	cachedOutlines = 1024
	cachedNames    = 16 << 10
)

// newOutlines returns an empty cache.
func newOutlines(store Store, kinds *flow.Registry) *Outlines {
	return &Outlines{store, kinds, cache.New[string, *Outline](cachedOutlines), cache.New[string, string](cachedNames)}
}

// Find returns the outline of a stored document.
func (o *Outlines) Find(ctx context.Context, ws flow.WorkspaceID, hash string) (*Outline, error) {
	key := string(ws+"/") + hash
	if found, ok := o.cache.Get(key); ok {
		return found, nil
	}
	data, err := o.store.FindDocument(ctx, ws, hash)
	if err != nil {
		return nil, fmt.Errorf("find document %s: %w", hash, err)
	}
	found, err := o.read(data)
	if err != nil {
		return nil, fmt.Errorf("read document %s: %w", hash, err)
	}
	o.cache.Add(key, found)
	return found, nil
}

// Inputs returns the inputs of a stored document; none if it is not a document that this release reads.
func (o *Outlines) Inputs(ctx context.Context, ws flow.WorkspaceID, hash string) ([]contract.Input, error) {
	out, err := o.Find(ctx, ws, hash)
	if errors.Is(err, errNotDocument) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return out.Inputs, nil
}

// errNotDocument is the error for stored content that is not a flow document.
var errNotDocument = errors.New("not a document")

// Name returns the name of a stored document.
func (o *Outlines) Name(ctx context.Context, ws flow.WorkspaceID, hash string) (string, error) {
	key := string(ws+"/") + hash
	if name, ok := o.names.Get(key); ok {
		return name, nil
	}
	out, err := o.Find(ctx, ws, hash)
	if err != nil {
		return "", err
	}
	o.names.Add(key, out.Name)
	return out.Name, nil
}

// read computes an outline.
func (o *Outlines) read(data []byte) (*Outline, error) {
	d, problems := document.ParseDocument(data)
	if d == nil {
		return nil, fmt.Errorf("%w: %v", errNotDocument, problems)
	}
	out := &Outline{Name: d.Name, Description: d.Description, Inputs: contract.Inputs(d, o.kinds), Outputs: document.Outputs(d, o.kinds), Labels: map[string]string{}}
	out.Sources = document.TextSources(d, contract.Outputs(d, o.kinds))
	reply, _ := document.Reply(d, o.kinds)
	out.Reply = reply.Name
	out.Agents = document.SpeakingAgents(d, o.kinds)
	for _, id := range document.RunOrder(d, o.kinds) {
		n := d.Node(id)
		out.Nodes = append(out.Nodes, outlineNode{id, n.Kind})
		out.Labels[id] = o.label(n)
	}
	return out, nil
}

// label returns the label of a node, else the title of its kind, else its ID.
func (o *Outlines) label(n *flow.Node) string {
	if n.Label != "" {
		return n.Label
	}
	if k := o.kinds.Find(n.Kind); k != nil {
		return k.Title
	}
	return n.ID
}

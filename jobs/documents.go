package jobs

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"sluice/flow"
	"sluice/flow/cache"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/engine"
)

// documentCacheSize is the number of compiled documents kept in memory.
const documentCacheSize = 512

// documentCache finds compiled documents, keyed by workspace and content hash.
// Documents are immutable, so entries never become stale.
type documentCache struct {
	store flowStore
	kinds *flow.Registry
	// providerOf returns the provider whose credential a node uses by default, or ""; may be nil.
	providerOf func(n *flow.Node) string
	cache      cache.Cache[string, *compiledDocument]
}

// compiledDocument is a document that is ready to run and to be called.
type compiledDocument struct {
	graph   *engine.Graph
	inputs  []contract.Input
	starts  bool // child runs, in some step
	secrets documentSecrets
	limited atomic.Bool // a start of it was under a budget in dollars, so the next one is expected to be
}

// newDocumentCache returns an empty cache. Documents are immutable and found by their
// hash, so entries never become stale.
func newDocumentCache(store flowStore, kinds *flow.Registry, providerOf func(n *flow.Node) string) *documentCache {
	return &documentCache{store: store, kinds: kinds, providerOf: providerOf, cache: cache.New[string, *compiledDocument](documentCacheSize)}
}

// find returns the compiled document of a hash in a workspace. Its errors have the
// code CodeNotFound or, if this version of Sluice cannot compile the document,
// CodeDocumentInvalid; others are those of the database.
func (c *documentCache) find(ctx context.Context, ws flow.WorkspaceID, hash string) (*compiledDocument, error) {
	key := string(ws+"/") + hash
	if d, ok := c.cache.Get(key); ok {
		return d, nil
	}
	data, err := c.store.FindDocument(ctx, ws, hash)
	if err != nil {
		return nil, fmt.Errorf("find document %s: %w", hash, err)
	}
	d, err := c.compileStored(data)
	if err == nil {
		c.cache.Add(key, d)
	}
	return d, err
}

// compile parses and compiles a document. A published one was valid when it was stored, so
// a problem means that another version of Sluice wrote it. A draft may have problems, which
// the error lists.
func (c *documentCache) compile(data []byte) (*compiledDocument, error) {
	return c.compileWith(data, c.kinds)
}

// compileStored is compile for a stored document, which may have internal kinds: those that come from outside were
// checked before.
func (c *documentCache) compileStored(data []byte) (*compiledDocument, error) {
	return c.compileWith(data, c.kinds.WithInternal())
}

// compileWith is compile with the kinds that the document may have.
func (c *documentCache) compileWith(data []byte, kinds *flow.Registry) (*compiledDocument, error) {
	d, problems := document.ParseDocument(data)
	if len(problems) > 0 {
		return nil, &flow.Error{Code: flow.CodeDocumentInvalid, Message: "The flow document is not well formed.", Fields: problems}
	}
	graph, err := engine.Compile(d, kinds)
	if err != nil {
		return nil, err
	}
	starts := slices.ContainsFunc(d.Nodes, func(n flow.Node) bool { k := c.kinds.Find(n.Kind); return k != nil && k.StartsRuns() })
	compiled := &compiledDocument{graph: graph, inputs: contract.Inputs(d, c.kinds), starts: starts}
	compiled.secrets = c.secretsOf(d, compiled.inputs)
	return compiled, nil
}

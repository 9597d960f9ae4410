package jobs

import (
	"context"
	"fmt"

	lru "github.com/hashicorp/golang-lru/v2"

	"sluice/flow"
)

// graphs keeps compiled documents. Documents are immutable, so nothing in it
// can be out of date.
type documentCache struct {
	store Store
	kinds *flow.Registry
	cache *lru.Cache[string, *compiledDocument]
}

// compiled is a document made ready to run and to be called.
type compiledDocument struct {
	graph  *flow.Graph
	inputs []flow.Input
}

const documentCacheSize = 512

func newDocumentCache(store Store, kinds *flow.Registry) *documentCache {
	cache, err := lru.New[string, *compiledDocument](documentCacheSize)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &documentCache{store: store, kinds: kinds, cache: cache}
}

// find returns the compiled document of a hash in a workspace.
func (g *documentCache) find(ctx context.Context, ws, hash string) (*compiledDocument, error) {
	key := ws + "/" + hash
	if c, ok := g.cache.Get(key); ok {
		return c, nil
	}
	data, err := g.store.FindDocument(ctx, ws, hash)
	if err != nil {
		return nil, fmt.Errorf("find document %s: %w", hash, err)
	}
	c, err := g.compile(data)
	if err == nil {
		g.cache.Add(key, c)
	}
	return c, err
}

func (g *documentCache) compile(data []byte) (*compiledDocument, error) {
	d, problems := flow.ParseDocument(data)
	if len(problems) > 0 {
		return nil, &flow.Error{Code: flow.CodeDocumentInvalid, Message: "The flow document is not well formed.", Fields: problems}
	}
	graph, err := flow.Compile(d, g.kinds)
	if err != nil {
		return nil, err
	}
	return &compiledDocument{graph: graph, inputs: d.Inputs(g.kinds)}, nil
}

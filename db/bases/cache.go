package bases

import (
	"container/list"
	"sync"

	"sluice/flow/knowledge"
)

// Values of cacheKey.shard for what is not a shard.
const (
	vectorsOf = -1
	headOf    = -2
)

// cacheKey names a shard of a block, its vectors or its head. Within a generation blocks never change, and no number is used twice.
type cacheKey struct {
	base       string
	block      int64
	shard      int64
	generation int64 // of vectors, which a rebuild replaces; 0 for what it keeps
}

// cache keeps data of blocks, those used last, within a number of bytes. It is safe for concurrent use.
type cache struct {
	mu      sync.Mutex
	limit   int64
	bytes   int64
	order   *list.List // of *cached, the last used first
	entries map[cacheKey]*list.Element
}

type cached struct {
	key  cacheKey
	data []byte
	head *knowledge.Head
}

// size returns the memory of an entry in bytes.
func (c *cached) size() int64 {
	n := int64(len(c.data)) + cachedExtra
	if c.head != nil {
		n += 16 * int64(len(c.head.Numbers))
	}
	return n
}

// cachedExtra is the memory of an entry besides its data, in bytes.
const cachedExtra = 200

func newCache(limit int64) *cache {
	return &cache{limit: limit, order: list.New(), entries: map[cacheKey]*list.Element{}}
}

// get returns the data of a key, which read returns if it is not in the cache.
func (c *cache) get(k cacheKey, read func() ([]byte, error)) ([]byte, error) {
	if e := c.find(k); e != nil {
		return e.data, nil
	}
	data, err := read()
	if err == nil {
		c.keep(&cached{key: k, data: data})
	}
	return data, err
}

// find returns the entry of a key, or nil.
func (c *cache) find(k cacheKey) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached)
}

// keep adds an entry, and drops those that were not used for the longest time.
func (c *cache) keep(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[e.key] == nil {
		c.entries[e.key] = c.order.PushFront(e)
		c.bytes += e.size()
	}
	for c.bytes > c.limit && c.order.Len() > 0 {
		old := c.order.Remove(c.order.Back()).(*cached)
		delete(c.entries, old.key)
		c.bytes -= old.size()
	}
}

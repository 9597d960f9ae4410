package bases

import (
	"container/list"
	"sync"
)

// cacheKey names a shard of a block, or with -1 its vectors. Blocks never change, and no number is used twice.
type cacheKey struct {
	base  string
	block int64
	shard int64
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
}

// cachedExtra is the memory of an entry besides its data, in bytes.
const cachedExtra = 200

func newCache(limit int64) *cache {
	return &cache{limit: limit, order: list.New(), entries: map[cacheKey]*list.Element{}}
}

// get returns the data of a key, which read returns if it is not in the cache.
func (c *cache) get(k cacheKey, read func() ([]byte, error)) ([]byte, error) {
	c.mu.Lock()
	if e := c.entries[k]; e != nil {
		c.order.MoveToFront(e)
		data := e.Value.(*cached).data
		c.mu.Unlock()
		return data, nil
	}
	c.mu.Unlock()
	data, err := read()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[k] == nil {
		c.entries[k] = c.order.PushFront(&cached{k, data})
		c.bytes += int64(len(data)) + cachedExtra
	}
	for c.bytes > c.limit && c.order.Len() > 0 {
		last := c.order.Back()
		old := c.order.Remove(last).(*cached)
		delete(c.entries, old.key)
		c.bytes -= int64(len(old.data)) + cachedExtra
	}
	return data, nil
}

package pinned

import (
	"sync"
)

// pinCache is a cache of two generations. When the younger one is full, the
// older one is discarded; entries that are still in use have moved to the
// younger one by then.
type pinCache struct {
	mu           sync.Mutex
	young, older map[string]*Pin
	weight       int // of the entries in young
}

// find returns a cached pin or makes it. make runs without the lock, so two
// goroutines may call it at the same time for equal results.
func (c *pinCache) find(key string, make func() *Pin) *Pin {
	c.mu.Lock()
	p := c.young[key]
	if p == nil {
		p = c.older[key]
	}
	c.mu.Unlock()
	if p == nil {
		p = make()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young[key] != nil {
		return p
	}
	if c.young == nil || len(c.young) >= pinsKept || c.weight+p.weight > pinsWeight {
		c.young, c.older, c.weight = map[string]*Pin{}, c.young, 0
	}
	c.young[key] = p
	c.weight += p.weight
	return p
}

// Package cache keeps a bounded number of values in memory, those that were used last.
package cache

import lru "github.com/hashicorp/golang-lru/v2"

// Cache maps keys to at most a fixed number of values. One more value evicts the one that was
// not used for the longest time. It is safe for concurrent use.
//
// It is an interface because the compiler generates the methods of a generic struct in each
// package that uses a type with such a field, even if only a field of a field. The methods of
// an interface are compiled once, where New is called.
type Cache[K comparable, V any] interface {
	Get(K) (V, bool)
	Add(K, V) (evicted bool)
	// PeekOrAdd adds a value unless there is one already, which it returns.
	PeekOrAdd(K, V) (before V, had, evicted bool)
	Remove(K) (had bool)
	Purge()
	Keys() []K
}

// New returns an empty cache for size values. It panics if size is less than one.
func New[K comparable, V any](size int) Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic("cache: " + err.Error())
	}
	return c
}

package providers

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"sluice/flow/cache"
)

// Limits of the cache of model lists.
const (
	modelsKept    = 10 * time.Minute
	modelLists    = 256              // number of lists, by endpoint and secret
	modelsTimeout = 60 * time.Second // of a shared request
)

// ModelCache caches lists of models for ten minutes and deduplicates concurrent requests. It
// is meant for the server; a command that lists models once uses Client.Models. It caches no
// errors and stores no secrets: its keys are hashes with a random key of this process. It is
// safe for concurrent use.
type ModelCache struct {
	client *Client
	now    func() time.Time
	key    []byte
	flight singleflight.Group

	mu    sync.Mutex
	lists cache.Cache[string, keptModels]
}

// keptModels is a list of models and the time from which it is fetched again.
type keptModels struct {
	models []Model
	until  time.Time
}

// NewModelCache returns an empty cache for a client.
func NewModelCache(client *Client) *ModelCache {
	c := &ModelCache{client: client, now: time.Now, key: make([]byte, 32), lists: cache.New[string, keptModels](modelLists)}
	_, _ = rand.Read(c.key) // never fails
	return c
}

// Models returns the list of Client.Models, which may be up to ten minutes old. The caller
// may modify the result.
func (c *ModelCache) Models(ctx context.Context, ep Endpoint) ([]Model, error) {
	key := c.name(ep)
	if models, ok := c.find(key); ok {
		return models, nil
	}
	// The request outlives the first caller: others may wait for it.
	done := c.flight.DoChan(key, func() (any, error) {
		shared, cancel := context.WithTimeout(context.WithoutCancel(ctx), modelsTimeout)
		defer cancel()
		models, err := c.client.Models(shared, ep)
		if err == nil {
			c.put(key, models)
		}
		return models, err
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-done:
		if r.Err != nil {
			return nil, c.shared(r.Err)
		}
		return slices.Clone(r.Val.([]Model)), nil
	}
}

// shared converts the timeout of the shared request to an *Error, because the context of the
// waiting caller has not ended.
func (c *ModelCache) shared(err error) error {
	if err == context.DeadlineExceeded {
		return &Error{Class: ClassUnavailable, Retryable: true, Message: "The list of models did not come within " + modelsTimeout.String() + "."}
	}
	return err
}

// find returns a copy of a list, so that callers may change it, and true, or false if
// the list is missing or has expired.
func (c *ModelCache) find(key string) ([]Model, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept, ok := c.lists.Get(key)
	if !ok || !c.now().Before(kept.until) {
		return nil, false
	}
	return slices.Clone(kept.models), true
}

// put stores a list for modelsKept. If the cache is full, it evicts the least recently
// used list.
func (c *ModelCache) put(key string, models []Model) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists.Add(key, keptModels{models, c.now().Add(modelsKept)})
}

// name returns the cache key: a hash of the whole endpoint, because the list depends on the
// secret.
func (c *ModelCache) name(ep Endpoint) string {
	h := hmac.New(sha256.New, c.key)
	for _, part := range []string{ep.Provider, ep.BaseURL, ep.Secret, strconv.FormatBool(ep.Trusted)} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return string(h.Sum(nil))
}

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

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

// Limits of the cache of model lists.
const (
	modelsKept    = 10 * time.Minute
	modelLists    = 256              // by endpoint and secret
	modelsTimeout = 60 * time.Second // of a request that several wait for
)

// ModelCache keeps the lists of models for ten minutes, and asks for each once
// however many want it. It is for a server whose pages let people choose a model
// again and again; a command that lists them once asks Client.Models. It keeps no errors, and no secrets: its keys are hashes
// with a random key of this process.
type ModelCache struct {
	client *Client
	now    func() time.Time
	key    []byte
	flight singleflight.Group

	mu    sync.Mutex
	lists *lru.Cache[string, keptModels]
}

// keptModels is a list of models and the time from which it is fetched again.
type keptModels struct {
	models []Model
	until  time.Time
}

// NewModelCache makes an empty cache over a client.
func NewModelCache(client *Client) *ModelCache {
	lists, err := lru.New[string, keptModels](modelLists)
	if err != nil {
		panic(err) // only a size below one is refused
	}
	c := &ModelCache{client: client, now: time.Now, key: make([]byte, 32), lists: lists}
	_, _ = rand.Read(c.key) // never fails
	return c
}

// Models is Client.Models, or what it said within the last ten minutes. The
// result may be changed.
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

// shared turns the end of the shared request's own time into an *Error: it is
// not the context of the waiting caller that ended.
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

// name hashes all of an endpoint, because a list is what one secret may see.
func (c *ModelCache) name(ep Endpoint) string {
	h := hmac.New(sha256.New, c.key)
	for _, part := range []string{ep.Provider, ep.BaseURL, ep.Secret, strconv.FormatBool(ep.Trusted)} {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return string(h.Sum(nil))
}

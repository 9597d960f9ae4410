// Package uses counts the requests of keys, and those that name a flow by a former slug, and stores
// the counts in batches. It does not know what a request does.
package uses

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
)

// interval is how often uses are stored. A write for each request would cost more than most
// requests.
const interval = 2 * time.Second

// Store stores counted uses.
type Store interface {
	TouchKeys(ctx context.Context, list []flow.KeyUse) error
	AddAliasUses(ctx context.Context, list []flow.AliasUse) error
}

// Counter collects uses of keys and of former slugs, and stores them in batches. It is safe for
// concurrent use.
type Counter struct {
	store Store
	log   *slog.Logger
	mu    sync.Mutex
	byKey map[string]*flow.KeyUse          // by key ID and hash of the previous secret
	alias map[flow.AliasUse]*flow.AliasUse // by workspace, slug and key
	stop  context.CancelFunc
	loop  sync.WaitGroup
}

// New starts storing uses; call Close at the end.
func New(store Store, log *slog.Logger) *Counter {
	ctx, stop := context.WithCancel(context.Background())
	u := &Counter{store: store, log: log, byKey: map[string]*flow.KeyUse{}, alias: map[flow.AliasUse]*flow.AliasUse{}, stop: stop}
	u.loop.Go(func() { u.flushUntil(ctx) })
	return u
}

// Add counts a use. Uses of the previous secret of a rotated key are counted separately, so
// that users see whether a client still has it.
func (u *Counter) Add(key *flow.Key, ip string, at time.Time) {
	if key.ID == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	previous := ""
	if key.Presented == key.Previous.Hash {
		previous = key.Presented
	}
	by := key.ID + " " + previous
	use := u.byKey[by]
	if use == nil {
		use = &flow.KeyUse{KeyID: key.ID, Previous: previous}
		u.byKey[by] = use
	}
	use.IP, use.At = ip, at
	use.Count++
}

// AddAlias counts a request that named a flow by a former slug. The key of the local command
// line has no ID and is not counted.
func (u *Counter) AddAlias(key *flow.Key, slug string, at time.Time) {
	if key.ID == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	by := flow.AliasUse{WorkspaceID: key.WorkspaceID, Slug: slug, KeyID: key.ID}
	use := u.alias[by]
	if use == nil {
		use = &flow.AliasUse{WorkspaceID: by.WorkspaceID, Slug: slug, KeyID: key.ID}
		u.alias[by] = use
	}
	use.At = at
	use.Count++
}

// flushUntil stores the uses at intervals until ctx is done.
func (u *Counter) flushUntil(ctx context.Context) {
	t := time.NewTicker(interval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if err := u.flush(context.Background()); err != nil {
				u.log.Warn("use of keys not recorded", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// flush stores the collected uses. Uses that cannot be stored are dropped: the counts are
// only for display, and memory would grow without bound.
func (u *Counter) flush(ctx context.Context) error {
	u.mu.Lock()
	byKey, alias := u.byKey, u.alias
	u.byKey, u.alias = map[string]*flow.KeyUse{}, map[flow.AliasUse]*flow.AliasUse{}
	u.mu.Unlock()
	if err := u.flushAliases(ctx, alias); err != nil || len(byKey) == 0 {
		return err
	}
	list := make([]flow.KeyUse, 0, len(byKey))
	for _, by := range sorting.Keys(byKey) {
		list = append(list, *byKey[by])
	}
	return u.store.TouchKeys(ctx, list)
}

// flushAliases stores the uses of former slugs. Like those of keys, they are lost on an error.
func (u *Counter) flushAliases(ctx context.Context, alias map[flow.AliasUse]*flow.AliasUse) error {
	if len(alias) == 0 {
		return nil
	}
	list := make([]flow.AliasUse, 0, len(alias))
	for _, use := range alias {
		list = append(list, *use)
	}
	return u.store.AddAliasUses(ctx, list)
}

// Close stores the last uses. It may be called more than once.
func (u *Counter) Close() error {
	u.stop()
	u.loop.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), interval)
	defer cancel()
	return u.flush(ctx)
}

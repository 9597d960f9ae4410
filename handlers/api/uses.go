package api

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"sluice/flow"
)

// usesEvery is how often the use of keys is written down. A write per request
// would cost more than most requests.
const usesEvery = 2 * time.Second

// uses collects how keys are used between two writes.
type uses struct {
	store Store
	log   *slog.Logger
	mu    sync.Mutex
	byKey map[string]*flow.KeyUse // by key and text
	stop  chan struct{}
	done  chan struct{}
	once  sync.Once
}

func newUses(store Store, log *slog.Logger) *uses {
	u := &uses{store: store, log: log, byKey: map[string]*flow.KeyUse{}, stop: make(chan struct{}), done: make(chan struct{})}
	go u.loop()
	return u
}

func (u *uses) add(key *flow.Key, ip string, at time.Time) {
	if key.ID == "" {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	previous := ""
	if key.Borne == key.Previous.Hash {
		previous = key.Borne
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

func (u *uses) loop() {
	defer close(u.done)
	t := time.NewTicker(usesEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if err := u.flush(context.Background()); err != nil {
				u.log.Warn("use of keys not recorded", "error", err)
			}
		case <-u.stop:
			return
		}
	}
}

// flush writes what was collected. What cannot be written is dropped: it is a
// count for people, and keeping it would grow without bound.
func (u *uses) flush(ctx context.Context) error {
	u.mu.Lock()
	byKey := u.byKey
	u.byKey = map[string]*flow.KeyUse{}
	u.mu.Unlock()
	if len(byKey) == 0 {
		return nil
	}
	list := make([]flow.KeyUse, 0, len(byKey))
	for _, by := range slices.Sorted(maps.Keys(byKey)) {
		list = append(list, *byKey[by])
	}
	return u.store.TouchKeys(ctx, list)
}

func (u *uses) close() error {
	u.once.Do(func() { close(u.stop) })
	<-u.done
	ctx, cancel := context.WithTimeout(context.Background(), usesEvery)
	defer cancel()
	return u.flush(ctx)
}

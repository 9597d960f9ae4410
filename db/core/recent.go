package core

import (
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/cache"
)

// recent caches the keys and live versions that recent starts of runs used, so
// that a start needs no reads before its write. Entries may be stale: the
// transaction that accepts a run compares both with the database, and returns
// ErrKeyOutdated or ErrFlowOutdated if they have changed. Before a request is
// refused, callers must check with a fresh read.
type recent struct {
	Keys cache.Cache[string, *flow.Key] // by hash
	Live cache.Cache[FlowKey, flow.LiveVersion]
	// limited are flows that had a budget in dollars when they were last read, so that sets read
	// what was spent of it before they decide.
	limited cache.Cache[flow.FlowID, struct{}]
}

// recentStarts is the number of keys and of flows in the cache.
const recentStarts = 4096

// newRecent returns empty caches of recentStarts keys and flows.
func newRecent() recent {
	return recent{cache.New[string, *flow.Key](recentStarts), cache.New[FlowKey, flow.LiveVersion](recentStarts), cache.New[flow.FlowID, struct{}](recentStarts)}
}

// checkRecent returns an error if the key or the live version that a start was
// checked with has changed, and removes it from the cache.
func (tx *Tx) checkRecent(n *flow.NewRun) error {
	if n.Live {
		k := FlowKey{n.Run.WorkspaceID, n.Run.FlowID}
		l, err := tx.FlowLimits(k)
		if err != nil || l.LiveVersion != n.Run.Version || l.Slug != n.Run.FlowSlug || l.ArchivedAt != 0 {
			tx.Store.Recent.Live.Remove(k)
			if err == nil || flow.IsNotFound(err) {
				err = flow.ErrFlowOutdated
			}
			return err
		}
	}
	if n.Key == nil || !n.Key.Recent {
		return nil
	}
	now, err := tx.currentKey(n.Key)
	if err == nil && now.SameAccess(n.Key) {
		return nil
	}
	tx.Store.Recent.Keys.Remove(n.Key.Presented)
	if err == nil || dbconn.IsNoRows(err) {
		err = flow.ErrKeyOutdated
	}
	return err
}

// currentKey reads a key once per transaction.
func (tx *Tx) currentKey(k *flow.Key) (*flow.Key, error) {
	if now, ok := tx.Batch.Counts.keys[k.ID]; ok {
		return now, nil
	}
	r, err := tx.Queries.FindKey(tx.Ctx, gen.FindKeyParams{ID: k.ID, WorkspaceID: k.WorkspaceID})
	if err != nil {
		return nil, err
	}
	now := KeyOf(r)
	tx.Batch.Counts.keys[k.ID] = &now
	return &now, nil
}

// KeyOf converts a row.
func KeyOf(r gen.Key) flow.Key {
	return flow.Key{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Name: r.Name, Prefix: r.Prefix, Hash: r.Hash,
		Scopes: dbconn.DecodeList[flow.Scope](r.Scopes), Flows: dbconn.DecodeList[string](r.Flows),
		RPM: r.Rpm, Concurrency: r.Concurrency, USDPerDay: r.UsdPerDay, RunsPerDay: r.RunsPerDay, AllowUnpriced: r.AllowUnpriced != 0, Trigger: flow.Trigger(r.RunTrigger),
		CreatedBy: r.CreatedBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), ExpiresAt: dbconn.TimeOf(r.ExpiresAt), RevokedAt: dbconn.TimeOf(r.RevokedAt),
		LastUsedAt: dbconn.TimeOf(r.LastUsedAt), LastUsedIP: r.LastUsedIp, Uses: r.Uses, RotatedAt: dbconn.TimeOf(r.RolledAt), RotatedBy: dbconn.DecodeList[string](r.RotatedBy),
		Previous: flow.PreviousSecret{
			Prefix: r.PreviousPrefix, Hash: r.PreviousHash, Until: dbconn.TimeOf(r.PreviousUntil),
			UsedAt: dbconn.TimeOf(r.PreviousUsedAt), UsedIP: r.PreviousUsedIp, Uses: r.PreviousUses,
		},
	}
}

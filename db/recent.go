package db

import (
	"context"
	"errors"

	lru "github.com/hashicorp/golang-lru/v2"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// recent remembers the keys and live versions that starts of runs needed last,
// so that a start reads nothing before it is written. What it says may be out
// of date: the transaction that accepts a run compares both with the database,
// and refuses with ErrKeyOutdated or ErrFlowOutdated what has changed since.
// Whatever is not accepted must be checked with a fresh read.
type recent struct {
	keys *lru.Cache[string, *flow.Key] // by hash
	live *lru.Cache[flowKey, flow.LiveVersion]
}

// recentStarts is how many keys, and how many flows, are remembered.
const recentStarts = 4096

func newRecent() recent {
	keys, err := lru.New[string, *flow.Key](recentStarts)
	live, err2 := lru.New[flowKey, flow.LiveVersion](recentStarts)
	if err = errors.Join(err, err2); err != nil {
		panic(err) // only for a size below one
	}
	return recent{keys, live}
}

// RecentKey is FindKeyByHash for a start of a run. Key.Recent tells that the key
// may have changed since it was read.
func (s Keys) RecentKey(ctx context.Context, hash string) (*flow.Key, error) {
	if k, ok := s.recent.keys.Get(hash); ok {
		again := *k
		again.Recent = true
		return &again, nil
	}
	k, err := s.FindKeyByHash(ctx, hash)
	if err == nil {
		again := *k
		s.recent.keys.Add(hash, &again)
	}
	return k, err
}

// RecentLiveVersion returns the live version of a flow for the start of a run.
// It reports false for a flow that has none, is archived or does not exist.
func (s Flows) RecentLiveVersion(ctx context.Context, ws, flowID string) (live flow.LiveVersion, ok bool, err error) {
	k := flowKey{ws, flowID}
	if live, ok = s.recent.live.Get(k); ok {
		return live, true, nil
	}
	if live, ok, err = s.findLiveVersion(ctx, ws, flowID); ok {
		s.recent.live.Add(k, live)
	}
	return live, ok, err
}

// CheckLiveVersion returns ErrFlowOutdated if a remembered live version is no
// longer the live one.
func (s Flows) CheckLiveVersion(ctx context.Context, ws, flowID string, number int64) error {
	live, ok, err := s.findLiveVersion(ctx, ws, flowID)
	if err == nil && (!ok || live.Number != number) {
		s.recent.live.Remove(flowKey{ws, flowID})
		err = flow.ErrFlowOutdated
	}
	return err
}

func (s Flows) findLiveVersion(ctx context.Context, ws, flowID string) (live flow.LiveVersion, ok bool, err error) {
	r, err := s.read.FindLiveVersion(ctx, gen.FindLiveVersionParams{ID: flowID, WorkspaceID: ws})
	if dbconn.IsNoRows(err) {
		return live, false, nil
	}
	if err != nil {
		return live, false, err
	}
	return flow.LiveVersion{Number: r.Number, DocumentHash: r.DocumentHash}, true, nil
}

// checkRecent refuses a start that rests on a key or a live version that is no
// longer so.
func (tx *Tx) checkRecent(n *flow.NewRun) error {
	if n.Live {
		k := flowKey{n.Run.WorkspaceID, n.Run.FlowID}
		l, err := tx.flowLimits(k)
		if err != nil || l.LiveVersion != n.Run.Version || l.ArchivedAt != 0 {
			tx.s.recent.live.Remove(k)
			if err == nil || errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
				err = flow.ErrFlowOutdated
			}
			return err
		}
	}
	if n.Key == nil || !n.Key.Recent {
		return nil
	}
	now, err := tx.keyNow(n.Key)
	if err == nil && now.Opens(n.Key) {
		return nil
	}
	tx.s.recent.keys.Remove(n.Key.Borne)
	if err == nil || dbconn.IsNoRows(err) {
		err = flow.ErrKeyOutdated
	}
	return err
}

// keyNow reads a key, once in a transaction.
func (tx *Tx) keyNow(k *flow.Key) (*flow.Key, error) {
	if now, ok := tx.batch.room.keys[k.ID]; ok {
		return now, nil
	}
	r, err := tx.FindKey(tx.ctx, gen.FindKeyParams{ID: k.ID, WorkspaceID: k.WorkspaceID})
	if err != nil {
		return nil, err
	}
	now := keyOf(r)
	tx.batch.room.keys[k.ID] = &now
	return &now, nil
}

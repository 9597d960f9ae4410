package db

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow"
)

// SetCapacity sets how many runs this process works on at once.
func (s *Instances) SetCapacity(n int) { s.DB.Workers.Store(int64(n)) }

// Heartbeat records that this instance is alive and how many workers it has.
func (s *Instances) Heartbeat(ctx context.Context, instanceID string, workers int) error {
	s.DB.Self.Store(&instanceID)
	s.SetCapacity(workers)
	s.DB.Live.Forget()
	s.DB.ResizePool(ctx)
	return s.DB.WriteVital(ctx, core.Relaxed, func(tx *core.Tx) error {
		if err := s.DB.SyncClock(tx.Ctx, tx.DBTX); err != nil {
			return err
		}
		return tx.Queries.Heartbeat(tx.Ctx, gen.HeartbeatParams{
			ID: instanceID, Workers: int64(workers), Now: s.DB.NowMicros(), PeerAddr: s.DB.PeerAddr, Features: joinFeatures(s.DB.Config.Features),
		})
	})
}

// joinFeatures returns the column features: names between spaces.
func joinFeatures(list []flow.Feature) (column string) {
	for _, f := range list {
		column += " " + string(f)
	}
	return strings.TrimSpace(column)
}

// AllCan reports whether this program and every live instance understand a feature. Live
// are the instances with a recent heartbeat; one that was frozen takes part again only
// with its next heartbeat. On SQLite this program is the only instance.
func (s *Instances) AllCan(ctx context.Context, feature flow.Feature) (bool, error) {
	if !slices.Contains(s.DB.Config.Features, feature) || !s.DB.IsPostgres() {
		return slices.Contains(s.DB.Config.Features, feature), nil
	}
	list, err := s.DB.Reads.ListFeatures(ctx, s.DB.SilentSince())
	if err != nil {
		return false, fmt.Errorf("list the features of instances: %w", err)
	}
	return !slices.ContainsFunc(list, func(column string) bool {
		return !slices.Contains(strings.Fields(column), string(feature))
	}), nil
}

// LeaveInstance records at shutdown that this instance is gone, so that others take
// over its remaining work without waiting for the heartbeat to expire.
func (s *Instances) LeaveInstance(ctx context.Context, instanceID string) error {
	return s.DB.WriteVital(ctx, core.Relaxed, func(tx *core.Tx) error { return tx.Queries.SilenceInstance(tx.Ctx, instanceID) })
}

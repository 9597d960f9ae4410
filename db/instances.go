package db

import (
	"context"

	"sluice/db/core"
	"sluice/db/gen"
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
		return tx.Queries.Heartbeat(tx.Ctx, gen.HeartbeatParams{ID: instanceID, Workers: int64(workers), Now: s.DB.NowMicros(), PeerAddr: s.DB.PeerAddr})
	})
}

// LeaveInstance records at shutdown that this instance is gone, so that others take
// over its remaining work without waiting for the heartbeat to expire.
func (s *Instances) LeaveInstance(ctx context.Context, instanceID string) error {
	return s.DB.WriteVital(ctx, core.Relaxed, func(tx *core.Tx) error { return tx.Queries.SilenceInstance(tx.Ctx, instanceID) })
}

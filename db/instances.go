package db

import (
	"context"
	"sluice/db/gen"
)

// SetCapacity sets how many runs this process works on at once.
func (s Instances) SetCapacity(n int) { s.workers.Store(int64(n)) }

// Heartbeat says that this instance lives and how many workers it has.
func (s Instances) Heartbeat(ctx context.Context, instanceID string, workers int) error {
	s.self.Store(&instanceID)
	s.SetCapacity(workers)
	s.live.forget()
	s.resizePool(ctx)
	return s.writeVital(ctx, relaxed, func(tx *Tx) error {
		if err := s.syncClock(tx.ctx, tx.db); err != nil {
			return err
		}
		return tx.Heartbeat(tx.ctx, gen.HeartbeatParams{ID: instanceID, Workers: int64(workers), Now: s.now(), PeerAddr: s.PeerAddr})
	})
}

// LeaveInstance says at shutdown that this instance is gone. What it should
// still hold is taken over from it without waiting for it to count as dead.
func (s Instances) LeaveInstance(ctx context.Context, instanceID string) error {
	return s.writeVital(ctx, relaxed, func(tx *Tx) error { return tx.SilenceInstance(tx.ctx, instanceID) })
}

package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// DueWakes hands waiting runs that are due to the queue and returns their number.
// next is when the earliest of the others is due, or zero.
func (s *Runs) DueWakes(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error) {
	if s.DB.QueueOrNil() == nil {
		return 0, time.Time{}, nil
	}
	// Usually nothing is due, so check with a read before beginning a transaction.
	next, err = dbconn.Earliest(s.DB.Reads.NextWake(ctx))
	if core.IsDamage(err) {
		if err := s.DB.FindDamaged(ctx, "wakes", err); err != nil {
			return 0, next, fmt.Errorf("wake runs: %w", err)
		}
		next, err = dbconn.Earliest(s.DB.Reads.NextWake(ctx))
	}
	if err != nil {
		return 0, next, fmt.Errorf("wake runs: %w", err)
	}
	if next.IsZero() || next.After(now) {
		return 0, next, nil
	}
	err = s.DB.WriteRows(ctx, core.Durable, "runs", func(tx *core.Tx) error {
		ids, err := tx.Queries.ListDueWakes(tx.Ctx, gen.ListDueWakesParams{Now: dbconn.Micros(now), MaxRows: int32(limit)})
		if err != nil {
			return err
		}
		n = len(ids)
		texts := dbconn.MapRows(ids, func(id flow.RunID) string { return string(id) })
		return tx.Each("runs", "wake", texts, func(id string) error { return tx.ResumeRun("", flow.RunID(id), core.PlaceWaiting) })
	})
	if err != nil {
		return n, next, fmt.Errorf("wake runs: %w", err)
	}
	if n > 0 {
		next, err = dbconn.Earliest(s.DB.Reads.NextWake(ctx))
	}
	return n, next, err
}

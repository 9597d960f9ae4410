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
	nextWake := func(ctx context.Context) (time.Time, error) { return dbconn.Earliest(s.DB.Reads.NextWake(ctx)) }
	next, err = core.ReadRows(ctx, s.DB, "wakes", nextWake)
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
		return core.EachID(tx, "runs", "wake", ids, func(id flow.RunID) error { return tx.ResumeRun("", id, core.PlaceWaiting) })
	})
	if err != nil {
		return n, next, fmt.Errorf("wake runs: %w", err)
	}
	if n > 0 {
		next, err = core.ReadRows(ctx, s.DB, "wakes", nextWake)
	}
	return n, next, err
}

package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
)

// DueWakes hands waiting runs that are due to the queue and returns their number.
// next is when the earliest of the others is due, or zero.
func (s Runs) DueWakes(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error) {
	due := gen.ListDueWakesParams{Now: dbconn.Micros(now), MaxRows: int32(limit)}
	n, err = handDue(ctx, s.DB, func(tx *core.Tx) (int, error) {
		ids, err := tx.ListDueWakes(tx.Ctx, due)
		for _, id := range ids {
			if err := tx.ResumeRun("", id, core.PlaceWaiting); err != nil {
				return 0, err
			}
		}
		return len(ids), err
	}, func() (bool, error) {
		next, err = dbconn.Earliest(s.Reads.NextWake(ctx))
		return err == nil && !next.IsZero() && !next.After(now), err
	})
	if err != nil {
		return n, next, fmt.Errorf("wake runs: %w", err)
	}
	if n > 0 {
		next, err = dbconn.Earliest(s.Reads.NextWake(ctx))
	}
	return n, next, err
}

// handDue runs hand in a transaction if something is due. It checks that with a
// read first, because usually nothing is.
func handDue(ctx context.Context, s *core.DB, hand func(*core.Tx) (int, error), any func() (bool, error)) (n int, err error) {
	if s.QueueOrNil() == nil {
		return 0, nil
	}
	if due, err := any(); err != nil || !due {
		return 0, err
	}
	err = s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err = hand(tx)
		return err
	})
	return n, err
}

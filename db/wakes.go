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

// DueWakes hands waiting runs whose time has come to the queue. next is when
// the earliest of the others is due, zero when there is none.
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

// handDue runs hand in a transaction if there is anything due at all, which is
// asked beside the writer, since it mostly is not.
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

// WakeRun makes a waiting run go on at once, for what it waits for has come.
// A run that does not wait is left as it is.
func (s Runs) WakeRun(ctx context.Context, ws, runID string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		run, err := core.FindRun(tx.Ctx, tx.Queries, ws, "", runID)
		if err != nil || run.State != flow.RunWaiting {
			return err
		}
		return tx.ResumeRun(ws, runID, core.PlaceWaiting)
	})
}

package db

import (
	"cmp"
	"context"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow/fairness"
	"sluice/flow/sorting"
)

// Failed attempts to sign in are counted per account and per address, on PostgreSQL
// for all instances together. flow.Try decides how long to wait after failures.

// TakeTry counts an attempt under each name as failed, because concurrent attempts
// have not failed yet when they are counted. ForgiveTry reverts that for a success.
// If one of the names must still wait, it counts nothing and returns how long.
func (s *RateLimits) TakeTry(ctx context.Context, tries ...fairness.Try) (wait time.Duration, err error) {
	// A fixed order avoids deadlocks.
	sorting.By(tries, func(a, b fairness.Try) int { return cmp.Compare(a.Name, b.Name) })
	err = s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		wait = 0
		now := dbconn.TimeOf(s.DB.NowMicros())
		rows := make([]gen.Throttle, len(tries))
		for i, t := range tries {
			if rows[i], err = holdThrottle(tx, t.Name); err != nil {
				return err
			}
			wait = max(wait, dbconn.TimeOf(rows[i].UntilAt).Sub(now))
		}
		if wait > 0 {
			return nil
		}
		for i, t := range tries {
			if err := recordFailure(tx, rows[i], t, now); err != nil {
				return err
			}
		}
		return nil
	})
	return wait, err
}

// holdThrottle reads a count and locks it until the end of the transaction.
func holdThrottle(tx *core.Tx, name string) (gen.Throttle, error) {
	if err := tx.Queries.HoldThrottle(tx.Ctx, name); err != nil {
		return gen.Throttle{}, err
	}
	return tx.Queries.FindThrottle(tx.Ctx, name)
}

// recordFailure counts a failed attempt and stores until when the next ones are refused.
func recordFailure(tx *core.Tx, r gen.Throttle, t fairness.Try, now time.Time) error {
	failures, until := t.Fail(r.Failures, dbconn.TimeOf(r.FailedAt), now)
	return tx.Queries.SaveThrottle(tx.Ctx, gen.SaveThrottleParams{
		Name: r.Name, Failures: failures, FailedAt: dbconn.Micros(now), UntilAt: dbconn.Micros(until),
	})
}

// ForgiveTry records that an attempt succeeded. It resets the failures of the
// account, but reverts only one failure of the address. Otherwise anyone with an
// account could guess the passwords of others indefinitely.
func (s *RateLimits) ForgiveTry(ctx context.Context, account, address string) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		if err := tx.Queries.DeleteThrottle(tx.Ctx, account); err != nil {
			return err
		}
		r, err := holdThrottle(tx, address)
		if err != nil {
			return err
		}
		return tx.Queries.SaveThrottle(tx.Ctx, gen.SaveThrottleParams{Name: address, Failures: max(r.Failures-1, 0), FailedAt: r.FailedAt})
	})
}

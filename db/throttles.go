package db

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// TakeTry counts an attempt under every name given as if it failed, since of
// many that come at once none has failed yet; ForgiveTry takes that back. Where
// one must still wait it counts nothing and tells how long.
func (s RateLimits) TakeTry(ctx context.Context, tries ...flow.Try) (wait time.Duration, err error) {
	// In one order everywhere, so that transactions cannot wait in a circle.
	slices.SortFunc(tries, func(a, b flow.Try) int { return cmp.Compare(a.Name, b.Name) })
	err = s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		wait = 0
		now := dbconn.TimeOf(s.NowMicros())
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
			if err := fail(tx, rows[i], t, now); err != nil {
				return err
			}
		}
		return nil
	})
	return wait, err
}

// holdThrottle reads a count and lets nobody else change it meanwhile.
func holdThrottle(tx *core.Tx, name string) (gen.Throttle, error) {
	if err := tx.HoldThrottle(tx.Ctx, name); err != nil {
		return gen.Throttle{}, err
	}
	return tx.FindThrottle(tx.Ctx, name)
}

func fail(tx *core.Tx, r gen.Throttle, t flow.Try, now time.Time) error {
	if dbconn.TimeOf(r.FailedAt).Before(now.Add(-flow.TriesForgotten)) {
		r.Failures = 0
	}
	return tx.SaveThrottle(tx.Ctx, gen.SaveThrottleParams{
		Name: r.Name, Failures: r.Failures + 1, FailedAt: dbconn.Micros(now), UntilAt: dbconn.Micros(now.Add(t.Wait(r.Failures + 1))),
	})
}

// ForgiveTry says that an attempt did not fail. The account's failures are
// forgotten; of the address's only this one is, or whoever has an account could
// guess at others for ever.
func (s RateLimits) ForgiveTry(ctx context.Context, account, address string) error {
	return s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		if err := tx.DeleteThrottle(tx.Ctx, account); err != nil {
			return err
		}
		r, err := holdThrottle(tx, address)
		if err != nil {
			return err
		}
		return tx.SaveThrottle(tx.Ctx, gen.SaveThrottleParams{Name: address, Failures: max(r.Failures-1, 0), FailedAt: r.FailedAt})
	})
}

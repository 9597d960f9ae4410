package db

import (
	"cmp"
	"context"
	"slices"
	"time"

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
	err = s.write(ctx, relaxed, func(tx *Tx) error {
		wait = 0
		now := dbconn.TimeOf(s.now())
		rows := make([]gen.Throttle, len(tries))
		for i, t := range tries {
			if rows[i], err = tx.holdThrottle(t.Name); err != nil {
				return err
			}
			wait = max(wait, dbconn.TimeOf(rows[i].UntilAt).Sub(now))
		}
		if wait > 0 {
			return nil
		}
		for i, t := range tries {
			if err := tx.fail(rows[i], t, now); err != nil {
				return err
			}
		}
		return nil
	})
	return wait, err
}

// holdThrottle reads a count and lets nobody else change it meanwhile.
func (tx *Tx) holdThrottle(name string) (gen.Throttle, error) {
	if err := tx.HoldThrottle(tx.ctx, name); err != nil {
		return gen.Throttle{}, err
	}
	return tx.FindThrottle(tx.ctx, name)
}

func (tx *Tx) fail(r gen.Throttle, t flow.Try, now time.Time) error {
	if dbconn.TimeOf(r.FailedAt).Before(now.Add(-flow.TriesForgotten)) {
		r.Failures = 0
	}
	return tx.SaveThrottle(tx.ctx, gen.SaveThrottleParams{
		Name: r.Name, Failures: r.Failures + 1, FailedAt: dbconn.Micros(now), UntilAt: dbconn.Micros(now.Add(t.Wait(r.Failures + 1))),
	})
}

// ForgiveTry says that an attempt did not fail. The account's failures are
// forgotten; of the address's only this one is, or whoever has an account could
// guess at others for ever.
func (s RateLimits) ForgiveTry(ctx context.Context, account, address string) error {
	return s.write(ctx, relaxed, func(tx *Tx) error {
		if err := tx.DeleteThrottle(tx.ctx, account); err != nil {
			return err
		}
		r, err := tx.holdThrottle(address)
		if err != nil {
			return err
		}
		return tx.SaveThrottle(tx.ctx, gen.SaveThrottleParams{Name: address, Failures: max(r.Failures-1, 0), FailedAt: r.FailedAt})
	})
}

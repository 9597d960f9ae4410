package flow

import (
	"errors"
	"time"
)

// ErrKeyTaken refuses a key whose ID another has, in this workspace or in one
// that nobody here may learn of.
var ErrKeyTaken = errors.New("flow: there is a key of this ID")

// Actor is who does something, as the audit log has it.
type Actor struct{ ID, IP string }

// MaxOverlap is how long an old text may work beside the new one.
const MaxOverlap = 30 * 24 * time.Hour

// OverlapEnd returns when the previous secret stops working after a rotation: after the
// overlap, but no later than the key itself expires.
func (k *Key) OverlapEnd(now time.Time, overlap time.Duration) time.Time {
	end := now.Add(overlap)
	if !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(end) {
		end = k.ExpiresAt
	}
	return end
}

// RenewedExpiry is when the key expires if it is rolled now: it gets as much
// time as its present text had. Zero is never.
func (k *Key) RenewedExpiry(now time.Time) time.Time {
	if k.ExpiresAt.IsZero() {
		return time.Time{}
	}
	began := k.CreatedAt
	if k.RolledAt.After(began) {
		began = k.RolledAt
	}
	return now.Add(k.ExpiresAt.Sub(began))
}

package flow

import (
	"errors"
	"time"
)

// ErrKeyTaken means that a key with this ID exists, possibly in another workspace, whose
// existence must not be revealed.
var ErrKeyTaken = errors.New("flow: a key with this ID exists already")

// Actor is the author of an action in the audit log.
type Actor struct{ ID, IP string }

// MaxOverlap bounds how long the previous secret works after a rotation.
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

// RenewedExpiry returns when the key expires if it is rotated now: the new secret gets the same
// lifetime as the current one. Zero means never.
func (k *Key) RenewedExpiry(now time.Time) time.Time {
	if k.ExpiresAt.IsZero() {
		return time.Time{}
	}
	began := k.CreatedAt
	if k.RotatedAt.After(began) {
		began = k.RotatedAt
	}
	return now.Add(k.ExpiresAt.Sub(began))
}

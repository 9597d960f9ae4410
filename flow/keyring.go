package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// KeyStore is what keys are kept in. What is missing is an Error of
// CodeNotFound.
type KeyStore interface {
	FindFlow(ctx context.Context, ws, id string) (*Flow, error)
	FindKey(ctx context.Context, ws, id string) (*Key, error)
	CreateKey(ctx context.Context, k *Key) error // ErrKeyTaken if there is one of its ID
	// UpdateKey writes name, flows, limits and expiry.
	UpdateKey(ctx context.Context, k *Key) error
	// RollKey writes a new text, if the one before is still Previous.Prefix.
	RollKey(ctx context.Context, k *Key) error
	EndPreviousKeyText(ctx context.Context, ws, id string) error
	RevokeKey(ctx context.Context, ws, id string) error
	AddAudit(ctx context.Context, e AuditEntry) error
}

// ErrKeyTaken refuses a key whose ID another has, in this workspace or in one
// that nobody here may learn of.
var ErrKeyTaken = errors.New("flow: there is a key of this ID")

// Keyring makes, changes, rolls and revokes keys, and writes down who did it.
// It is the one way to do so, for the dashboard and the command line alike.
type Keyring struct {
	Store KeyStore
	IDs   IDs
	Now   func() time.Time
}

// Actor is who does something, as the audit log has it.
type Actor struct{ ID, IP string }

// Create makes a key of the settings in k: name, scopes, flows, limits, expiry.
// It fills in the rest and returns the text, which is kept nowhere.
func (r *Keyring) Create(ctx context.Context, by Actor, k *Key) (text string, err error) {
	if err := r.Check(ctx, k); err != nil {
		return "", err
	}
	if k.ID == "" {
		k.ID = r.IDs.New(PrefixKey)
	}
	text = NewKeyText()
	k.Prefix, k.Hash, k.CreatedAt, k.CreatedBy = text[:KeyShown], Hash([]byte(text)), r.Now(), by.ID
	if err := r.Store.CreateKey(ctx, k); err != nil {
		return "", fmt.Errorf("create the key %s: %w", k.ID, err)
	}
	return text, r.audit(ctx, by, "key.create", k, k.Terms())
}

// Change gives a key the name, flows, limits and expiry of another. What a key
// may do stays: whoever holds it was given no more.
func (r *Keyring) Change(ctx context.Context, by Actor, ws, id string, wanted *Key) (*Key, error) {
	k, err := r.Store.FindKey(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if !k.RevokedAt.IsZero() {
		return nil, Errorf(CodeInputInvalid, "This key was revoked, so nothing of it can be changed.")
	}
	before := *k
	k.Name, k.Flows, k.ExpiresAt = wanted.Name, wanted.Flows, wanted.ExpiresAt
	k.RPM, k.Concurrency, k.RunsPerDay, k.USDPerDay = wanted.RPM, wanted.Concurrency, wanted.RunsPerDay, wanted.USDPerDay
	if err := r.checkChange(ctx, &before, k); err != nil {
		return nil, err
	}
	what := changesOfKey(&before, k)
	if len(what) == 0 {
		return k, nil
	}
	if err := r.Store.UpdateKey(ctx, k); err != nil {
		return nil, fmt.Errorf("change the key %s: %w", id, err)
	}
	return k, r.audit(ctx, by, "key.change", k, strings.Join(what, "; "))
}

// checkChange lets an expiry that is past stand, if it was so before.
func (r *Keyring) checkChange(ctx context.Context, before, k *Key) error {
	now := r.Now()
	if k.ExpiresAt.Equal(before.ExpiresAt) {
		now = before.CreatedAt
	}
	return r.check(ctx, k, now)
}

// Roll gives a key a new text, and returns it. The one with the prefix works on
// for the overlap, though not beyond its own expiry. A key that expires gets as
// much time again as its text had.
func (r *Keyring) Roll(ctx context.Context, by Actor, ws, id, prefix string, overlap time.Duration) (*Key, string, error) {
	k, err := r.Store.FindKey(ctx, ws, id)
	switch {
	case err != nil:
		return nil, "", err
	case !k.RevokedAt.IsZero():
		return nil, "", Errorf(CodeInputInvalid, "This key was revoked. Make a new one instead.")
	case k.Prefix != prefix:
		return nil, "", errRolledMeanwhile
	case overlap < 0 || overlap > MaxOverlap:
		return nil, "", Errorf(CodeInputInvalid, "The old key may work on for 30 days at most.")
	}
	text, now := NewKeyText(), r.Now()
	k.Previous = KeyText{Prefix: k.Prefix, Hash: k.Hash, Until: k.overlapEnd(now, overlap)}
	k.ExpiresAt = k.RenewedExpiry(now)
	k.Prefix, k.Hash, k.RolledAt = text[:KeyShown], Hash([]byte(text)), now
	if err := r.Store.RollKey(ctx, k); err != nil {
		if AsError(err).Code == CodeNotFound {
			return nil, "", errRolledMeanwhile
		}
		return nil, "", fmt.Errorf("roll the key %s: %w", id, err)
	}
	return k, text, r.audit(ctx, by, "key.roll", k, rollWords(k, now))
}

var errRolledMeanwhile = Errorf(CodeInputInvalid, "This key was rolled meanwhile, and has a newer text. Nothing was changed.")

// MaxOverlap is how long an old text may work beside the new one.
const MaxOverlap = 30 * 24 * time.Hour

func (k *Key) overlapEnd(now time.Time, overlap time.Duration) time.Time {
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

// EndPrevious stops the text that a key had before, at once.
func (r *Keyring) EndPrevious(ctx context.Context, by Actor, ws, id string) (*Key, error) {
	k, err := r.Store.FindKey(ctx, ws, id)
	if err != nil || !k.Overlaps(r.Now()) {
		return k, err
	}
	if err := r.Store.EndPreviousKeyText(ctx, ws, id); err != nil {
		return nil, fmt.Errorf("end the previous text of %s: %w", id, err)
	}
	return k, r.audit(ctx, by, "key.change", k, k.Previous.Prefix+"… stopped before its time")
}

// Revoke stops a key at once, the text before included. Revoking it again
// changes nothing.
func (r *Keyring) Revoke(ctx context.Context, by Actor, ws, id string) (*Key, error) {
	k, err := r.Store.FindKey(ctx, ws, id)
	if err != nil || !k.RevokedAt.IsZero() {
		return k, err
	}
	if err := r.Store.RevokeKey(ctx, ws, id); err != nil {
		return nil, fmt.Errorf("revoke the key %s: %w", id, err)
	}
	return k, r.audit(ctx, by, "key.revoke", k, k.lastUse())
}

// audit writes down what was done to a key, under its name and with its ID.
func (r *Keyring) audit(ctx context.Context, by Actor, action string, k *Key, detail string) error {
	return r.Store.AddAudit(ctx, AuditEntry{
		WorkspaceID: k.WorkspaceID, Actor: by.ID, Action: action, Target: k.Name, Detail: k.ID + " · " + detail, IP: by.IP,
	})
}

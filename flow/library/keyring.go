package library

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/audittext"
)

// KeyStore is what keys are kept in. What is missing is an Error of
// CodeNotFound.
type KeyStore interface {
	FindFlow(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.Flow, error)
	FindKey(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.Key, error)
	CreateKey(ctx context.Context, k *flow.Key) error // ErrKeyTaken if there is one of its ID
	// UpdateKey writes name, flows, limits and expiry.
	UpdateKey(ctx context.Context, k *flow.Key) error
	// RollKey writes a new text, if the one before is still Previous.Prefix.
	RollKey(ctx context.Context, k *flow.Key) error
	EndPreviousKeyText(ctx context.Context, ws flow.WorkspaceID, id string) error
	RevokeKey(ctx context.Context, ws flow.WorkspaceID, id string) error
	AddAudit(ctx context.Context, e flow.AuditEntry) error
}

// Keyring makes, changes, rolls and revokes keys, and writes down who did it.
// It is the one way to do so, for the dashboard and the command line alike.
type Keyring struct {
	Store KeyStore
	IDs   flow.IDs
	Now   func() time.Time
}

// Create makes a key of the settings in k: name, scopes, flows, limits, expiry.
// It fills in the rest and returns the text, which is kept nowhere.
func (r *Keyring) Create(ctx context.Context, by flow.Actor, k *flow.Key) (text string, err error) {
	if err := r.Check(ctx, k); err != nil {
		return "", err
	}
	if k.ID == "" {
		k.ID = r.IDs.New(flow.PrefixKey)
	}
	text = flow.NewKeyText()
	k.Prefix, k.Hash, k.CreatedAt, k.CreatedBy = text[:flow.KeyShown], flow.Hash([]byte(text)), r.Now(), by.ID
	if err := r.Store.CreateKey(ctx, k); err != nil {
		return "", fmt.Errorf("create the key %s: %w", k.ID, err)
	}
	return text, r.audit(ctx, by, "key.create", k, audittext.KeyTerms(k))
}

// Change gives a key the name, flows, limits and expiry of another. What a key
// may do stays, since its holder was told what it may do.
func (r *Keyring) Change(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string, wanted *flow.Key) (*flow.Key, error) {
	k, err := r.Store.FindKey(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if !k.RevokedAt.IsZero() {
		return nil, flow.Errorf(flow.CodeInputInvalid, "This key was revoked, so nothing of it can be changed.")
	}
	before := *k
	k.Name, k.Flows, k.ExpiresAt = wanted.Name, wanted.Flows, wanted.ExpiresAt
	k.RPM, k.Concurrency, k.RunsPerDay, k.USDPerDay = wanted.RPM, wanted.Concurrency, wanted.RunsPerDay, wanted.USDPerDay
	k.AllowUnpriced = wanted.AllowUnpriced
	if err := r.checkChange(ctx, &before, k); err != nil {
		return nil, err
	}
	what := audittext.KeyChanges(&before, k)
	if len(what) == 0 {
		return k, nil
	}
	if err := r.Store.UpdateKey(ctx, k); err != nil {
		return nil, fmt.Errorf("change the key %s: %w", id, err)
	}
	return k, r.audit(ctx, by, "key.change", k, strings.Join(what, "; "))
}

// checkChange lets an expiry that is past stand, if it was so before.
func (r *Keyring) checkChange(ctx context.Context, before, k *flow.Key) error {
	now := r.Now()
	if k.ExpiresAt.Equal(before.ExpiresAt) {
		now = before.CreatedAt
	}
	return r.check(ctx, k, now)
}

// Roll gives a key a new text, and returns it. The one with the prefix works on
// for the overlap, though not beyond its own expiry. A key that expires gets as
// much time again as its text had.
func (r *Keyring) Roll(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id, prefix string, overlap time.Duration) (*flow.Key, string, error) {
	k, err := r.Store.FindKey(ctx, ws, id)
	switch {
	case err != nil:
		return nil, "", err
	case !k.RevokedAt.IsZero():
		return nil, "", flow.Errorf(flow.CodeInputInvalid, "This key was revoked. Make a new one instead.")
	case k.Prefix != prefix:
		return nil, "", errRolledMeanwhile
	case overlap < 0 || overlap > flow.MaxOverlap:
		return nil, "", flow.Errorf(flow.CodeInputInvalid, "The old key may work on for 30 days at most.")
	}
	text, now := flow.NewKeyText(), r.Now()
	k.Previous = flow.KeyText{Prefix: k.Prefix, Hash: k.Hash, Until: k.OverlapEnd(now, overlap)}
	k.ExpiresAt = k.RenewedExpiry(now)
	k.Prefix, k.Hash, k.RolledAt = text[:flow.KeyShown], flow.Hash([]byte(text)), now
	if err := r.Store.RollKey(ctx, k); err != nil {
		if flow.AsError(err).Code == flow.CodeNotFound {
			return nil, "", errRolledMeanwhile
		}
		return nil, "", fmt.Errorf("roll the key %s: %w", id, err)
	}
	return k, text, r.audit(ctx, by, "key.roll", k, audittext.KeyRotation(k, now))
}

var errRolledMeanwhile = flow.Errorf(flow.CodeInputInvalid, "This key was rolled meanwhile, and has a newer text. Nothing was changed.")

// EndPrevious stops the text that a key had before, at once.
func (r *Keyring) EndPrevious(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string) (*flow.Key, error) {
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
func (r *Keyring) Revoke(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string) (*flow.Key, error) {
	k, err := r.Store.FindKey(ctx, ws, id)
	if err != nil || !k.RevokedAt.IsZero() {
		return k, err
	}
	if err := r.Store.RevokeKey(ctx, ws, id); err != nil {
		return nil, fmt.Errorf("revoke the key %s: %w", id, err)
	}
	return k, r.audit(ctx, by, "key.revoke", k, audittext.KeyLastUse(k))
}

// audit writes down what was done to a key, under its name and with its ID.
func (r *Keyring) audit(ctx context.Context, by flow.Actor, action string, k *flow.Key, detail string) error {
	return r.Store.AddAudit(ctx, flow.AuditEntry{
		WorkspaceID: k.WorkspaceID, Actor: by.ID, Action: action, Target: k.Name, Detail: k.ID + " · " + detail, IP: by.IP,
	})
}

// Check tidies the settings of a key and tells everything that is wrong with
// them, each under the name of its setting.
func (r *Keyring) Check(ctx context.Context, k *flow.Key) error { return r.check(ctx, k, r.Now()) }

func (r *Keyring) check(ctx context.Context, k *flow.Key, now time.Time) error {
	k.Name = strings.TrimSpace(k.Name)
	var wrong []flow.Problem
	say := func(setting, code, sentence string) {
		if sentence != "" {
			wrong = append(wrong, flow.Problem{Pointer: flow.Pointer(setting), Code: code, Detail: sentence})
		}
	}
	say("name", "invalid", flow.CheckKeyName(k.Name))
	if sentence := flow.CheckScopes(k.Scopes); sentence != "" {
		say("scopes", "invalid", sentence)
	} else {
		k.Scopes = slices.DeleteFunc(slices.Clone(flow.Scopes), func(s flow.Scope) bool { return !slices.Contains(k.Scopes, s) }) // each once
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		say("expires", "invalid", "This is past. Choose a later day.")
	}
	say("rpm", "invalid", flow.CheckKeyLimit(k.RPM))
	say("concurrency", "invalid", flow.CheckKeyLimit(k.Concurrency))
	say("runs_per_day", "invalid", flow.CheckKeyLimit(k.RunsPerDay))
	if k.USDPerDay < 0 || k.USDPerDay > flow.MaxUSD {
		say("usd_per_day", "invalid", "An amount up to a million, or nothing.")
	}
	sentence, err := r.checkFlows(ctx, k)
	if err != nil {
		return err
	}
	say("flows", "not_found", sentence)
	if len(wrong) > 0 {
		return &flow.Error{Code: flow.CodeInputInvalid, Message: "The key was not saved.", Fields: wrong}
	}
	return nil
}

// checkFlows wants flows of the key's own workspace, and each once.
func (r *Keyring) checkFlows(ctx context.Context, k *flow.Key) (sentence string, err error) {
	slices.Sort(k.Flows)
	k.Flows = slices.Compact(k.Flows)
	for _, id := range k.Flows {
		if !flow.ValidID(flow.PrefixFlow, id) {
			return fmt.Sprintf("There is no flow %.40q.", id), nil
		}
		_, err := r.Store.FindFlow(ctx, k.WorkspaceID, id)
		if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
			return "There is no flow " + id + ".", nil
		}
		if err != nil {
			return "", fmt.Errorf("find %s for a key: %w", id, err)
		}
	}
	return "", nil
}

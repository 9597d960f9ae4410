package library

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/audit"
	"sluice/flow/document"
	"sluice/flow/sorting"
)

// KeyStore stores keys. It returns CodeNotFound for a missing key or flow.
type KeyStore interface {
	FindFlow(ctx context.Context, ws flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error)
	// FindFlowID returns the ID of the flow with a slug, current or former.
	FindFlowID(ctx context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, error)
	FindKey(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.Key, error)
	// ListKeyTree returns the IDs of a key and of the keys that it created, directly or through
	// others.
	ListKeyTree(ctx context.Context, ws flow.WorkspaceID, id string) ([]string, error)
	CreateKey(ctx context.Context, k *flow.Key) error // ErrKeyTaken if a key has its ID
	// UpdateKey writes name, flows, limits and expiry. It returns ErrKeyOutdated if the key no
	// longer equals before.
	UpdateKey(ctx context.Context, before, k *flow.Key) error
	// RotateKey stores a new secret, if the old one still begins with Previous.Prefix.
	RotateKey(ctx context.Context, k *flow.Key) error
	RevokePreviousSecret(ctx context.Context, ws flow.WorkspaceID, id string) error
	RevokeKey(ctx context.Context, ws flow.WorkspaceID, id string) error
	// RevokeMadeKeys revokes the keys that a revoked key has created, directly or through
	// others, and returns them.
	RevokeMadeKeys(ctx context.Context, ws flow.WorkspaceID, id string) ([]flow.Key, error)
	AddAudit(ctx context.Context, e flow.AuditEntry) error
	// InTransaction runs the writes that fn makes with its context in one transaction.
	InTransaction(ctx context.Context, fn func(ctx context.Context) error) error
}

// Keyring creates, changes, rotates and revokes keys, and records who did it in the same
// transaction. It is the only way to do so, for the dashboard, the command line and the API.
type Keyring struct {
	Store KeyStore
	IDs   flow.IDs
	Now   func() time.Time
	// Caller is the key that uses the API, or nil for users. It may manage only keys within its
	// own rights.
	Caller *flow.Key
}

// Create creates a key with the settings in k: name, scopes, flows, limits, expiry. It sets the
// other fields and returns the secret, which is not stored.
func (r *Keyring) Create(ctx context.Context, by flow.Actor, k *flow.Key) (text string, err error) {
	if err := r.Check(ctx, k); err != nil {
		return "", err
	}
	if err := r.mayCreate(k); err != nil {
		return "", err
	}
	if k.ID == "" {
		k.ID = r.IDs.New(flow.PrefixKey)
	}
	text = flow.NewKeyText()
	k.Prefix, k.Hash, k.CreatedAt, k.CreatedBy = text[:flow.KeyShown], flow.Hash([]byte(text)), r.Now(), by.ID
	return text, r.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := r.Store.CreateKey(ctx, k); err != nil {
			return fmt.Errorf("create the key %s: %w", k.ID, err)
		}
		return r.audit(ctx, by, "key.create", k, audit.KeyTerms(k))
	})
}

// Find returns a key that may be managed.
func (r *Keyring) Find(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.Key, error) {
	k, err := r.Store.FindKey(ctx, ws, id)
	if err == nil {
		err = r.mayManage(k)
	}
	return k, err
}

// maxChanges bounds the retries of a change when the key is changed concurrently.
const maxChanges = 5

// Change changes the name, flows, limits and expiry of a key; it ignores changes of other fields.
// Scopes are fixed, because the holder was told what the key may do. set is called with the
// current key, possibly more than once.
func (r *Keyring) Change(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string, set func(k *flow.Key)) (k *flow.Key, err error) {
	for range maxChanges {
		if k, err = r.change(ctx, by, ws, id, set); !errors.Is(err, flow.ErrKeyOutdated) {
			return k, err
		}
	}
	return nil, err
}

// change makes one attempt at Change. It checks the changed key and stores it with an audit entry,
// unless nothing changed.
func (r *Keyring) change(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string, set func(k *flow.Key)) (*flow.Key, error) {
	k, err := r.Find(ctx, ws, id)
	if err != nil {
		return nil, err
	}
	if !k.RevokedAt.IsZero() {
		return nil, flow.Errorf(flow.CodeInputInvalid, "This key was revoked, so it cannot be changed.")
	}
	before, wanted := *k, *k
	set(&wanted)
	k.Name, k.Flows, k.ExpiresAt = wanted.Name, slices.Clone(wanted.Flows), wanted.ExpiresAt
	k.RPM, k.Concurrency, k.RunsPerDay, k.USDPerDay = wanted.RPM, wanted.Concurrency, wanted.RunsPerDay, wanted.USDPerDay
	k.AllowUnpriced = wanted.AllowUnpriced
	if err := r.checkChange(ctx, &before, k); err != nil {
		return nil, err
	}
	if err := r.mayChange(ctx, &before, k); err != nil {
		return nil, err
	}
	what := audit.KeyChanges(&before, k)
	if len(what) == 0 {
		return k, nil
	}
	return k, r.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := r.Store.UpdateKey(ctx, &before, k); err != nil {
			return fmt.Errorf("change the key %s: %w", id, err)
		}
		return r.audit(ctx, by, "key.change", k, strings.Join(what, "; "))
	})
}

// checkChange is check, except that an unchanged expiry may be in the past.
func (r *Keyring) checkChange(ctx context.Context, before, k *flow.Key) error {
	now := r.Now()
	if k.ExpiresAt.Equal(before.ExpiresAt) {
		now = before.CreatedAt
	}
	return r.check(ctx, k, now)
}

// Rotate replaces the secret of a key and returns the new one. The old secret, which begins with the
// prefix, keeps working for the overlap, but not beyond its own expiry. A key that expires
// gets as much time again as its old secret had, but not more than the calling key has.
func (r *Keyring) Rotate(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id, prefix string, overlap time.Duration) (*flow.Key, string, error) {
	k, err := r.Find(ctx, ws, id)
	switch {
	case err != nil:
		return nil, "", err
	case !k.RevokedAt.IsZero():
		return nil, "", flow.Errorf(flow.CodeInputInvalid, "This key was revoked. Create a new one instead.")
	case k.Prefix != prefix:
		return nil, "", errRotatedMeanwhile
	case overlap < 0 || overlap > flow.MaxOverlap:
		return nil, "", flow.Errorf(flow.CodeInputInvalid, "Keep the old key valid for at most 30 days.")
	}
	if err := r.mayRotate(ctx, k); err != nil {
		return nil, "", err
	}
	if err := r.addRotator(k); err != nil {
		return nil, "", err
	}
	text, now := flow.NewKeyText(), r.Now()
	k.Previous = flow.PreviousSecret{Prefix: k.Prefix, Hash: k.Hash, Until: k.OverlapEnd(now, overlap)}
	k.ExpiresAt = r.withinCaller(k.RenewedExpiry(now))
	k.Prefix, k.Hash, k.RotatedAt = text[:flow.KeyShown], flow.Hash([]byte(text)), now
	err = r.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := r.Store.RotateKey(ctx, k); err != nil {
			return err
		}
		return r.audit(ctx, by, "key.roll", k, audit.KeyRotation(k, now))
	})
	if flow.IsNotFound(err) {
		return nil, "", errRotatedMeanwhile
	}
	if err != nil {
		return nil, "", fmt.Errorf("roll the key %s: %w", id, err)
	}
	return k, text, nil
}

// maxRotators bounds Key.RotatedBy.
const maxRotators = 100

// addRotator records that another key rotates k, so that the two are related.
func (r *Keyring) addRotator(k *flow.Key) error {
	switch {
	case r.Caller == nil || r.Caller.ID == "" || r.Caller.ID == k.ID || slices.Contains(k.RotatedBy, r.Caller.ID):
		return nil
	case len(k.RotatedBy) >= maxRotators:
		return flow.Errorf(flow.CodeQuotaExceeded, "This key was rotated by %d different keys. Create a new one instead.", len(k.RotatedBy))
	}
	k.RotatedBy = append(slices.Clone(k.RotatedBy), r.Caller.ID)
	return nil
}

var errRotatedMeanwhile = flow.Errorf(flow.CodeInputInvalid, "Someone rotated this key meanwhile, so it has a newer secret. Nothing was changed.")

// EndPrevious revokes the previous secret of a key immediately.
func (r *Keyring) EndPrevious(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string) (*flow.Key, error) {
	k, err := r.Find(ctx, ws, id)
	if err != nil || !k.Overlaps(r.Now()) {
		return k, err
	}
	return k, r.Store.InTransaction(ctx, func(ctx context.Context) error {
		if err := r.Store.RevokePreviousSecret(ctx, ws, id); err != nil {
			return fmt.Errorf("revoke the previous secret of %s: %w", id, err)
		}
		return r.audit(ctx, by, "key.change", k, k.Previous.Prefix+"… stopped before its time")
	})
}

// Revoke revokes a key immediately, including its previous secret. With cascade it also revokes
// the keys that the key created, directly or through others, and returns them. It is idempotent.
func (r *Keyring) Revoke(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, id string, cascade bool) (k *flow.Key, made []flow.Key, err error) {
	if k, err = r.Find(ctx, ws, id); err != nil {
		return nil, nil, err
	}
	err = r.Store.InTransaction(ctx, func(ctx context.Context) error {
		if k.RevokedAt.IsZero() {
			if err := r.Store.RevokeKey(ctx, ws, id); err != nil {
				return fmt.Errorf("revoke the key %s: %w", id, err)
			}
			if err := r.audit(ctx, by, "key.revoke", k, audit.KeyLastUse(k)); err != nil {
				return err
			}
		}
		if !cascade {
			return nil
		}
		if made, err = r.Store.RevokeMadeKeys(ctx, ws, id); err != nil {
			return fmt.Errorf("revoke the keys that %s created: %w", id, err)
		}
		for i := range made {
			if err := r.audit(ctx, by, "key.revoke", &made[i], audit.KeyLastUse(&made[i])+"; with "+id+", which made it"); err != nil {
				return err
			}
		}
		return nil
	})
	return k, made, err
}

// audit records an action on a key in the audit log, with its name and ID.
func (r *Keyring) audit(ctx context.Context, by flow.Actor, action string, k *flow.Key, detail string) error {
	return r.Store.AddAudit(ctx, flow.AuditEntry{
		WorkspaceID: k.WorkspaceID, Actor: by.ID, Action: action, Target: k.Name, Detail: k.ID + " · " + detail, IP: by.IP,
	})
}

// Check normalizes the settings of a key and returns all problems with them, by the names of the
// settings.
func (r *Keyring) Check(ctx context.Context, k *flow.Key) error { return r.check(ctx, k, r.Now()) }

// check validates the settings of a key and reports all problems at once.
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
		say("expires", "invalid", "This is in the past. Choose a later day.")
	}
	say("rpm", "invalid", flow.CheckKeyLimit(k.RPM))
	say("concurrency", "invalid", flow.CheckKeyLimit(k.Concurrency))
	say("runs_per_day", "invalid", flow.CheckKeyLimit(k.RunsPerDay))
	if k.USDPerDay < 0 || k.USDPerDay > flow.MaxUSD {
		say("usd_per_day", "invalid", "Enter an amount up to a million, or leave it empty.")
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

// checkFlows checks that the flows of a key exist in its workspace. It replaces slugs by IDs and
// removes duplicates.
func (r *Keyring) checkFlows(ctx context.Context, k *flow.Key) (sentence string, err error) {
	k.Flows = slices.Clone(k.Flows)
	for i, name := range k.Flows {
		id := flow.FlowID(name)
		if !flow.ValidID(flow.PrefixFlow, name) {
			if !document.ValidSlug(name) {
				return fmt.Sprintf("There is no flow %.40q.", name), nil
			}
			id, err = r.Store.FindFlowID(ctx, k.WorkspaceID, name)
		} else {
			_, err = r.Store.FindFlow(ctx, k.WorkspaceID, id)
		}
		if flow.IsNotFound(err) {
			return "There is no flow " + name + ".", nil
		}
		if err != nil {
			return "", fmt.Errorf("find %s for a key: %w", name, err)
		}
		k.Flows[i] = string(id)
	}
	sorting.Strings(k.Flows)
	k.Flows = slices.Compact(k.Flows)
	return "", nil
}

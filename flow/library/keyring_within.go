package library

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow"
)

// These rules prevent privilege escalation by a key that manages others. A key that it creates has
// no right that it lacks itself, and counts against its limits. A key that it changes must be
// within its rights before and after the change.

// mayCreate returns an error unless the new key is within the caller's rights.
func (r *Keyring) mayCreate(k *flow.Key) error {
	if r.Caller == nil {
		return nil
	}
	if len(r.Caller.Makers) >= flow.MaxKeyMakers {
		return flow.Errorf(flow.CodeExceedsKey, "This key is at the end of a chain of %d keys that created each other, so it may not create more.", len(r.Caller.Makers))
	}
	return exceeds(r.Caller, k, "The new key would exceed the key in the request.")
}

// mayManage returns an error unless a key is within the caller's rights.
func (r *Keyring) mayManage(k *flow.Key) error {
	switch {
	case r.Caller == nil || k.ID == r.Caller.ID:
		return nil
	case !flowsWithin(r.Caller, k):
		return flow.Errorf(flow.CodeFlowNotAllowed, "The key %q is for flows that the key in the request may not call.", k.Name)
	}
	return exceeds(r.Caller, k, fmt.Sprintf("The key %q exceeds the key in the request, which may manage only keys within its own rights.", k.Name))
}

// mayChange returns an error if a changed key would exceed the caller. A caller with limits must
// not loosen a key that does not count against them, because a holder of both would gain.
func (r *Keyring) mayChange(ctx context.Context, before, k *flow.Key) error {
	if r.Caller == nil {
		return nil
	}
	if err := exceeds(r.Caller, k, "The key would exceed the key in the request."); err != nil {
		return err
	}
	if !Limited(r.Caller) {
		return nil
	}
	own, err := r.owns(ctx, k)
	if err != nil || own {
		return err
	}
	return exceeds(before, k, "The key in the request has limits and did not create this key, so it may not loosen it.")
}

// mayRotate returns an error if the caller would gain from the new secret of a key: an additional
// budget, or access to runs that only that key may read.
func (r *Keyring) mayRotate(ctx context.Context, k *flow.Key) error {
	if r.Caller == nil {
		return nil
	}
	own, err := r.owns(ctx, k)
	switch {
	case err != nil || own:
		return err
	case Limited(r.Caller):
		return flow.Errorf(flow.CodeExceedsKey, "The key in the request has limits, so it may rotate only itself and keys that it created, which count against its limits.")
	case k.Has(flow.ScopeRun) && !r.Caller.Has(flow.ScopeRead):
		return flow.Errorf(flow.CodeExceedsKey, "The key in the request did not create this key and lacks the scope %q, so it may not rotate it: the new secret gives access to runs that this key started.", flow.ScopeRead)
	}
	return nil
}

// MayReadSecret returns an error unless the caller may read the webhook secret of a key: a key may
// read those of itself and of keys that it created, because it could sign messages in the name of
// others. Users may read all.
func (r *Keyring) MayReadSecret(ctx context.Context, k *flow.Key) error {
	if r.Caller == nil {
		return nil
	}
	own, err := r.owns(ctx, k)
	if err != nil || own {
		return err
	}
	return flow.Errorf(flow.CodeExceedsKey, "The key in the request did not make this key, so it may not read its webhook secret: with that, messages could be signed in its name.")
}

// owns reports whether a key is the caller or was created by it, directly or through others.
func (r *Keyring) owns(ctx context.Context, k *flow.Key) (bool, error) {
	tree, err := r.Store.ListKeyTree(ctx, k.WorkspaceID, r.Caller.ID)
	return slices.Contains(tree, k.ID), err
}

// withinCaller returns the earlier of an expiry and that of the caller.
func (r *Keyring) withinCaller(at time.Time) time.Time {
	if r.Caller == nil || r.Caller.ExpiresAt.IsZero() || !at.IsZero() && at.Before(r.Caller.ExpiresAt) {
		return at
	}
	return r.Caller.ExpiresAt
}

// limited reports whether a key has any limit.
func limited(k *flow.Key) bool {
	return k.RPM > 0 || k.Concurrency > 0 || k.RunsPerDay > 0 || k.USDPerDay > 0
}

// Limited reports whether a key or one of its makers has any limit. Its usage counts against the
// limits of all of them.
func Limited(k *flow.Key) bool {
	return limited(k) || slices.ContainsFunc(k.Makers, func(m flow.Key) bool { return limited(&m) })
}

// Sees reports whether a key with ScopeAdmin may see another key in lists: only keys for a subset
// of its flows.
func Sees(caller, k *flow.Key) bool {
	return k.ID == caller.ID || flowsWithin(caller, k)
}

// flowsWithin reports whether a key may call only flows that another may call. An empty list means
// all flows, including future ones.
func flowsWithin(outer, k *flow.Key) bool {
	if len(outer.Flows) == 0 {
		return true
	}
	return len(k.Flows) > 0 && !slices.ContainsFunc(k.Flows, func(id string) bool { return !outer.Allows(flow.FlowID(id)) })
}

// exceeds returns an error that lists all rights of a key that another key lacks, or nil.
func exceeds(outer, k *flow.Key, message string) error {
	var wrong []flow.Problem
	say := func(setting, sentence string) {
		wrong = append(wrong, flow.Problem{Pointer: flow.Pointer(setting), Code: string(flow.CodeExceedsKey), Detail: sentence})
	}
	var scopes []string
	for _, s := range k.Scopes {
		if !outer.Has(s) {
			scopes = append(scopes, string(s))
		}
	}
	if len(scopes) > 0 {
		say("scopes", "the key in the request lacks "+strings.Join(scopes, ", "))
	}
	if !flowsWithin(outer, k) {
		say("flows", "the key in the request is limited to a list of flows; choose from these")
	}
	if end := outer.ExpiresAt; !end.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(end)) {
		say("expires", "the key in the request expires earlier, at "+end.UTC().Format(time.RFC3339))
	}
	for _, l := range []struct {
		name     string
		most, is int64
	}{
		{"rpm", outer.RPM, k.RPM}, {"concurrency", outer.Concurrency, k.Concurrency},
		{"runs_per_day", outer.RunsPerDay, k.RunsPerDay}, {"usd_per_day", int64(outer.USDPerDay), int64(k.USDPerDay)},
	} {
		if l.most > 0 && (l.is <= 0 || l.is > l.most) {
			say(l.name, "the key in the request has a lower limit")
		}
	}
	if outer.USDPerDay > 0 && !outer.AllowUnpriced && k.AllowUnpriced {
		say("allow_unpriced", "the key in the request does not allow models without a price")
	}
	if len(wrong) == 0 {
		return nil
	}
	return &flow.Error{Code: flow.CodeExceedsKey, Message: message, Fields: wrong}
}

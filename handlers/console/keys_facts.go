package console

import (
	"time"

	"sluice/flow"
	"sluice/flow/audit"
	consoleview "sluice/views/console"
)

// keyFacts converts what pages show about a key at the given time. It returns
// nil for nil.
func keyFacts(k *flow.Key, now time.Time) *consoleview.KeyFacts {
	if k == nil {
		return nil
	}
	p := &k.Previous
	return &consoleview.KeyFacts{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scopes: scopeNames(k.Scopes), Limits: audit.KeyLimits(k),
		State: string(k.State(now)), EndsSoon: k.ExpiresSoon(now), Overlaps: k.Overlaps(now),
		Previous:  consoleview.PreviousKey{Prefix: p.Prefix, Until: p.Until, UsedAt: p.UsedAt, UsedIP: p.UsedIP, Uses: p.Uses},
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt, LastUsedIP: k.LastUsedIP,
		Uses: k.Uses, RenewedExpiry: k.RenewedExpiry(now),
	}
}

// scopeNames converts scopes to names.
func scopeNames(scopes []flow.Scope) []string {
	list := make([]string, len(scopes))
	for i, s := range scopes {
		list[i] = string(s)
	}
	return list
}

// scopesOf converts names to scopes. Unknown ones are refused when the key is
// created.
func scopesOf(names []string) []flow.Scope {
	list := make([]flow.Scope, len(names))
	for i, name := range names {
		list[i] = flow.Scope(name)
	}
	return list
}

package console

import (
	"time"

	"sluice/flow"
	consoleview "sluice/views/console"
)

// keyFacts returns what pages show of a key at a time; nil stays nil.
func keyFacts(k *flow.Key, now time.Time) *consoleview.KeyFacts {
	if k == nil {
		return nil
	}
	p := &k.Previous
	return &consoleview.KeyFacts{
		ID: k.ID, Name: k.Name, Prefix: k.Prefix, Scopes: scopeNames(k.Scopes), Limits: k.Limits(),
		State: string(k.State(now)), EndsSoon: k.EndsSoon(now), Overlaps: k.Overlaps(now),
		Previous:  consoleview.PreviousKey{Prefix: p.Prefix, Until: p.Until, UsedAt: p.UsedAt, UsedIP: p.UsedIP, Uses: p.Uses},
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, LastUsedAt: k.LastUsedAt, LastUsedIP: k.LastUsedIP,
		Uses: k.Uses, RenewedExpiry: k.RenewedExpiry(now),
	}
}

func scopeNames(scopes []flow.Scope) []string {
	list := make([]string, len(scopes))
	for i, s := range scopes {
		list[i] = string(s)
	}
	return list
}

func scopesOf(names []string) []flow.Scope {
	list := make([]flow.Scope, len(names))
	for i, name := range names {
		list[i] = flow.Scope(name)
	}
	return list
}

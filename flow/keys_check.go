package flow

import (
	"fmt"
	"slices"
	"strings"
)

// Most that settings of a key may be.
const (
	maxKeyName  = 100
	maxKeyLimit = 1_000_000_000
	maxMadeKeys = 1_000
)

// Scopes are all scopes, from the least to the most.
var Scopes = []Scope{ScopeRun, ScopeRead, ScopeManage, ScopeEdit, ScopeApprove, ScopeAdmin}

// CheckKeyName returns why a key cannot have a name, or "". A name that looks like a key
// is rejected: names are not secret, so a pasted key would leak.
func CheckKeyName(name string) string {
	switch {
	case name == "":
		return "Say what the key is for."
	case keyLike(name):
		return "This looks like a key. A name is shown to everybody; say what the key is for."
	}
	return CheckName(name, maxKeyName)
}

// keyLike reports whether a word looks like a key that was pasted where it would be shown.
func keyLike(text string) bool {
	return slices.ContainsFunc(strings.Fields(text), ValidKeyText)
}

// CheckScopes returns why a key cannot have these scopes, or "".
func CheckScopes(list []Scope) string {
	if len(list) == 0 {
		return "Choose at least one."
	}
	for _, s := range list {
		if !slices.Contains(Scopes, s) {
			return fmt.Sprintf("There is no scope %.20q; there are run, read, manage, edit, approve and admin.", string(s))
		}
	}
	return ""
}

// CheckKeyLimit returns why a limit of a key is not valid, or "". 0 means unlimited.
func CheckKeyLimit(n int64) string {
	if n < 0 || n > maxKeyLimit {
		return "A whole number from 1 to 1,000,000,000, or nothing."
	}
	return ""
}

// CheckMadeKeys returns an error if a key that has made n keys, which work or have expired,
// may not make another.
func CheckMadeKeys(n int64) error {
	if n < maxMadeKeys {
		return nil
	}
	return Errorf(CodeQuotaExceeded, "This key has made %d keys. Revoke those that are not needed.", n)
}

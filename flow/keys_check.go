package flow

import (
	"fmt"
	"slices"
	"strings"
)

// Upper limits of the settings of keys.
const (
	maxKeyName  = 100
	maxKeyLimit = 1_000_000_000
	maxMadeKeys = 1_000
)

// CheckKeyName returns why a name is invalid for a key, or "". A name that looks like a key is
// rejected, because names are not secret and a pasted key would leak.
func CheckKeyName(name string) string {
	switch {
	case name == "":
		return "Say what the key is for."
	case looksLikeKey(name):
		return "This looks like a key. A name is shown to everybody; say what the key is for."
	}
	return CheckName(name, maxKeyName)
}

// looksLikeKey reports whether a text contains a word that looks like a key.
func looksLikeKey(text string) bool {
	return slices.ContainsFunc(strings.Fields(text), ValidKeyText)
}

// CheckScopes returns why a list of scopes is invalid, or "".
func CheckScopes(list []Scope) string {
	if len(list) == 0 {
		return "Choose at least one."
	}
	for _, s := range list {
		if !slices.Contains(Scopes, s) {
			return fmt.Sprintf("There is no scope %.20q; wanted one of %s.", string(s), ScopeNames())
		}
	}
	return ""
}

// CheckKeyLimit returns why a limit of a key is not valid, or "". 0 means unlimited.
func CheckKeyLimit(n int64) string {
	if n < 0 || n > maxKeyLimit {
		return "Enter a whole number from 1 to 1,000,000,000, or leave it empty."
	}
	return ""
}

// CheckMadeKeys returns an error if a key that has created n keys may not create another.
// n excludes revoked keys.
func CheckMadeKeys(n int64) error {
	if n < maxMadeKeys {
		return nil
	}
	return Errorf(CodeQuotaExceeded, "This key has created %d keys. Revoke those that are no longer needed.", n)
}

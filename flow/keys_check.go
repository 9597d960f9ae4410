package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Most that settings of a key may be.
const (
	maxKeyName  = 100
	maxKeyLimit = 1_000_000_000
	maxKeyUSD   = 1_000_000 * 1_000_000_000 // nano-dollars
)

// Scopes are all scopes, from the least to the most.
var Scopes = []Scope{ScopeRun, ScopeRead, ScopeManage}

// Check tidies the settings of a key and tells everything that is wrong with
// them, each under the name of its setting.
func (r *Keyring) Check(ctx context.Context, k *Key) error { return r.check(ctx, k, r.Now()) }

func (r *Keyring) check(ctx context.Context, k *Key, now time.Time) error {
	k.Name = strings.TrimSpace(k.Name)
	var wrong []Problem
	say := func(setting, code, sentence string) {
		if sentence != "" {
			wrong = append(wrong, Problem{Pointer: Pointer(setting), Code: code, Detail: sentence})
		}
	}
	say("name", "invalid", checkKeyName(k.Name))
	if sentence := checkScopes(k.Scopes); sentence != "" {
		say("scopes", "invalid", sentence)
	} else {
		k.Scopes = slices.DeleteFunc(slices.Clone(Scopes), func(s Scope) bool { return !slices.Contains(k.Scopes, s) }) // each once
	}
	if !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) {
		say("expires", "invalid", "This is past. Choose a later day.")
	}
	say("rpm", "invalid", checkKeyLimit(k.RPM))
	say("concurrency", "invalid", checkKeyLimit(k.Concurrency))
	say("runs_per_day", "invalid", checkKeyLimit(k.RunsPerDay))
	if k.USDPerDay < 0 || k.USDPerDay > maxKeyUSD {
		say("usd_per_day", "invalid", "An amount up to a million, or nothing.")
	}
	sentence, err := r.checkFlows(ctx, k)
	if err != nil {
		return err
	}
	say("flows", "not_found", sentence)
	if len(wrong) > 0 {
		return &Error{Code: CodeInputInvalid, Message: "The key was not saved.", Fields: wrong}
	}
	return nil
}

func checkKeyName(name string) string {
	switch {
	case name == "":
		return "Say what the key is for."
	case keyLike(name):
		return "This looks like a key. A name is shown to everybody; say what the key is for."
	}
	return CheckName(name, maxKeyName)
}

// keyLike tells that a word is a key, pasted where it would be shown.
func keyLike(text string) bool {
	return slices.ContainsFunc(strings.Fields(text), ValidKeyText)
}

func checkScopes(list []Scope) string {
	if len(list) == 0 {
		return "Choose at least one."
	}
	for _, s := range list {
		if !slices.Contains(Scopes, s) {
			return fmt.Sprintf("There is no scope %.20q; there are run, read and manage.", string(s))
		}
	}
	return ""
}

func checkKeyLimit(n int64) string {
	if n < 0 || n > maxKeyLimit {
		return "A whole number from 1 to 1,000,000,000, or nothing."
	}
	return ""
}

// checkFlows wants flows of the key's own workspace, and each once.
func (r *Keyring) checkFlows(ctx context.Context, k *Key) (sentence string, err error) {
	slices.Sort(k.Flows)
	k.Flows = slices.Compact(k.Flows)
	for _, id := range k.Flows {
		if !ValidID(PrefixFlow, id) {
			return fmt.Sprintf("There is no flow %.40q.", id), nil
		}
		_, err := r.Store.FindFlow(ctx, k.WorkspaceID, id)
		if errors.Is(err, &Error{Code: CodeNotFound}) {
			return "There is no flow " + id + ".", nil
		}
		if err != nil {
			return "", fmt.Errorf("find %s for a key: %w", id, err)
		}
	}
	return "", nil
}

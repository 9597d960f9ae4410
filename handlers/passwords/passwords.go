// Package passwords hashes passwords, verifies them a few at a time, and refuses those
// that are easy to guess. It knows neither requests nor stores.
package passwords

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"sluice/flow"
)

// Lengths of a password, in characters; the upper one bounds the hashing.
const (
	shortestPassword = 10
	longestPassword  = 512
)

// passwordParams are the parameters of argon2id that OWASP recommends: 19 MiB
// and two passes.
var passwordParams = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// UnknownUserHash is compared with the password if there is no account, so that
// timing does not reveal whether an account exists. No password matches it.
const UnknownUserHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// Check returns a sentence about what is wrong with a new password, or
// "". email is the address of the account; it is empty for a shared password.
// Only new passwords are checked; existing ones keep working.
func Check(password, email string) string {
	if n := utf8.RuneCountInString(password); n < shortestPassword || n > longestPassword {
		return fmt.Sprintf("Use %d to %d characters; this password has %d.", shortestPassword, longestPassword, n)
	}
	return guessable(password, email)
}

// Hash hashes a password with a random salt. The result contains its parameters, so
// that they can be raised later.
func Hash(password string) (string, error) {
	return argon2id.CreateHash(password, passwordParams)
}

// Limits of a Hasher. A hash takes 19 MiB and tens of milliseconds of one core.
const (
	hashAtOnce   = 2               // concurrent hashes
	hashWaiting  = 64              // calls that hash or wait for a slot
	hashPatience = 5 * time.Second // longest wait for a slot
)

// Hasher bounds the memory and CPU time of hashing when many users sign in at
// once. It is safe for concurrent use.
type Hasher struct {
	slots    chan struct{} // holds one element per running hash
	waiting  atomic.Int64
	patience time.Duration
}

// NewHasher returns a Hasher with the default limits.
func NewHasher() *Hasher {
	return &Hasher{slots: make(chan struct{}, hashAtOnce), patience: hashPatience}
}

var errBusy = &flow.Error{
	Code: flow.CodeOverloaded, Message: "Too many users are signing in right now. Try again in a few seconds.", After: hashPatience,
}

// do runs work when a slot is free. It returns errBusy if too many calls wait or
// the wait takes too long.
func (h *Hasher) do(ctx context.Context, work func() error) error {
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > hashWaiting {
		return errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
		return work()
	case <-ctx.Done():
		return errBusy
	}
}

// Hash is like the function Hash, within the limits of h.
func (h *Hasher) Hash(ctx context.Context, password string) (hash string, err error) {
	err = h.do(ctx, func() error {
		hash, err = Hash(password)
		return err
	})
	return hash, err
}

// Matches reports whether a password has the hash. A password over the maximum
// length never matches, but takes as long to compare, so that timing reveals nothing.
func (h *Hasher) Matches(ctx context.Context, password, hash string) (matches bool, err error) {
	if utf8.RuneCountInString(password) > longestPassword {
		password, hash = "", UnknownUserHash
	}
	err = h.do(ctx, func() error {
		matches, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	return matches, err
}

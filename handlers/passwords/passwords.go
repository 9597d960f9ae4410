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

// passwordParams are argon2id with 19 MiB and two passes, as OWASP advises.
var passwordParams = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// UnknownUserHash is compared with where there is no account, so that the answer
// takes as long as if there were. No password gives it.
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

// Hash is how passwords are kept.
func Hash(password string) (string, error) {
	return argon2id.CreateHash(password, passwordParams)
}

// How many passwords are hashed at once, how many may wait for that, and how
// long: each takes 19 MiB and some ten milliseconds of one core.
const (
	hashAtOnce   = 2
	hashWaiting  = 64
	hashPatience = 5 * time.Second
)

// Hasher keeps passwords that arrive all at once from taking the machine.
type Hasher struct {
	room     chan struct{}
	waiting  atomic.Int64
	patience time.Duration
}

func NewHasher() *Hasher {
	return &Hasher{room: make(chan struct{}, hashAtOnce), patience: hashPatience}
}

var errBusy = &flow.Error{
	Code: flow.CodeOverloaded, Message: "Too many people are signing in at this moment. Try again in a few seconds.", After: hashPatience,
}

// do runs work when there is room, which must be soon.
func (h *Hasher) do(ctx context.Context, work func() error) error {
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > hashWaiting {
		return errBusy
	}
	ctx, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
		return work()
	case <-ctx.Done():
		return errBusy
	}
}

func (h *Hasher) Hash(ctx context.Context, password string) (hash string, err error) {
	err = h.do(ctx, func() error {
		hash, err = Hash(password)
		return err
	})
	return hash, err
}

// Matches compares a password with a hash. What is too long to be one takes as
// long as any other, and never fits.
func (h *Hasher) Matches(ctx context.Context, password, hash string) (fits bool, err error) {
	if utf8.RuneCountInString(password) > longestPassword {
		password, hash = "", UnknownUserHash
	}
	err = h.do(ctx, func() error {
		fits, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	return fits, err
}

package pages

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

// nobodysHash is compared with where there is no account, so that the answer
// takes as long as if there were. No password gives it.
const nobodysHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

// CheckPassword returns a sentence about what is wrong with a new password, or
// "". email is the address of the account; it is empty for a shared password.
// Only new passwords are checked; existing ones keep working.
func CheckPassword(password, email string) string {
	if n := utf8.RuneCountInString(password); n < shortestPassword || n > longestPassword {
		return fmt.Sprintf("Use %d to %d characters; this password has %d.", shortestPassword, longestPassword, n)
	}
	return guessable(password, email)
}

// HashPassword is how passwords are kept.
func HashPassword(password string) (string, error) {
	return argon2id.CreateHash(password, passwordParams)
}

// How many passwords are hashed at once, how many may wait for that, and how
// long: each takes 19 MiB and some ten milliseconds of one core.
const (
	hashAtOnce   = 2
	hashWaiting  = 64
	hashPatience = 5 * time.Second
)

// hasher keeps passwords that arrive all at once from taking the machine.
type hasher struct {
	room     chan struct{}
	waiting  atomic.Int64
	patience time.Duration
}

func newHasher() *hasher {
	return &hasher{room: make(chan struct{}, hashAtOnce), patience: hashPatience}
}

var errHasherBusy = &flow.Error{
	Code: flow.CodeOverloaded, Message: "Too many people are signing in at this moment. Try again in a few seconds.", After: hashPatience,
}

// do runs work when there is room, which must be soon.
func (h *hasher) do(ctx context.Context, work func() error) error {
	defer h.waiting.Add(-1)
	if h.waiting.Add(1) > hashWaiting {
		return errHasherBusy
	}
	ctx, cancel := context.WithTimeout(ctx, h.patience)
	defer cancel()
	select {
	case h.room <- struct{}{}:
		defer func() { <-h.room }()
		return work()
	case <-ctx.Done():
		return errHasherBusy
	}
}

func (h *hasher) hash(ctx context.Context, password string) (hash string, err error) {
	err = h.do(ctx, func() error {
		hash, err = HashPassword(password)
		return err
	})
	return hash, err
}

// fits compares a password with a hash. What is too long to be one takes as
// long as any other, and never fits.
func (h *hasher) fits(ctx context.Context, password, hash string) (fits bool, err error) {
	if utf8.RuneCountInString(password) > longestPassword {
		password, hash = "", nobodysHash
	}
	err = h.do(ctx, func() error {
		fits, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	return fits, err
}

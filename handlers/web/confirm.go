package web

import (
	"fmt"
	"time"

	"sluice/flow/fairness"
)

// ConfirmAfter is how old a session may be for acts that need the password again.
const ConfirmAfter = 10 * time.Minute

// freeConfirmations is the number of wrong passwords before a person has to wait.
const freeConfirmations = 5

// NeedsPassword reports whether the person signed in so long ago that an act needs the password again.
func (c *Call) NeedsPassword() bool {
	began := time.UnixMicro(c.s.Sessions.GetInt64(c.Ctx(), sessionBegan))
	return c.s.Now().Sub(began) > ConfirmAfter
}

// ConfirmPassword reports whether a password is that of the signed-in person. After too many wrong ones the person has to wait.
func (c *Call) ConfirmPassword(password string) (ok bool, wait time.Duration, err error) {
	person := fairness.Try{Name: AttemptKey("confirm", c.Member.UserID), Free: freeConfirmations}
	address := fairness.Try{Name: AttemptKey("confirm-from", RateLimitKey(c.IP())), Free: 4 * freeConfirmations}
	if wait, err = c.s.Store.TakeTry(c.Ctx(), person, address); wait > 0 || err != nil {
		return false, wait, err
	}
	u, err := c.s.Store.FindUser(c.Ctx(), c.Member.UserID)
	if err != nil {
		return false, 0, fmt.Errorf("find the person who confirms: %w", err)
	}
	if ok, err = c.s.Hasher.Matches(c.Ctx(), password, u.PasswordHash); !ok || err != nil {
		return false, 0, err
	}
	return true, 0, c.s.Store.ForgiveTry(c.Ctx(), person.Name, address.Name)
}

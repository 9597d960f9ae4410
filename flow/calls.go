package flow

import (
	"strconv"
	"time"
)

// CallLimits bound the calls with one credential. Zero is no limit.
type CallLimits struct{ AtOnce, PerMinute int64 }

// String returns the limits for people, such as "4 at once, 60 a minute".
func (l CallLimits) String() string {
	count := func(n int64) string {
		if n == 0 {
			return "any number"
		}
		return strconv.FormatInt(n, 10)
	}
	return count(l.AtOnce) + " at once, " + count(l.PerMinute) + " a minute"
}

// MaxCallLimit bounds both.
const MaxCallLimit = 100_000

// DelayError ends an attempt that did nothing yet: the step begins again after Wait.
type DelayError struct{ Wait time.Duration }

// Error describes the delay for logs; a run never shows it, because the step is
// repeated.
func (e *DelayError) Error() string { return "the step waits for its turn" }

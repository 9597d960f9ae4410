package flow

import (
	"strconv"
	"time"
)

// CallLimits bound the calls with one credential. Zero means unlimited.
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

// MaxCallLimit is the largest value of either limit.
const MaxCallLimit = 100_000

// DelayError ends an attempt that has had no effect yet. The step starts again after Wait.
type DelayError struct{ Wait time.Duration }

// Error describes the delay for logs; runs never show it.
func (e *DelayError) Error() string { return "the step waits for a rate limit" }

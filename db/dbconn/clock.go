package dbconn

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock is the source of all times in the database. On SQLite it is the machine's
// clock. On PostgreSQL all instances follow the database's clock, because the clocks
// of their machines differ, and times that one instance stores decide what others
// do and when.
//
// The database's clock is read from time to time and extrapolated in between with
// the monotonic part of the machine's clock. So Now needs no query, and the
// machine's clock may be set while the process runs. Clock is safe for concurrent
// use.
type Clock struct {
	Machine func() time.Time

	mu   sync.Mutex // held while at is corrected
	at   atomic.Pointer[clockReading]
	base time.Time // the machine's clock when the Clock was created
}

// clockReading pairs the two clocks at one moment.
type clockReading struct {
	machine time.Duration // since clock.base
	shared  time.Time     // has no monotonic part
}

// NewClock returns a clock that follows the machine's until Correct is called.
func NewClock(machine func() time.Time) *Clock {
	return &Clock{Machine: machine, base: machine()}
}

// Now returns the shared time.
func (c *Clock) Now() time.Time {
	now := c.Machine()
	if r := c.at.Load(); r != nil {
		return r.shared.Add(now.Sub(c.base) - r.machine)
	}
	return now
}

// Skew returns how far the machine's clock is ahead.
func (c *Clock) Skew() time.Duration { return c.Machine().Round(0).Sub(c.Now()) }

// Correct adjusts the clock to a reading of the database's clock that was taken
// between two readings of the machine's. If the current estimate is consistent with
// it, the estimate stays; otherwise it changes as little as possible. So the time
// neither jitters with the network latency nor drifts.
func (c *Clock) Correct(sent, received time.Time, shared time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	earliest, latest := shared, shared.Add(received.Sub(sent)) // bounds of the shared clock when the answer arrived
	at := clockReading{machine: received.Sub(c.base), shared: earliest.Add(latest.Sub(earliest) / 2)}
	if r := c.at.Load(); r != nil {
		at.shared = r.shared.Add(at.machine - r.machine)
		switch {
		case at.shared.Before(earliest):
			at.shared = earliest
		case at.shared.After(latest):
			at.shared = latest
		}
	}
	c.at.Store(&at)
}

package dbconn

import (
	"sync"
	"sync/atomic"
	"time"
)

// Clock is the time that rows are written with and compared to. On SQLite it is
// the machine's clock. On PostgreSQL all instances follow the database's clock,
// because those of their machines differ: one that is fast would hold back what
// the others have made due, and hasten what they have put off.
//
// The database's clock is read now and then, and extrapolated in between with
// the monotonic part of the machine's, so that asking for the time costs
// nothing and a machine's clock may be set while the process runs. It is safe
// for concurrent use.
type Clock struct {
	Machine func() time.Time

	mu   sync.Mutex // held while at is corrected
	at   atomic.Pointer[clockReading]
	base time.Time // of the machine's clock, when the clock was made
}

// clockReading pairs the two clocks at one moment.
type clockReading struct {
	machine time.Duration // since clock.base
	shared  time.Time     // has no monotonic part
}

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

// Correct takes in a reading of the database's clock that was made at some
// moment between two of the machine's. An estimate that agrees with it is kept,
// however long the answer took; another one is moved as little as possible. So
// the time neither trembles with the network nor drifts away.
func (c *Clock) Correct(asked, answered time.Time, shared time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	earliest, latest := shared, shared.Add(answered.Sub(asked)) // by the shared clock, when the answer came
	at := clockReading{machine: answered.Sub(c.base), shared: earliest.Add(latest.Sub(earliest) / 2)}
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

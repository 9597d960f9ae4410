package web

import (
	"errors"
	"net/http"
	"sluice/flow"
	"sync"
	"time"
)

// RetryPause is the wait after a look at a database that is away. Streams go on
// when it is back.
const RetryPause = 500 * time.Millisecond

// MaxStreams is how many answers that go on for long one person may have open
// in this process: more than anybody has tabs, and little for the machine.
const MaxStreams = 60

var errTooManyStreams = NewError(http.StatusTooManyRequests, "You have Sluice open in too many tabs. Close some of them and load this page again.")

// Streams counts the open streams of each person.
type Streams struct {
	mu   sync.Mutex
	open map[string]int // by user ID
}

// Enter counts one more, unless that is too many.
func (s *Streams) Enter(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user] >= MaxStreams {
		return false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[user]++
	return true
}

func (s *Streams) Leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user]--; s.open[user] == 0 {
		delete(s.open, user)
	}
}

// CountStream runs a handler that sends an event stream, unless the client has
// too many of them open already.
func (c *Call) CountStream(client string, handle func() error) error {
	if !c.s.Streams.Enter(client) {
		return errTooManyStreams
	}
	defer c.s.Streams.Leave(client)
	return handle()
}

// RunPace is the shortest time between two looks at a run and between two
// pieces of text: ten pictures a second are as many as anybody sees.
const RunReadInterval = 100 * time.Millisecond

// CheckMember ends the stream of somebody who was signed out or is no member
// any more.
func (c *Call) CheckMember() error {
	err := c.CheckSession()
	if err == nil {
		_, err = c.s.Store.FindMember(c.Ctx(), c.WorkspaceID(), c.Member.UserID)
	}
	if IsNotFound(err) || errors.Is(err, ErrSignedOut) || c.Ctx().Err() != nil {
		return ErrStreamDone
	}
	if flow.IsUnavailable(err) { // nothing is sent meanwhile
		return nil
	}
	return err
}

package web

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"sluice/flow"
)

// RetryPause is the delay before a stream retries a read from an unavailable database.
const RetryPause = 500 * time.Millisecond

// MaxStreams bounds the concurrent event streams of one user in this process. It is
// more than the tabs that anyone uses, and cheap for the server.
const MaxStreams = 60

// errTooManyStreams is the error beyond MaxStreams.
var errTooManyStreams = NewError(http.StatusTooManyRequests, "You have Sluice open in too many tabs. Close some of them and load this page again.")

// Streams counts the open streams per user. It is safe for concurrent use.
type Streams struct {
	mu   sync.Mutex
	open map[string]int // by user ID
}

// Enter counts another stream of a user, or reports false if there are too many.
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

// Leave ends a stream that Enter has counted.
func (s *Streams) Leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user]--; s.open[user] == 0 {
		delete(s.open, user)
	}
}

// CountStream runs a handler that sends an event stream, or returns errTooManyStreams
// if the client has MaxStreams open.
func (c *Call) CountStream(client string, handle func() error) error {
	if !c.s.Streams.Enter(client) {
		return errTooManyStreams
	}
	defer c.s.Streams.Leave(client)
	return handle()
}

// RunReadInterval is the minimum time between two reads of a streamed run, and between two
// events with text. Ten updates per second look continuous.
const RunReadInterval = 100 * time.Millisecond

// CheckMember returns ErrStreamDone if the user has signed out or is no longer a
// member of the workspace.
func (c *Call) CheckMember() error {
	err := c.CheckSession()
	if err == nil {
		_, err = c.s.Store.FindMember(c.Ctx(), c.WorkspaceID(), c.Member.UserID)
	}
	if flow.IsNotFound(err) || errors.Is(err, ErrSignedOut) || c.Ctx().Err() != nil {
		return ErrStreamDone
	}
	if flow.IsUnavailable(err) { // the stream sends nothing until the database is back
		return nil
	}
	return err
}

package pages

import (
	"net/http"
	"sync"
	"time"
)

// missedPause is the wait after a look at a database that is away. Streams go on
// when it is back.
const missedPause = 500 * time.Millisecond

// mostStreams is how many answers that go on for long one person may have open
// in this process: more than anybody has tabs, and little for the machine.
const mostStreams = 60

var errTooManyStreams = &pageError{http.StatusTooManyRequests, "You have Sluice open in too many tabs. Close some of them and load this page again."}

// streams counts the open streams of each person.
type streams struct {
	mu   sync.Mutex
	open map[string]int // by user ID
}

// enter counts one more, unless that is too many.
func (s *streams) enter(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user] >= mostStreams {
		return false
	}
	if s.open == nil {
		s.open = map[string]int{}
	}
	s.open[user]++
	return true
}

func (s *streams) leave(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user]--; s.open[user] == 0 {
		delete(s.open, user)
	}
}

// streaming is a handler whose answer goes on for long.
func streaming(handle func(*call) error) func(*call) error {
	return func(c *call) error {
		if !c.s.streams.enter(c.member.UserID) {
			return errTooManyStreams
		}
		defer c.s.streams.leave(c.member.UserID)
		return handle(c)
	}
}

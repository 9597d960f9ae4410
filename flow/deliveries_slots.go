package flow

import "time"

const (
	// DeliverySlots is how many webhook attempts one instance makes at once.
	DeliverySlots = 128
	// EndpointSlots is how many of them go to one endpoint.
	EndpointSlots = 5
	// SlowAnswer is how long an answer takes that makes an endpoint count as slow.
	SlowAnswer = 2 * time.Second

	// failingAfter is the number of failures in a row after which an endpoint gets
	// one attempt at a time.
	failingAfter = 5
	// longestEndpointPause bounds the pause between attempts at a failing endpoint,
	// so that a receiver that recovers is noticed soon.
	longestEndpointPause = 30 * time.Second

	// A workspace gets a quarter of all slots, and a sixteenth for endpoints that
	// are not known to answer quickly. Those of all workspaces together get half:
	// the other half is always free for receivers that do.
	workspaceShare         = 4
	workspaceUntestedShare = 16
	untestedShare          = 2
)

// EndpointPause returns the pause before the next attempt at an endpoint, over
// all of its messages, after a number of failed attempts in a row.
func EndpointPause(failures int64) time.Duration {
	if failures <= failingAfter {
		return 0
	}
	return min(time.Second<<min(failures-failingAfter-1, 10), longestEndpointPause)
}

// EndpointLoad is how an endpoint has answered so far and how many attempts at
// it are under way.
type EndpointLoad struct {
	WorkspaceID, EndpointID string
	InFlight                int
	Failures                int64 // failed attempts since the last success
	Proven                  bool  // it has succeeded before
	Slow                    bool  // its last success took longer than SlowAnswer
	PausedUntil             time.Time
}

// Trusted reports whether the endpoint is known to answer, and quickly.
func (e *EndpointLoad) Trusted() bool { return e.Proven && !e.Slow && e.Failures == 0 }

// slots is how many attempts the endpoint may have at once.
func (e *EndpointLoad) slots(now time.Time) int {
	switch {
	case now.Before(e.PausedUntil):
		return 0
	case e.Failures >= failingAfter:
		return 1
	}
	return EndpointSlots
}

// DeliveryShares hands out the free slots for webhook attempts. It keeps the
// bounds on endpoints and workspaces, which are exact as long as it is told of
// all attempts under way.
type DeliveryShares struct {
	now      time.Time
	capacity int
	total    slotCount
	of       map[string]*slotCount // by workspace
}

type slotCount struct{ all, untested int }

func (c *slotCount) add(e *EndpointLoad, n int) {
	c.all += n
	if !e.Trusted() {
		c.untested += n
	}
}

// NewDeliveryShares counts the attempts that are under way.
func NewDeliveryShares(now time.Time, capacity int, inFlight []EndpointLoad) *DeliveryShares {
	s := &DeliveryShares{now: now, capacity: capacity, of: map[string]*slotCount{}}
	for i := range inFlight {
		s.add(&inFlight[i], inFlight[i].InFlight)
	}
	return s
}

func (s *DeliveryShares) add(e *EndpointLoad, n int) {
	s.total.add(e, n)
	s.workspace(e.WorkspaceID).add(e, n)
}

func (s *DeliveryShares) workspace(id string) *slotCount {
	c := s.of[id]
	if c == nil {
		c = &slotCount{}
		s.of[id] = c
	}
	return c
}

// share is a fraction of all slots, and never so small that an endpoint could
// not use its own.
func (s *DeliveryShares) share(of int) int { return max(s.capacity/of, EndpointSlots) }

// Full reports whether a workspace can get no slot, whichever endpoint it is for.
func (s *DeliveryShares) Full(ws string) bool {
	return s.total.all >= s.capacity || s.workspace(ws).all >= s.share(workspaceShare)
}

// take gives an endpoint a slot if all bounds allow it.
func (s *DeliveryShares) take(e *EndpointLoad) bool {
	if s.Full(e.WorkspaceID) || e.InFlight >= e.slots(s.now) {
		return false
	}
	if !e.Trusted() && (s.total.untested >= s.share(untestedShare) || s.workspace(e.WorkspaceID).untested >= s.share(workspaceUntestedShare)) {
		return false
	}
	e.InFlight++
	s.add(e, 1)
	return true
}

// Share gives the free slots to endpoints whose messages wait, and returns how
// many each of them got. The endpoints of a workspace take turns in the given
// order; among workspaces the next slot goes to the one with the fewest attempts
// under way, at equal numbers to the earlier in the list.
func (s *DeliveryShares) Share(waiting [][]EndpointLoad) map[string]int {
	got := map[string]int{}
	lines := make([][]*EndpointLoad, len(waiting))
	for i := range waiting {
		for j := range waiting[i] {
			lines[i] = append(lines[i], &waiting[i][j])
		}
	}
	for {
		next := s.nextLine(lines)
		if next < 0 {
			return got
		}
		e := lines[next][0]
		lines[next] = lines[next][1:]
		if s.take(e) {
			got[e.EndpointID]++
			lines[next] = append(lines[next], e) // its next turn is after all others
		}
	}
}

// nextLine is the workspace whose turn it is, or -1.
func (s *DeliveryShares) nextLine(lines [][]*EndpointLoad) int {
	next := -1
	for i := range lines {
		if len(lines[i]) == 0 {
			continue
		}
		if next < 0 || s.workspace(lines[i][0].WorkspaceID).all < s.workspace(lines[next][0].WorkspaceID).all {
			next = i
		}
	}
	return next
}

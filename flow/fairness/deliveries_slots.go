package fairness

import (
	"slices"
	"time"

	"sluice/flow"
)

const (
	// DeliverySlots is the number of webhook attempts that one instance makes
	// at once.
	DeliverySlots = 128
	// EndpointSlots is the number of concurrent attempts at one endpoint.
	EndpointSlots = 5
	// HostSlots is the number of concurrent attempts of a workspace at one host, per
	// instance.
	HostSlots = 16
	// SlowAnswer is the response time above which an endpoint counts as slow.
	SlowAnswer = 2 * time.Second

	// failingAfter is the number of failures in a row after which an endpoint gets
	// one attempt at a time.
	failingAfter = 5
	// longestEndpointPause bounds the pause between attempts at a failing endpoint,
	// so that a receiver that recovers is noticed soon.
	longestEndpointPause = 30 * time.Second

	// A workspace gets at most a quarter of all slots, and at most a sixteenth
	// for endpoints that are not known to respond quickly. Such endpoints of
	// all workspaces together get at most half: the other half is reserved for
	// endpoints that respond.
	workspaceShare         = 4
	workspaceUntestedShare = 16
	untestedShare          = 2
)

// EndpointPause returns the pause before the next attempt at an endpoint, for
// any of its messages, after a number of consecutive failures.
func EndpointPause(failures int64) time.Duration {
	if failures <= failingAfter {
		return 0
	}
	return min(time.Second<<min(failures-failingAfter-1, 10), longestEndpointPause)
}

// EndpointLoad describes how an endpoint has responded so far and how many
// attempts at it are in progress.
type EndpointLoad struct {
	WorkspaceID flow.WorkspaceID
	EndpointID  string
	Host        string // of its URL; other endpoints may have the same
	InFlight    int
	Failures    int64 // failed attempts since the last success
	Proven      bool  // it has succeeded before
	Slow        bool  // its last success took longer than SlowAnswer
	PausedUntil time.Time
}

// Trusted reports whether the endpoint is known to respond quickly.
func (e *EndpointLoad) Trusted() bool { return e.Proven && !e.Slow && e.Failures == 0 }

// slots returns how many attempts the endpoint may have at once.
func (e *EndpointLoad) slots(now time.Time) int {
	switch {
	case now.Before(e.PausedUntil):
		return 0
	case e.Failures >= failingAfter:
		return 1
	}
	return EndpointSlots
}

// DeliveryShares assigns the free slots for webhook attempts. It enforces the
// limits of endpoints and workspaces, which are exact if it knows all attempts
// in progress.
type DeliveryShares struct {
	now         time.Time
	capacity    int
	total       slotCount
	byWorkspace map[flow.WorkspaceID]*slotCount // by workspace
	byHost      map[hostOf]int                  // slots in use
}

// hostOf is a host to which a workspace sends.
type hostOf struct {
	ws   flow.WorkspaceID
	host string
}

// slotCount counts the slots in use, and among them those of endpoints that are not trusted:
// these may take only a part, so that dead receivers cannot occupy everything. failing are
// the slots of endpoints whose newest attempt failed.
type slotCount struct{ all, untested, failing int }

// add counts n more slots of an endpoint as used. Nothing is subtracted: the counts are
// computed again for each assignment.
func (c *slotCount) add(e *EndpointLoad, n int) {
	c.all += n
	if !e.Trusted() {
		c.untested += n
	}
	if e.Failures > 0 {
		c.failing += n
	}
}

// NewDeliveryShares counts the attempts in progress.
func NewDeliveryShares(now time.Time, capacity int, inFlight []EndpointLoad) *DeliveryShares {
	s := &DeliveryShares{now: now, capacity: capacity, byWorkspace: map[flow.WorkspaceID]*slotCount{}, byHost: map[hostOf]int{}}
	for i := range inFlight {
		s.add(&inFlight[i], inFlight[i].InFlight)
	}
	return s
}

// add counts n more slots of an endpoint for its workspace and in total.
func (s *DeliveryShares) add(e *EndpointLoad, n int) {
	s.total.add(e, n)
	s.workspace(e.WorkspaceID).add(e, n)
	s.byHost[hostOf{e.WorkspaceID, e.Host}] += n
}

// workspace returns the count of a workspace, and creates it on first use.
func (s *DeliveryShares) workspace(id flow.WorkspaceID) *slotCount {
	c := s.byWorkspace[id]
	if c == nil {
		c = &slotCount{}
		s.byWorkspace[id] = c
	}
	return c
}

// share returns a fraction of all slots, but at least the slots of one
// endpoint.
func (s *DeliveryShares) share(of int) int { return max(s.capacity/of, EndpointSlots) }

// Full reports whether a workspace can get no slot for any endpoint.
func (s *DeliveryShares) Full(ws flow.WorkspaceID) bool {
	return s.total.all >= s.capacity || s.workspace(ws).all >= s.share(workspaceShare)
}

// take assigns a slot to an endpoint if all limits allow it.
func (s *DeliveryShares) take(e *EndpointLoad) bool {
	if s.Full(e.WorkspaceID) || e.InFlight >= e.slots(s.now) {
		return false
	}
	if e.Host != "" && s.byHost[hostOf{e.WorkspaceID, e.Host}] >= s.share(DeliverySlots/HostSlots) {
		return false
	}
	if !e.Trusted() && !s.mayTest(e) {
		return false
	}
	e.InFlight++
	s.add(e, 1)
	return true
}

// mayTest reports whether an endpoint that is not trusted may get one more slot. The last
// of the slots for such endpoints are for endpoints that have none, so that one receiver
// that hangs does not keep the others from being tried.
func (s *DeliveryShares) mayTest(e *EndpointLoad) bool {
	used, limit := s.workspace(e.WorkspaceID).untested, s.share(workspaceUntestedShare)
	if e.InFlight > 0 && used >= max(limit/2, EndpointSlots) {
		return false
	}
	return used < limit && s.total.untested < s.share(untestedShare)
}

// order sorts the waiting endpoints of a workspace: those whose newest attempt failed come
// after the others, so that they do not take the slots of receivers that may work. But one
// of them is first if none of them has a slot, so that they are tried again at all.
func (s *DeliveryShares) order(line []*EndpointLoad) {
	failing := func(e *EndpointLoad) int { return int(min(e.Failures, 1)) }
	slices.SortStableFunc(line, func(a, b *EndpointLoad) int { return failing(a) - failing(b) })
	if len(line) == 0 || s.workspace(line[0].WorkspaceID).failing > 0 {
		return
	}
	first := slices.IndexFunc(line, func(e *EndpointLoad) bool { return e.Failures > 0 && e.slots(s.now) > 0 })
	if first > 0 {
		e := line[first]
		copy(line[1:first+1], line[:first])
		line[0] = e
	}
}

// Share assigns the free slots to endpoints with waiting messages and returns
// how many each of them got. It is round-robin over the endpoints of a
// workspace, in the given order, but see order. The next slot goes to the workspace with the
// fewest attempts in progress, or to the first of several.
func (s *DeliveryShares) Share(waiting [][]EndpointLoad) map[string]int {
	got := map[string]int{}
	lines := make([][]*EndpointLoad, len(waiting))
	for i := range waiting {
		for j := range waiting[i] {
			lines[i] = append(lines[i], &waiting[i][j])
		}
		s.order(lines[i])
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
			lines[next] = append(lines[next], e) // round-robin: behind all others
		}
	}
}

// nextLine returns the index of the workspace that gets the next slot, or -1.
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

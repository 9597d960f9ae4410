package sandbox

import (
	"context"
	"slices"
	"sync"
)

// Queue hands out the places for children. A group, such as a workspace, that has much
// to do holds up others by one piece of work, not by all of it: a place that becomes
// free goes to a group that holds the fewest, and among those to the one that was not
// served for the longest time.
//
// This is round-robin among the groups with the fewest places. Work in progress is
// never interrupted, so fairness counts places, not time. That is good enough because
// the computing of each child is bounded.
//
// Two invariants hold between calls: free plus all of held is the number of slots,
// and a slot is free only while no one waits. Even a caller who finds a slot free
// goes through a line, so there is only one way to get one.
type Queue struct {
	mu    sync.Mutex
	free  int
	held  map[string]int // places by group
	lines []*groupLine   // those of groups that wait; the one served last is at the end
}

// groupLine is who waits of one group, first come, first served.
type groupLine struct {
	group   string
	waiting []chan struct{} // closed when a place is theirs
}

// NewQueue returns a queue with so many places.
func NewQueue(places int) *Queue {
	return &Queue{free: places, held: map[string]int{}}
}

// Take waits for a place, which the caller must hand back with Give. After an
// error, which is that of ctx, there is nothing to hand back.
func (q *Queue) Take(ctx context.Context, group string) error {
	turn := q.join(group)
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		q.leave(group, turn)
		return ctx.Err()
	}
}

// join puts the caller at the end of its group's line and returns a channel that
// is closed when it gets a place, which may be before join returns.
func (q *Queue) join(group string) (turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn = make(chan struct{})
	i := slices.IndexFunc(q.lines, func(l *groupLine) bool { return l.group == group })
	if i < 0 {
		i, q.lines = len(q.lines), append(q.lines, &groupLine{group: group})
	}
	q.lines[i].waiting = append(q.lines[i].waiting, turn)
	q.serve()
	return turn
}

// leave removes a caller whose context ended from its line. If the caller is in
// no line, serve gave it a place between the end of its context and this call;
// that place would be lost if it were not released here.
func (q *Queue) leave(group string, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, line := range q.lines {
		if j := slices.Index(line.waiting, turn); j >= 0 {
			line.waiting = slices.Delete(line.waiting, j, j+1)
			if len(line.waiting) == 0 {
				q.lines = slices.Delete(q.lines, i, i+1)
			}
			return
		}
	}
	q.release(group) // the place came at the same moment
}

// Give hands a place back.
func (q *Queue) Give(group string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(group)
}

// release returns a place of a group to the pool. q.mu must be held.
func (q *Queue) release(group string) {
	q.free++
	if q.held[group]--; q.held[group] == 0 {
		delete(q.held, group)
	}
	q.serve()
}

// serve gives free places to those whose turn it is. q.mu must be held. A group
// that still waits after it was served moves to the end, so that groups with
// equally many places alternate. Groups are few, so a scan is fast enough.
func (q *Queue) serve() {
	for q.free > 0 && len(q.lines) > 0 {
		next := 0
		for i, line := range q.lines {
			if q.held[line.group] < q.held[q.lines[next].group] {
				next = i
			}
		}
		line := q.lines[next]
		q.lines = slices.Delete(q.lines, next, next+1)
		close(line.waiting[0])
		if line.waiting = line.waiting[1:]; len(line.waiting) > 0 {
			q.lines = append(q.lines, line)
		}
		q.held[line.group]++
		q.free--
	}
}

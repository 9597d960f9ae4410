package sandbox

import (
	"context"
	"slices"
	"sync"

	"sluice/flow/worktime"
)

// Queue is a semaphore for long computations, such as child processes, that shares its slots
// fairly between groups, such as workspaces. A free slot goes to the group that holds the fewest slots, and among
// those to the one that was served least recently, so that a group with much work delays
// others only by one piece of work.
//
// This is round-robin among the groups with the fewest slots. Work in progress is never
// interrupted, so fairness counts slots, not time. That is sufficient because the CPU time
// of each piece is bounded. A Queue is safe for concurrent use.
//
// Two invariants hold between calls: free plus all of held is the number of slots,
// and a slot is free only while no one waits. Even a caller who finds a slot free
// joins the line, so that there is only one way to get one.
type Queue struct {
	mu    sync.Mutex
	free  int
	held  map[string]int // slots by group
	lines []*groupLine   // groups with waiting callers; the one served last is at the end
}

// groupLine holds the waiting callers of a group in FIFO order.
type groupLine struct {
	group   string
	waiting []chan struct{} // closed when the caller gets a slot
}

// NewQueue returns a queue with the given number of slots.
func NewQueue(slots int) *Queue {
	return &Queue{free: slots, held: map[string]int{}}
}

// Acquire waits for a slot, which the caller must return with Release. It returns the
// error of ctx if that ends first; then there is nothing to release.
func (q *Queue) Acquire(ctx context.Context, group string) error {
	turn := q.join(group)
	select {
	case <-turn:
		return nil
	default:
	}
	defer worktime.Wait(ctx)() // the step does not work meanwhile
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		q.leave(group, turn)
		return ctx.Err()
	}
}

// TryAcquire takes a slot if one is free. It reports whether it did, and then the caller must
// return it with Release.
func (q *Queue) TryAcquire(group string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.free == 0 { // a slot is free only while no one waits
		return false
	}
	q.free--
	q.held[group]++
	return true
}

// join puts the caller at the end of its group's line and returns a channel that
// is closed when it gets a slot, which may be before join returns.
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

// leave removes a caller whose context ended from its line. If the caller is not
// in a line, serve gave it a slot between the end of its context and this call; that
// slot would leak if it were not released here.
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
	q.release(group)
}

// Release returns a slot.
func (q *Queue) Release(group string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(group)
}

// release is Release with q.mu held.
func (q *Queue) release(group string) {
	q.free++
	if q.held[group]--; q.held[group] == 0 {
		delete(q.held, group)
	}
	q.serve()
}

// serve gives free slots to waiting callers. q.mu must be held. A group that still
// waits after it was served moves to the end, so that groups with equally many slots
// alternate. There are few groups, so a linear scan is fast enough.
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

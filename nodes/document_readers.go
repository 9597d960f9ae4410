package nodes

import (
	"context"
	"slices"
	"sync"

	"sluice/flow"
)

// readerQueue hands out the places for readers. A workspace that has many
// documents to read holds up others by one document, not by all of them: a place
// that becomes free goes to a workspace that holds the fewest, and among those to
// the one that was not served for the longest time.
type readerQueue struct {
	mu    sync.Mutex
	free  int
	held  map[flow.WorkspaceID]int // places by workspace
	lines []*readerLine            // those of workspaces that wait; the one served last is at the end
}

// readerLine is who waits of one workspace, first come, first served.
type readerLine struct {
	workspace flow.WorkspaceID
	waiting   []chan struct{} // closed when a place is theirs
}

func newReaderQueue(places int) *readerQueue {
	return &readerQueue{free: places, held: map[flow.WorkspaceID]int{}}
}

// take waits for a place, which is to be given back.
func (q *readerQueue) take(ctx context.Context, workspace flow.WorkspaceID) error {
	turn := q.join(workspace)
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		q.leave(workspace, turn)
		return ctx.Err()
	}
}

func (q *readerQueue) join(workspace flow.WorkspaceID) (turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn = make(chan struct{})
	i := slices.IndexFunc(q.lines, func(l *readerLine) bool { return l.workspace == workspace })
	if i < 0 {
		i, q.lines = len(q.lines), append(q.lines, &readerLine{workspace: workspace})
	}
	q.lines[i].waiting = append(q.lines[i].waiting, turn)
	q.serve()
	return turn
}

// leave takes somebody out who does not want to wait any longer.
func (q *readerQueue) leave(workspace flow.WorkspaceID, turn chan struct{}) {
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
	q.release(workspace) // the place came at the same moment
}

// give hands a place back.
func (q *readerQueue) give(workspace flow.WorkspaceID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release(workspace)
}

func (q *readerQueue) release(workspace flow.WorkspaceID) {
	q.free++
	if q.held[workspace]--; q.held[workspace] == 0 {
		delete(q.held, workspace)
	}
	q.serve()
}

// serve gives free places to those whose turn it is.
func (q *readerQueue) serve() {
	for q.free > 0 && len(q.lines) > 0 {
		next := 0
		for i, line := range q.lines {
			if q.held[line.workspace] < q.held[q.lines[next].workspace] {
				next = i
			}
		}
		line := q.lines[next]
		q.lines = slices.Delete(q.lines, next, next+1)
		close(line.waiting[0])
		if line.waiting = line.waiting[1:]; len(line.waiting) > 0 {
			q.lines = append(q.lines, line)
		}
		q.held[line.workspace]++
		q.free--
	}
}

package core

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"sluice/db/dbconn"
	"sluice/flow/sorting"
)

// Waiters on any instance, such as a request with ?wait or a stream of events, are
// notified of each run that is written. The notification only has the ID of the run;
// waiters read what they need.

// notifier notifies the other instances of the runs that were written. It does so
// after their commit and for many runs at once, because PostgreSQL commits
// transactions with notifications one at a time, each with its own disk sync.
type notifier struct {
	s    *DB
	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}

	mu      sync.Mutex
	runs    []string
	hasWork bool // this process has no workers, and has committed something
}

// newNotifier starts the goroutine that notifies other instances. Close stops it.
func newNotifier(s *DB) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	n := &notifier{s: s, wake: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go n.loop(ctx)
	return n
}

// notify queues runs to be announced.
func (n *notifier) notify(runs []string) {
	if len(runs) == 0 {
		return
	}
	n.mu.Lock()
	n.runs = append(n.runs, runs...)
	n.mu.Unlock()
	n.wakeUp()
}

// changed queues a notification for the workers of other processes that there
// may be work.
func (n *notifier) changed() {
	n.mu.Lock()
	n.hasWork = true
	n.mu.Unlock()
	n.wakeUp()
}

// wakeUp makes the loop send what has been collected. It never blocks: a signal that is
// pending already covers everything added before.
func (n *notifier) wakeUp() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// close sends the remaining notifications.
func (n *notifier) close() {
	n.stop()
	<-n.done
}

// loop sends notifications in batches, the last one when it is closed.
func (n *notifier) loop(ctx context.Context) {
	defer close(n.done)
	for open := true; open; {
		select {
		case <-n.wake:
		case <-ctx.Done():
			open = false
		}
		if err := n.send(); err != nil {
			n.s.Config.Log.Warn("other instances were not notified of written runs", "error", err)
		}
		if open {
			dbconn.Pause(ctx, notifyPause)
		}
	}
}

// notifyPause is the least time between two notifications. A transaction that notifies locks out all
// others of its kind in the whole PostgreSQL server while it commits.
const notifyPause = 10 * time.Millisecond

// notifyRuns does not wait for its commit to reach the disk, which would keep others waiting.
const notifyRuns = "SELECT pg_notify($1, u.id) FROM set_config('synchronous_commit', 'off', true) AS c, unnest($2::text[]) AS u(id)"

// notifyTimeout bounds a notification whose server has stopped answering.
const notifyTimeout = 5 * time.Second

// send announces all queued runs. If it fails, other instances see the runs when
// they connect again.
func (n *notifier) send() error {
	n.mu.Lock()
	runs, hasWork := n.runs, n.hasWork
	n.runs, n.hasWork = nil, false
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
	defer cancel()
	var err error
	if len(runs) > 0 {
		sorting.Strings(runs)
		_, err = n.s.Reader.ExecContext(ctx, notifyRuns, runChannel, slices.Compact(runs))
	}
	if hasWork {
		err = errors.Join(err, n.s.Broadcast(ctx, changesTopic, ""))
	}
	return err
}

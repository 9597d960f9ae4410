package core

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// notifier tells the other instances which runs were written. It does so after
// their commit and for many runs at once: PostgreSQL lets only one transaction
// that notifies commit at a time, and each would wait for the disk meanwhile.
type notifier struct {
	s    *DB
	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	runs []string
	news bool // this process has no workers, and has committed something
}

func newNotifier(s *DB) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	n := &notifier{s: s, wake: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go n.loop(ctx)
	return n
}

// tell notifies the others soon.
func (n *notifier) tell(runs []string) {
	if len(runs) == 0 {
		return
	}
	n.mu.Lock()
	n.runs = append(n.runs, runs...)
	n.mu.Unlock()
	n.wakeUp()
}

// changed notifies the workers of other processes soon that there may be work.
func (n *notifier) changed() {
	n.mu.Lock()
	n.news = true
	n.mu.Unlock()
	n.wakeUp()
}

func (n *notifier) wakeUp() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// close sends what is left.
func (n *notifier) close() {
	n.stop()
	<-n.done
}

func (n *notifier) loop(ctx context.Context) {
	defer close(n.done)
	for open := true; open; {
		select {
		case <-n.wake:
		case <-ctx.Done():
			open = false
		}
		if err := n.send(); err != nil {
			n.s.Config.Log.Warn("other instances were not told of what was written", "error", err)
		}
	}
}

// notifyTimeout bounds a notification whose server has stopped answering.
const notifyTimeout = 5 * time.Second

// send notifies of all runs that were told of. If it fails, those who wait on
// other instances see the runs when they listen again.
func (n *notifier) send() error {
	n.mu.Lock()
	runs, news := n.runs, n.news
	n.runs, n.news = nil, false
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
	defer cancel()
	var err error
	if len(runs) > 0 {
		slices.Sort(runs)
		_, err = n.s.Reader.ExecContext(ctx, "SELECT pg_notify($1, id) FROM unnest($2::text[]) AS u(id)", runChannel, slices.Compact(runs))
	}
	if news {
		err = errors.Join(err, n.s.TellOthers(ctx, changesTopic, ""))
	}
	return err
}

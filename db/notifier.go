package db

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// notifier tells the other instances which runs were written. It does so after
// their commit and for many runs at once: PostgreSQL lets only one transaction
// that notifies commit at a time, and each would wait for the disk meanwhile.
type notifier struct {
	pool *pgxpool.Pool
	wake chan struct{}
	stop context.CancelFunc
	done chan struct{}

	mu   sync.Mutex
	runs []string
}

func newNotifier(pool *pgxpool.Pool, warn func(error)) *notifier {
	ctx, stop := context.WithCancel(context.Background())
	n := &notifier{pool: pool, wake: make(chan struct{}, 1), stop: stop, done: make(chan struct{})}
	go n.loop(ctx, warn)
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

func (n *notifier) loop(ctx context.Context, warn func(error)) {
	defer close(n.done)
	for open := true; open; {
		select {
		case <-n.wake:
		case <-ctx.Done():
			open = false
		}
		if err := n.send(); err != nil {
			warn(err)
		}
	}
}

// notifyTimeout bounds a notification whose server has stopped answering.
const notifyTimeout = 5 * time.Second

// send notifies of all runs that were told of. If it fails, those who wait on
// other instances see the runs when they listen again.
func (n *notifier) send() error {
	n.mu.Lock()
	runs := n.runs
	n.runs = nil
	n.mu.Unlock()
	if len(runs) == 0 {
		return nil
	}
	slices.Sort(runs)
	ctx, cancel := context.WithTimeout(context.Background(), notifyTimeout)
	defer cancel()
	_, err := n.pool.Exec(ctx, "SELECT pg_notify($1, id) FROM unnest($2::text[]) AS u(id)", runChannel, slices.Compact(runs))
	return err
}

package jobs

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// announcer notifies the producers of all instances of jobs that were committed, on the channel that
// River listens to. It does so after the commit and at most once in announcePause for each queue:
// PostgreSQL commits transactions with notifications one at a time, in the whole server, so starts must
// not contain any. If a notification is lost, the producers find the jobs when they poll.
type announcer struct {
	pool *pgxpool.Pool
	log  *slog.Logger

	mu     sync.Mutex
	queues []string // to be announced, each once
	active bool     // run is working
}

const (
	announcePause   = 10 * time.Millisecond
	announceTimeout = 5 * time.Second
)

// announceJobs does not wait for its commit to reach the disk.
const announceJobs = `SELECT set_config('synchronous_commit', 'off', true), pg_notify(current_schema() || '.river_insert', json_build_object('queue', $1::text)::text)`

// announce queues a notification. It does not wait.
func (a *announcer) announce(queue string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range a.queues {
		if q == queue {
			return
		}
	}
	a.queues = append(a.queues, queue)
	if !a.active {
		a.active = true
		go a.run()
	}
}

// run sends notifications until all are sent.
func (a *announcer) run() {
	for {
		a.mu.Lock()
		queues := a.queues
		a.queues = nil
		a.active = len(queues) > 0
		a.mu.Unlock()
		if len(queues) == 0 {
			return
		}
		for _, queue := range queues {
			if err := a.send(queue); err != nil {
				a.log.Debug("idle workers were not notified of jobs", "queue", queue, "error", err)
			}
		}
		time.Sleep(announcePause)
	}
}

// send sends one notification.
func (a *announcer) send(queue string) error {
	ctx, cancel := context.WithTimeout(context.Background(), announceTimeout)
	defer cancel()
	_, err := a.pool.Exec(ctx, announceJobs, queue)
	return err
}

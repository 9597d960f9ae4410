package db

import (
	"context"

	"sluice/flow"
)

// Queue takes the jobs of a transaction. InsertTx gets the *sql.Tx on SQLite
// and the pgx.Tx on PostgreSQL; Wake is called once that is committed.
type Queue interface {
	InsertTx(ctx context.Context, tx any, jobs []flow.Job) error
	Wake(jobs []flow.Job)
	// WakeDeliveries is called after a commit that queued a delivery or freed a
	// slot; the queue then calls DueDeliveries.
	WakeDeliveries()
}

// UseQueue makes this process hand out jobs. Without a queue rows wait for the
// scheduler of a process that has one.
func (s *Store) UseQueue(q Queue) { s.queue.Store(&q) }

func (s *Store) queueOrNil() Queue {
	if q := s.queue.Load(); q != nil {
		return *q
	}
	return nil
}

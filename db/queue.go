package db

import "context"

// Kinds of jobs.
const (
	JobRun      = "run"
	JobDelivery = "delivery"
)

// Job asks the queue to work on a run or a delivery. Attempt fences: a job is
// void once the row went on to another attempt. The queue must keep ID under
// "id" in the arguments, which is where recovery looks for it.
type Job struct {
	Kind    string `json:"-"`
	ID      string `json:"id"`
	Attempt int64  `json:"attempt"`
}

// Queue takes the jobs of a transaction. InsertTx gets the *sql.Tx on SQLite
// and the pgx.Tx on PostgreSQL; Wake is called once that is committed.
type Queue interface {
	InsertTx(ctx context.Context, tx any, jobs []Job) error
	Wake(jobs []Job)
}

// UseQueue makes this process hand out jobs. Without a queue rows wait for the
// scheduler of a process that has one.
func (s *Store) UseQueue(q Queue) { panic("unfinished") }

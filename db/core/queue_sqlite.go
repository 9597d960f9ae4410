package core

import (
	"context"
	"database/sql"

	"sluice/db/dbconn"
)

// WriteQueue runs the queue's own bookkeeping on SQLite in the next group,
// together with everybody else's writes. It need not be synced: what it says
// about jobs is worth nothing after a crash, since recovery starts from the
// rows of runs and deliveries.
func (s *DB) WriteQueue(ctx context.Context, fn func(*sql.Tx) error) error {
	return s.Write(ctx, Relaxed, func(tx *Tx) error { return fn(tx.DBTX.(dbconn.SQLiteParams).DB.(*sql.Tx)) })
}

package core

import (
	"context"
	"database/sql"

	"sluice/db/dbconn"
)

// WriteQueue runs the queue's own statements on SQLite as part of the next group
// commit. They need no sync, because recovery after a crash relies on the rows of
// runs and deliveries and not on the jobs.
func (s *DB) WriteQueue(ctx context.Context, fn func(*sql.Tx) error) error {
	return s.Write(ctx, Relaxed, func(tx *Tx) error { return fn(tx.DBTX.(dbconn.SQLiteParams).DB.(*sql.Tx)) })
}

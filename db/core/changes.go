package core

import (
	"context"
	"fmt"
)

// changesTopic is sent by processes without workers, such as commands, after
// each commit on PostgreSQL.
const changesTopic = "changes"

// Changes returns a number that changes whenever something may have been written
// that workers must react to. Background jobs compare it to avoid queries whose
// result cannot have changed.
//
// On SQLite it counts the commits of all processes. On PostgreSQL it counts the
// commits of this process and the notifications of others. It misses commits
// that only the committing instance reacts to, and lost notifications, so on
// PostgreSQL callers must also poll from time to time.
func (s *DB) Changes(ctx context.Context) (n int64, err error) {
	if s.IsPostgres() {
		return s.changes.Load(), nil
	}
	// The connection must not be one that writes, and always the same.
	if err := s.watcher.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n); err != nil {
		return 0, fmt.Errorf("read the data version: %w", err)
	}
	return n, nil
}

// changed counts a commit of this process. A process without workers notifies
// the processes that have workers.
func (s *DB) changed() {
	s.changes.Add(1)
	if s.IsPostgres() && s.QueueOrNil() == nil {
		s.notifier.changed()
	}
}

package core

import (
	"context"
	"fmt"
)

// changesTopic is sent by processes without workers, such as commands, after
// each commit on PostgreSQL.
const changesTopic = "changes"

// Changes returns a number that differs from the last one if anything may have
// been written in between that workers must react to. Background work compares
// it to spare the database queries whose answer cannot have changed.
//
// On SQLite it counts the commits of all processes. On PostgreSQL it counts the
// commits of this process and what it hears from others. It misses commits of
// other instances that only they need to react to, and any notification that
// was lost, so on PostgreSQL callers must look from time to time in any case.
func (s *DB) Changes(ctx context.Context) (n int64, err error) {
	if s.pool != nil {
		return s.changes.Load(), nil
	}
	// The connection must not be one that writes, and always the same.
	if err := s.watcher.QueryRowContext(ctx, "PRAGMA data_version").Scan(&n); err != nil {
		return 0, fmt.Errorf("look for changes: %w", err)
	}
	return n, nil
}

// changed counts a commit of this process. A process without workers tells
// those that have some.
func (s *DB) changed() {
	s.changes.Add(1)
	if s.pool != nil && s.QueueOrNil() == nil {
		s.notifier.changed()
	}
}

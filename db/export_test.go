package db

import (
	"context"

	"sluice/db/gen"
)

// What follows lets the tests, which live outside because dbtest imports this
// package, look inside.

// Write is write.
func (s *Store) Write(ctx context.Context, synced bool, fn func(*Tx) error) error {
	return s.write(ctx, durability(synced), fn)
}

// Groups counts transactions of the SQLite writer, and those that were synced.
func (s *Store) Groups() (all, synced int64) {
	w := s.writer.(*groupWriter)
	return w.groups.Load(), w.synced.Load()
}

// Waiting counts the members that the SQLite writer has not taken yet.
func (s *Store) Waiting() int { return len(s.writer.(*groupWriter).waiting) }

// DB is the transaction itself.
func (tx *Tx) DB() gen.DBTX { return tx.db }

// ForSQLite is forSQLite.
var ForSQLite = forSQLite

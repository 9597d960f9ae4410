package core

import "fmt"

// facts are what transactions on SQLite read about limits, keys and free places,
// kept for the next transaction. They hold because every write passes through
// the one writer: those that each run makes change the numbers they know of, and
// after any other write, or one of another process, the facts are read again.
type facts struct {
	known   bool
	room    room
	version int64 // PRAGMA data_version, which changes with the writes of other processes
}

// recall gives a transaction what is known.
func (f *facts) recall(tx *Tx) error {
	var version int64
	if err := tx.DBTX.QueryRowContext(tx.Ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return fmt.Errorf("look for writes of other processes: %w", err)
	}
	if f.known && f.version == version {
		tx.Batch.Counts = f.room
	}
	f.known, f.version = false, version
	return nil
}

// keep takes over what a committed transaction knows, unless a member may have
// changed more than the numbers.
func (f *facts) keep(tx *Tx, group []*member) {
	for _, m := range group {
		if m.set == nil || m.err != nil {
			return
		}
	}
	r := &tx.Batch.Counts
	for k, n := range r.joined {
		if _, read := r.queued[k]; read {
			r.queued[k] += n
		}
	}
	clear(r.joined)
	clear(r.stored)
	f.known, f.room = true, *r
}

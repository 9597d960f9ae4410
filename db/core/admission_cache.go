package core

import "fmt"

// admissionCache keeps the limits, keys and counts that a transaction on SQLite
// has read, for the next transaction. It stays valid because all writes go
// through one writer: the writes that every run makes keep the counts up to
// date, and after any other write, or a write of another process, everything is
// read again.
type admissionCache struct {
	known   bool
	counts  counts
	version int64 // PRAGMA data_version, which changes with the writes of other processes
}

// load gives a transaction the cached values if they are still valid.
func (f *admissionCache) load(tx *Tx) error {
	var version int64
	if err := tx.DBTX.QueryRowContext(tx.Ctx, "PRAGMA data_version").Scan(&version); err != nil {
		return fmt.Errorf("read the data version: %w", err)
	}
	if f.known && f.version == version {
		tx.Batch.Counts = f.counts
	}
	f.known, f.version = false, version
	return nil
}

// store takes over the values of a committed transaction, unless a member may
// have changed more than the counts.
func (f *admissionCache) store(tx *Tx, group []*member) {
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
	clear(r.spent)
	f.known, f.counts = true, *r
}

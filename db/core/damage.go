package core

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Background work reads and changes many rows at once. A row that cannot be read, because a
// page of SQLite is damaged or a column holds a value of an unexpected type, or that cannot be
// processed because of what is stored in it, must not stop the work on all others. Such rows
// are marked in damaged_rows. The queries of background work pass over marked rows, and
// doctor and a metric report them. After damageLife a mark is dropped, so that the row is
// tried again: a newer program may be able to process it.

const (
	// damageLife is how long a marked row is passed over.
	damageLife = 24 * time.Hour
	// probeInterval bounds how often all rows of a table are read to find damaged ones.
	probeInterval = 10 * time.Minute
)

// damageTables has the primary keys of the tables whose damaged rows are looked for.
var damageTables = map[string]string{"runs": "id", "deliveries": "id", "files": "id", "wakes": "run_id"}

// UnreadableTask is the task of rows that cannot be read at all.
const UnreadableTask = "read"

// damage is the state of finding damaged rows. It is safe for concurrent use.
type damage struct {
	mu     sync.Mutex
	probed map[string]time.Time // when the rows of a table were last read, by table
	runs   sync.Map             // marked runs by ID, which are not admitted
	pages  knownPages           // of PostgreSQL
}

// mayProbe reports whether to read all rows of a table now.
func (d *damage) mayProbe(table string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, ok := d.probed[table]; ok && time.Since(at) < probeInterval {
		return false
	}
	if d.probed == nil {
		d.probed = map[string]time.Time{}
	}
	d.probed[table] = time.Now()
	return true
}

// WriteRows is Write for work on many rows of a table. fn must use Each for them. If the
// transaction fails because a row cannot be read, the damaged rows of the table are looked for
// and marked. If it fails at a row, that row is marked. Then the transaction is repeated
// without it.
func (s *DB) WriteRows(ctx context.Context, d Durability, table string, fn func(*Tx) error) error {
	return s.passOver(ctx, table, fn, func(fn func(*Tx) error) error { return s.Write(ctx, d, fn) })
}

// WriteVitalRows is WriteRows on the vital lane.
func (s *DB) WriteVitalRows(ctx context.Context, d Durability, table string, fn func(*Tx) error) error {
	return s.passOver(ctx, table, fn, func(fn func(*Tx) error) error { return s.WriteVital(ctx, d, fn) })
}

// passOver implements WriteRows over a function that runs a transaction. There is one attempt for
// each row that fails: after a damaged page was found, SQLite accepts nothing more in a
// transaction, not even after it was rolled back to a savepoint. Damaged pages of PostgreSQL are read around.
func (s *DB) passOver(ctx context.Context, table string, fn func(*Tx) error, write func(func(*Tx) error) error) error {
	skip, looked := map[string]bool{}, false
	var around tablePages
	for {
		err := write(func(tx *Tx) error {
			own := *tx
			own.skip = skip
			if err := readAround(&own, around); err != nil {
				return err
			}
			return fn(&own)
		})
		if !IsDamage(err) || s.joinedWith(ctx) != nil {
			return err
		}
		var more bool
		if around, more = s.aroundDamage(ctx, around, err); more {
			continue
		}
		bad, ok := errors.AsType[*rowError](err)
		switch {
		case ok && !skip[bad.id]:
			skip[bad.id] = true
			if err := s.mark(ctx, bad); err != nil {
				return err
			}
		case !looked:
			looked = true
			if err := s.findDamaged(ctx, table); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// IsDamage reports whether an error is caused by what is stored.
func IsDamage(err error) bool { return err != nil && flow.IsPermanent(dbconn.Classify(err)) }

// rowError is an error of the work on one row.
type rowError struct {
	table, id, task string
	cause           error
}

// Error names the row.
func (e *rowError) Error() string { return fmt.Sprintf("%s %s: %v", e.task, e.id, e.cause) }

// Unwrap returns the cause.
func (e *rowError) Unwrap() error { return e.cause }

// Each calls fn for each of some rows of a table, except for those at which an earlier attempt at
// the transaction failed. idOf returns the ID of a row. task names the work, for operators.
func Each[T any, ID ~string](tx *Tx, table, task string, rows []T, idOf func(T) ID, fn func(T) error) error {
	for _, row := range rows {
		id := string(idOf(row))
		if tx.skip[id] {
			continue
		}
		if err := fn(row); err != nil {
			return &rowError{table, id, task, err}
		}
	}
	return nil
}

// EachID is Each for a list of IDs.
func EachID[ID ~string](tx *Tx, table, task string, ids []ID, fn func(ID) error) error {
	return Each(tx, table, task, ids, func(id ID) ID { return id }, fn)
}

// ReadRows calls read, which reads rows of a table. If one of them cannot be read, the damaged rows
// of the table are looked for and marked, and read is called again; its queries must use the context
// that it gets, and pass over marked rows.
func ReadRows[T any](ctx context.Context, s *DB, table string, read func(context.Context) (T, error)) (T, error) {
	v, err := read(ctx)
	if !IsDamage(err) {
		return v, err
	}
	if s.repairIndexes(ctx, err) {
		return ReadRows(ctx, s, table, read)
	}
	if s.IsPostgres() {
		return readAroundDamage(ctx, s, read, v, err)
	}
	if err := s.findDamaged(ctx, table); err != nil {
		return v, err
	}
	return read(ctx)
}

// readAroundDamage is ReadRows after a read has failed with an error.
func readAroundDamage[T any](ctx context.Context, s *DB, read func(context.Context) (T, error), v T, err error) (T, error) {
	var around tablePages
	for more := true; IsDamage(err); {
		if around, more = s.aroundDamage(ctx, around, err); !more {
			break
		}
		err = s.readAround(ctx, around, func(ctx context.Context) (err error) {
			v, err = read(ctx)
			return err
		})
	}
	return v, err
}

// ReadRow calls read, which reads one row by its ID. An index of PostgreSQL may lead to an old version
// of the row on a damaged page although the row is on another page. Therefore read is called again to read around
// that page; if it does not find the row then, the first error is returned.
func ReadRow[T any](ctx context.Context, s *DB, read func(context.Context) (T, error)) (T, error) {
	v, err := read(ctx)
	if !IsDamage(err) || !s.IsPostgres() {
		return v, err
	}
	if elsewhere, err := readAroundDamage(ctx, s, read, v, err); err == nil {
		return elsewhere, nil
	}
	return v, err
}

// mark marks the row at which work failed, in a transaction of its own.
func (s *DB) mark(ctx context.Context, e *rowError) error {
	return s.Write(ctx, Relaxed, func(tx *Tx) error { return tx.MarkDamaged(e.table, e.id, e.task, e.cause) })
}

// repeatDamaged repeats a write that failed because of a damaged index that was rebuilt, or because
// it would have admitted a queued run that cannot be changed, after that run was marked.
func (s *DB) repeatDamaged(ctx context.Context, write func() error) error {
	for {
		err := write()
		if s.repairIndexes(ctx, err) {
			continue
		}
		bad, ok := errors.AsType[*rowError](err)
		if !ok || bad.task != admitTask {
			return err
		}
		if _, known := s.damage.runs.Load(flow.RunID(bad.id)); known {
			return err
		}
		if e := s.mark(ctx, bad); e != nil {
			return err
		}
	}
}

// admitTask is the task of admitting a queued run.
const admitTask = "start"

// MarkDamaged marks a row, so that background work passes over it.
func (tx *Tx) MarkDamaged(table, id, task string, failure error) error {
	tx.Store.Config.Log.Error("a stored row cannot be processed; it is passed over for a day", "table", table, "id", id, "task", task, "error", failure)
	if table == "runs" {
		tx.Store.damage.runs.Store(flow.RunID(id), true)
	}
	return tx.Queries.MarkDamaged(tx.Ctx, gen.MarkDamagedParams{
		TableName: table, ID: dbconn.ValidText(id), Task: task, Error: dbconn.ValidText(failure.Error()), FoundAt: tx.Store.NowMicros(),
	})
}

// findDamaged reads every row of a table on its own and marks those that cannot be read. It does
// nothing if it did so recently. IDs come from the index of the primary key, which is
// stored apart from the rows.
func (s *DB) findDamaged(ctx context.Context, table string) error {
	key := damageTables[table]
	if key == "" || s.IsPostgres() || !s.damage.mayProbe(table) {
		return nil
	}
	bad := map[string]error{}
	for after := ""; ; {
		rows, err := s.Reader.QueryContext(ctx, "SELECT "+key+" FROM "+table+" WHERE "+key+" > ? ORDER BY "+key+" LIMIT 1000", after)
		ids, err := dbconn.Collect(rows, err, dbconn.ScanText)
		if err != nil {
			return fmt.Errorf("list the rows of %s: %w", table, err)
		}
		if len(ids) == 0 {
			break
		}
		after = ids[len(ids)-1]
		for _, id := range ids {
			if err := s.readRow(ctx, table, id); IsDamage(err) {
				bad[id] = err
			} else if err != nil {
				return err
			}
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return s.Write(ctx, Relaxed, func(tx *Tx) error {
		for id, err := range bad {
			if err := tx.MarkDamaged(table, id, UnreadableTask, err); err != nil {
				return err
			}
		}
		return nil
	})
}

// readRow reads all columns of a row.
func (s *DB) readRow(ctx context.Context, table, id string) error {
	rows, err := s.Reader.QueryContext(ctx, "SELECT * FROM "+table+" WHERE "+damageTables[table]+" = ?", id)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// DropDamageMarks drops marks that are older than damageLife, so that the rows are tried again.
func (tx *Tx) DropDamageMarks(now time.Time) error {
	tx.Store.damage.runs.Clear() // one that is still damaged is marked again when it is tried
	tx.Store.damage.pages.forget()
	return tx.Queries.DropDamageMarks(tx.Ctx, dbconn.Micros(now.Add(-damageLife)))
}

// ListDamaged returns up to limit marked rows, those that were found last first.
func (s *DB) ListDamaged(ctx context.Context, limit int) ([]flow.DamagedRow, error) {
	rows, err := s.Reads.ListDamaged(ctx, int32(limit))
	return dbconn.ConvertRows(rows, err, func(r gen.DamagedRow) flow.DamagedRow {
		return flow.DamagedRow{Table: r.TableName, ID: r.ID, Task: r.Task, Error: strings.TrimSpace(r.Error), FoundAt: dbconn.TimeOf(r.FoundAt)}
	}, "list damaged rows")
}

// CountDamaged returns the number of marked rows.
func (s *DB) CountDamaged(ctx context.Context) (int64, error) { return s.Reads.CountDamaged(ctx) }

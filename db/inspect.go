package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/db/blobs"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/flow"
)

// Inspection is the state of a database as operators need it.
type Inspection struct {
	Engine          string        // SQLite or PostgreSQL, and its version
	Size            int64         // bytes of the database
	Log             int64         // bytes of SQLite's write-ahead log
	Damage          string        // first finding of the integrity check of SQLite; empty if it passed
	Unused          int           // pages of SQLite that are lost until a backup is restored, as of an index that was rebuilt
	Skew            time.Duration // how far this machine's clock is ahead of the database's
	Pooler          bool          // PostgreSQL is behind a connection pooler
	Open            map[flow.RunState]int64
	Pending, Failed int64 // deliveries in progress, and those that failed in the last day
	Files           int64
	Missing         int64 // files whose content was not found; only on SQLite
	Owned           bool  // there is at least one user account
	// Damaged are rows that background work passes over, at most damagedShown of them, and
	// pages of tables of PostgreSQL that cannot be read.
	Damaged      []flow.DamagedRow
	Unchecked    []string // tables of PostgreSQL that are too large to be read by Inspect
	ExpiringKeys int64    // keys that were used and expire within a week
	Backlog      Backlog
	Growth       Growth
	Replica      core.ReplicaState
	ReplicaError string // why the replica cannot be used
}

const (
	// damagedShown is how many damaged rows an Inspection has.
	damagedShown = 20
	// checkTime bounds the time for reading all tables of PostgreSQL.
	checkTime = time.Minute
)

// Inspect reads the state of the database and changes nothing.
func (s *Maintenance) Inspect(ctx context.Context) (e Inspection, err error) {
	e.Open = map[flow.RunState]int64{}
	for _, state := range []flow.RunState{flow.RunQueued, flow.RunRunning, flow.RunWaiting} {
		if e.Open[state], err = runsOf(s.DB).CountOpenRuns(ctx, state); err != nil && !core.IsDamage(err) { // Damage says more
			return e, err
		}
	}
	if e.Owned, err = (*Users)(s).HasUsers(ctx); err != nil && !core.IsDamage(err) {
		return e, err
	}
	e.Owned = e.Owned || err != nil
	if e.Damaged, err = s.DB.ListDamaged(ctx, damagedShown); err != nil && !core.IsDamage(err) {
		return e, err
	}
	now := s.DB.NowMicros()
	day, week := now-(24*time.Hour).Microseconds(), now+flow.KeyWarning.Microseconds()
	for _, count := range []struct {
		to    *int64
		query string
		args  []any
	}{
		{&e.Pending, "SELECT count(*) FROM deliveries WHERE ended_at = 0", nil},
		{&e.Failed, "SELECT count(*) FROM deliveries WHERE state = 'failed' AND ended_at > $1", []any{day}},
		{&e.Files, "SELECT count(*) FROM files WHERE erased_at = 0", nil},
		{&e.ExpiringKeys, "SELECT count(*) FROM keys WHERE revoked_at = 0 AND last_used_at > 0 AND expires_at > $1 AND expires_at < $2", []any{now, week}},
	} {
		if err := s.DB.Reader.QueryRowContext(ctx, count.query, count.args...).Scan(count.to); err != nil && !core.IsDamage(err) {
			return e, fmt.Errorf("count: %w", err)
		}
	}
	if e.Backlog, err = (*Retention)(s).Backlog(ctx); err != nil && !core.IsDamage(err) {
		return e, err
	}
	if e.Growth, err = s.growth(ctx); err != nil && !core.IsDamage(err) {
		return e, err
	}
	if s.DB.IsPostgres() {
		return e, s.inspectPostgres(ctx, &e)
	}
	return e, s.inspectSQLite(ctx, &e)
}

// inspectPostgres reads the version and the size of the database, whether a pooler is in
// front of it, and how far its clock differs from this machine's.
func (s *Maintenance) inspectPostgres(ctx context.Context, e *Inspection) error {
	e.Engine = "PostgreSQL "
	var version string
	if err := s.DB.Reader.QueryRowContext(ctx, "SELECT current_setting('server_version'), pg_database_size(current_database())").Scan(&version, &e.Size); err != nil {
		return fmt.Errorf("inspect PostgreSQL: %w", err)
	}
	e.Engine += version
	e.Pooler = s.DB.Pooler
	var unusable error
	if e.Replica, unusable = core.ReplicaOf(ctx, s.DB); unusable != nil {
		e.ReplicaError = unusable.Error()
	}
	err := s.DB.SyncClock(ctx, s.DB.Reader)
	e.Skew = s.DB.Clock.Skew()
	return cmp.Or(err, s.checkTables(ctx, e))
}

// checkTables reads all tables of PostgreSQL, small ones first, and finds the pages that cannot be read.
func (s *Maintenance) checkTables(ctx context.Context, e *Inspection) error {
	const query = `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'damaged_rows'::regclass)
		ORDER BY pg_total_relation_size(oid), relname`
	rows, err := s.DB.Reader.QueryContext(ctx, query)
	tables, err := dbconn.Collect(rows, err, dbconn.ScanText)
	if err != nil {
		return fmt.Errorf("list tables: %w", err)
	}
	until := time.Now().Add(checkTime)
	for _, table := range tables {
		err := s.DB.CheckTable(ctx, table, until, func(page int, cause error) {
			r := flow.DamagedRow{Table: table, ID: fmt.Sprint("page ", page), Task: core.UnreadableTask, Error: cause.Error(), FoundAt: s.DB.Config.Now()}
			if !slices.ContainsFunc(e.Damaged, func(known flow.DamagedRow) bool { return known.Table == table && known.ID == r.ID }) {
				e.Damaged = append(e.Damaged, r)
			}
		})
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			e.Unchecked = append(e.Unchecked, table)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// inspectSQLite reads the version and the size of the file with its write-ahead log, checks
// the database for damage, and inspects the stored files.
func (s *Maintenance) inspectSQLite(ctx context.Context, e *Inspection) error {
	var version string
	if err := s.DB.Reader.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return fmt.Errorf("inspect SQLite: %w", err)
	}
	e.Engine = "SQLite " + version
	path := filepath.Join(s.DB.Config.DataDir, core.DatabaseFile)
	e.Log = max(sizeOf(path+"-wal"), 0)
	e.Size = sizeOf(path) + e.Log
	s.checkPages(ctx, e)
	return s.inspectFiles(ctx, e)
}

// checkPages runs the integrity check of SQLite.
func (s *Maintenance) checkPages(ctx context.Context, e *Inspection) {
	rows, err := s.DB.Reader.QueryContext(ctx, "PRAGMA quick_check(10000)")
	found, err := dbconn.Collect(rows, err, dbconn.ScanText)
	if err != nil {
		e.Damage = err.Error()
		return
	}
	for line := range strings.Lines(strings.Join(found, "\n")) {
		switch line = strings.TrimSpace(line); {
		case line == "ok", strings.HasPrefix(line, "***"): // the name of the database
		case strings.HasSuffix(line, "never used"):
			e.Unused++
		case e.Damage == "":
			e.Damage = line
		}
	}
}

// inspectFiles checks that the content of every file exists that is not in object storage.
func (s *Maintenance) inspectFiles(ctx context.Context, e *Inspection) error {
	rows, err := s.DB.Reader.QueryContext(ctx, `SELECT hash FROM files f WHERE erased_at = 0
		AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.hash = f.hash AND b.upload_id LIKE 'sha256/%')`)
	if err != nil {
		return fmt.Errorf("inspect files: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var hash sql.RawBytes
		if err := rows.Scan(&hash); err != nil {
			return err
		}
		if h := string(hash); sizeOf(filepath.Join(s.DB.Config.DataDir, blobs.FilesDir, h[:2], h[2:])) < 0 {
			e.Missing++
		}
	}
	return rows.Err()
}

// sizeOf returns the size of a file in bytes, or -1 if it does not exist.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return -1
	}
	return info.Size()
}

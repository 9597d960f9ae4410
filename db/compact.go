package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"sluice/db/core"
	"sluice/db/dbconn"
)

const (
	// compactPages is how many pages one step gives back, so that a running server waits a few milliseconds.
	compactPages = 256
	// incremental is SQLite's name for a file that can give pages back in steps.
	incremental = 2
)

// errCompactPostgres is returned on PostgreSQL.
var errCompactPostgres = errors.New("PostgreSQL gives space back itself: autovacuum lets new rows use it, and VACUUM FULL or pg_repack make a table smaller")

// errCompactFirst is returned if a server is running and the file cannot give pages back in steps yet.
var errCompactFirst = errors.New("stop the server and run 'sluice compact' once; from then on it also works while the server is running")

// Compacted is the result of Compact.
type Compacted struct {
	Before int64 `json:"before"` // bytes of the file
	After  int64 `json:"after"`
}

// Compact gives the space of erased data back to the disk. Without a server it rewrites the whole file, which
// needs as much free space as the data takes. That also lets it give space back while a server is running:
// it then moves pages from the end of the file in small steps, between the writes of the server.
func (s *Maintenance) Compact(ctx context.Context) (c Compacted, err error) {
	if s.DB.IsPostgres() {
		return c, errCompactPostgres
	}
	path := filepath.Join(s.DB.Config.DataDir, core.DatabaseFile)
	db := sql.OpenDB(core.NewConnector(path, "mode=rw"+s.DB.BusyOption(), ""))
	defer db.Close()
	db.SetMaxOpenConns(1)
	c.Before = sizeOf(path)
	lock := flock.New(filepath.Join(s.DB.Config.DataDir, core.EngineFile), flock.SetPermissions(0o600))
	alone, err := lock.TryLock()
	if err != nil {
		return c, fmt.Errorf("lock data directory: %w", err)
	}
	if alone {
		err = rewrite(ctx, db)
		err = errors.Join(err, lock.Unlock())
	} else {
		err = giveBack(ctx, db)
	}
	if err != nil {
		return c, dbconn.StorageError(fmt.Errorf("compact the database: %w", err))
	}
	c.After = sizeOf(path)
	return c, nil
}

// rewrite rewrites the whole file and lets it give pages back in steps from then on.
func rewrite(ctx context.Context, db *sql.DB) error {
	for _, statement := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// giveBack gives all free pages back in steps. Between two steps it waits as long as a step took.
func giveBack(ctx context.Context, db *sql.DB) error {
	var mode int
	if err := db.QueryRowContext(ctx, "PRAGMA auto_vacuum").Scan(&mode); err != nil {
		return err
	}
	if mode != incremental {
		return errCompactFirst
	}
	for left := int64(-1); ; {
		var free int64
		if err := db.QueryRowContext(ctx, "PRAGMA freelist_count").Scan(&free); err != nil {
			return err
		}
		if free == 0 || free == left { // the rest is in use by readers
			break
		}
		left = free
		began := time.Now()
		if err := drain(ctx, db, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", compactPages)); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Since(began)):
		}
	}
	return drain(ctx, db, "PRAGMA wal_checkpoint(PASSIVE)") // it shortens the file
}

// drain runs a pragma to its end: each step of its result gives one page back.
func drain(ctx context.Context, db *sql.DB, pragma string) error {
	rows, err := db.QueryContext(ctx, pragma)
	if err != nil {
		return err
	}
	for rows.Next() {
		continue
	}
	return errors.Join(rows.Err(), rows.Close())
}

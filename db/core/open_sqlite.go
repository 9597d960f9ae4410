package core

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// DatabaseFile is the name of the SQLite database in the data directory.
const DatabaseFile = "sluice.db"

const (
	// WriterDSN is for the single writer connection, which the queue shares. With
	// eight writer connections, lock waits increased a commit from 7 ms to 1 s.
	WriterDSN = "_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_foreign_keys=1&_stmt_cache_size=128"
	readerDSN = "mode=ro&_query_only=1&_stmt_cache_size=64"
	// The log is checkpointed every 4096 pages (16 MiB), and its file is truncated
	// to 64 MiB.
	writerPragmas = `PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 4096;`
)

// openSQLite migrates the database and opens its connections: one that writes,
// several that read, and one for Changes.
func (s *DB) openSQLite(ctx context.Context) error {
	path := filepath.Join(s.Config.DataDir, DatabaseFile)
	if err := makePrivate(path); err != nil {
		return err
	}
	s.sqlite = sql.OpenDB(NewConnector(path, WriterDSN+s.BusyOption(), fmt.Sprintf("%s PRAGMA cache_size = -%d;", writerPragmas, s.Config.PageCache>>10)))
	s.sqlite.SetMaxOpenConns(1)
	s.sqlite.SetMaxIdleConns(1)
	if err := Schema(s.Config).SQLite(ctx, s.sqlite); err != nil {
		_ = s.sqlite.Close()
		return err
	}
	s.Reader = sql.OpenDB(NewConnector(path, readerDSN+s.BusyOption(), ""))
	n := max(4, runtime.NumCPU())
	s.Reader.SetMaxOpenConns(n)
	s.Reader.SetMaxIdleConns(n)
	s.Reads = gen.New(Reader{dbconn.SQLiteParams{DB: s.Reader}, s})
	s.watcher = sql.OpenDB(NewConnector(path, readerDSN+s.BusyOption(), ""))
	s.watcher.SetMaxOpenConns(1)
	s.Writer = newGroupWriter(s)
	return nil
}

// BusyOption returns the part of a DSN that sets how long to wait for a lock.
func (s *DB) BusyOption() string {
	return fmt.Sprintf("&_busy_timeout=%d", s.Config.BusyTimeout.Milliseconds())
}

// makePrivate creates the database file with mode 0600, because SQLite would make
// it readable by others. The log file inherits the mode.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("create database file: %w", err)
	}
	return f.Close()
}

// dataSource returns the name of a database file for the driver.
func dataSource(path, options string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options
}

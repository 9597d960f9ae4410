package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/mattn/go-sqlite3"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// DatabaseFile is the name of the SQLite database in the data directory.
const DatabaseFile = "sluice.db"

const (
	// One writer connection, shared with the queue: with eight of them, waiting
	// for each other's locks took a commit from 7 ms to a second.
	writerDSN = "_journal_mode=WAL&_synchronous=FULL&_txlock=immediate&_foreign_keys=1&_stmt_cache_size=128"
	readerDSN = "mode=ro&_query_only=1&_stmt_cache_size=64"
	// The log is folded back every 16 MiB and its file never keeps over 64 MiB.
	writerPragmas = `PRAGMA journal_size_limit = 67108864; PRAGMA wal_autocheckpoint = 4096; PRAGMA cache_size = -65536;`
)

func (s *core) openSQLite(ctx context.Context) error {
	path := filepath.Join(s.cfg.DataDir, DatabaseFile)
	if err := makePrivate(path); err != nil {
		return err
	}
	s.sqlite = sql.OpenDB(newConnector(path, writerDSN+s.busyOption(), writerPragmas))
	s.sqlite.SetMaxOpenConns(1)
	s.sqlite.SetMaxIdleConns(1)
	if err := s.cfg.schema().SQLite(ctx, s.sqlite); err != nil {
		_ = s.sqlite.Close()
		return err
	}
	s.reader = sql.OpenDB(newConnector(path, readerDSN+s.busyOption(), ""))
	n := max(4, runtime.NumCPU())
	s.reader.SetMaxOpenConns(n)
	s.reader.SetMaxIdleConns(n)
	s.read = gen.New(reader{dbconn.SQLiteParams{DB: s.reader}, s})
	s.watcher = sql.OpenDB(newConnector(path, readerDSN+s.busyOption(), ""))
	s.watcher.SetMaxOpenConns(1)
	s.writer = newGroupWriter(s)
	return nil
}

// busyOption returns the part of a DSN that sets how long to wait for a lock.
func (s *core) busyOption() string {
	return fmt.Sprintf("&_busy_timeout=%d", s.cfg.BusyTimeout.Milliseconds())
}

// makePrivate creates the file for its owner alone before SQLite would create
// it for everybody; the log beside it takes over the mode.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("make database file: %w", err)
	}
	return f.Close()
}

// connector opens connections with pragmas that the DSN cannot say.
type connector struct {
	dsn    string
	driver *sqlite3.SQLiteDriver
}

func newConnector(path, options, pragmas string) *connector {
	c := &connector{dsn: "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options, driver: &sqlite3.SQLiteDriver{}}
	if pragmas != "" {
		c.driver.ConnectHook = func(conn *sqlite3.SQLiteConn) error {
			// Keep the -wal and -shm files when the database is closed: a full
			// disk may have no room to create them again, even for reads.
			if err := conn.SetFileControlInt("main", sqlite3.SQLITE_FCNTL_PERSIST_WAL, 1); err != nil {
				return fmt.Errorf("keep the log: %w", err)
			}
			_, err := conn.Exec(pragmas, nil)
			return err
		}
	}
	return c
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c *connector) Driver() driver.Driver                        { return c.driver }

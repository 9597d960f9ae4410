package dbconn

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/flow"
)

// ErrFenced is returned to a worker whose run or delivery has a newer attempt or has
// ended.
var ErrFenced = flow.ErrFenced

// ErrEngineRunning is returned for a second engine on one data directory.
var ErrEngineRunning = errors.New("another sluice server is already running on this data directory")

// ErrNoDatabase is returned if a database must exist but does not.
var ErrNoDatabase = errors.New("there is no database")

// ErrNewer is returned for a database that a newer program has migrated.
var ErrNewer = errors.New("a newer Sluice has migrated this database")

// ErrClosed is returned for writes after the store was closed.
var ErrClosed = errors.New("db: the store is closed")

// retryBusy is the retry hint for a busy or full database.
const retryBusy = 5 * time.Second

// StorageError converts an error of a full, busy or unavailable database to the
// public error, and keeps the cause for the log.
func StorageError(err error) error {
	switch {
	case err == nil:
		return nil
	case IsFull(err):
		return retryableError(flow.CodeStorageFull, "The storage is full. Accepted runs are safe, but new ones are refused until space is freed.", retryBusy, err)
	case IsOutage(err):
		return Unavailable(err)
	case isBusy(err):
		return retryableError(flow.CodeOverloaded, "The database is busy. Try again in a moment.", retryBusy, err)
	}
	return Classify(err)
}

// retryObjects is the retry hint for an object storage that cannot be used.
const retryObjects = 5 * time.Second

// ObjectsUnavailable returns the public error for an object storage that cannot be used.
func ObjectsUnavailable(cause error) error {
	return retryableError(flow.CodeStorageUnavailable, "The storage of files cannot be used at the moment. Try again in a few seconds.", retryObjects, cause)
}

// retryableError returns a retryable public error with its cause.
func retryableError(code flow.Code, message string, after time.Duration, cause error) error {
	e := flow.Errorf(code, "%s", message)
	e.Retryable, e.After = true, after
	return fmt.Errorf("%w (%w)", e, cause)
}

// Result codes of SQLite (https://sqlite.org/rescode.html), without the extension in higher bits.
const (
	sqlitePerm       = 3
	sqliteBusy       = 5
	sqliteLocked     = 6
	sqliteReadOnly   = 8
	sqliteCorrupt    = 11
	sqliteFull       = 13
	sqliteTooBig     = 18
	sqliteConstraint = 19
	sqliteMismatch   = 20
	sqliteRange      = 25
	sqliteNotADB     = 26
)

// IsFull reports whether the disk is full.
func IsFull(err error) bool {
	if code, ok := sqliteCode(err); ok {
		return code == sqliteFull
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "53100" // disk_full
	}
	return errors.Is(err, syscall.ENOSPC)
}

// isBusy reports whether the database is overloaded: on SQLite another connection holds a
// lock, on PostgreSQL memory is short or a time limit was reached. Waiting helps.
func isBusy(err error) bool {
	if code, ok := sqliteCode(err); ok {
		return code == sqliteBusy || code == sqliteLocked
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "53200", "55P03", "57014": // memory, time limits of locks and statements
			return true
		}
	}
	return false
}

// Classify marks an error as permanent if it is caused by the stored data or the
// data to store, and not by the state of the database.
func Classify(err error) error {
	if err != nil && !flow.IsPermanent(err) && isPermanent(err) {
		return flow.Permanent(err)
	}
	return err
}

// IsCorrupt reports whether the database found a damaged page.
func IsCorrupt(err error) bool {
	if code, ok := sqliteCode(err); ok {
		return code == sqliteCorrupt
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch e.Code {
	case "XX001", "XX002": // damaged data, damaged index
		return true
	case "58030": // an error of the disk
		return strings.Contains(e.Message, "could not read block")
	}
	return false
}

// isPermanent reports whether a retry would fail the same way, because of damaged data, or
// of values that the schema does not allow.
func isPermanent(err error) bool {
	if code, ok := sqliteCode(err); ok {
		switch code {
		case sqliteCorrupt, sqliteNotADB, sqliteConstraint, sqliteMismatch, sqliteTooBig, sqliteRange:
			return true
		}
		return false
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch class := e.Code[:2]; class {
		case "22", "23", "54": // data, constraint, too large
			return true
		}
		return IsCorrupt(err)
	}
	// A column holds a value of an unexpected type; database/sql has no error
	// type for this.
	return strings.Contains(err.Error(), "sql: Scan error on column")
}

// Unreadable turns a permanent read error into a message about the object.
func Unreadable[ID ~string](err error, what string, id ID) error {
	if err = Classify(err); !flow.IsPermanent(err) {
		return err
	}
	return fmt.Errorf("%w (%w)", flow.Errorf(flow.CodeInternal, "The stored data of the %s %s cannot be read. The log has the details; a backup may still have the data.", what, id), err)
}

// AdviseOpen adds advice for the operator to an error of opening a database.
func AdviseOpen(dir string, err error) error {
	switch code, ok := sqliteCode(err); {
	case ok && (code == sqliteCorrupt || code == sqliteNotADB):
		return fmt.Errorf("the database in %s is damaged (%w); stop the server and restore the last backup with 'sluice restore --replace'", dir, err)
	case ok && (code == sqliteReadOnly || code == sqlitePerm), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; make the user that Sluice runs as the owner of %s and everything in it", err, dir)
	case IsFull(err):
		return fmt.Errorf("%w; the disk of %s is full: free some space and start again", err, dir)
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is not a directory; set SLUICE_DATA_DIR to a directory", dir)
	}
	return err
}

// IsConflict reports whether PostgreSQL rolled back a transaction that can be
// repeated: a serialization failure or a deadlock.
func IsConflict(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}

//go:build cgo

package dbconn

import (
	"errors"
	"syscall"

	"github.com/mattn/go-sqlite3"
)

// sqliteCode returns the result code of an error of SQLite, which is sqliteFull if the disk is full
// for any call, and whether it is such an error.
func sqliteCode(err error) (code int, ok bool) {
	e, ok := errors.AsType[sqlite3.Error](err)
	if e.SystemErrno == syscall.ENOSPC {
		return sqliteFull, ok
	}
	return int(e.Code), ok
}

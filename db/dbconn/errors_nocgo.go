//go:build !cgo

package dbconn

import (
	"errors"

	"modernc.org/sqlite"
)

// sqliteShmSize is the extended code for memory of the log that cannot get larger: SQLite does not
// report a full disk as such there, and this driver does not have the error of the system.
const sqliteShmSize = 10 | 19<<8

// sqliteCode returns the result code of an error of SQLite, which is sqliteFull if the disk is
// full, and whether it is such an error.
func sqliteCode(err error) (code int, ok bool) {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return 0, false
	}
	if e.Code() == sqliteShmSize {
		return sqliteFull, true
	}
	return e.Code() & 0xff, true
}

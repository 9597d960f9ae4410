//go:build !cgo

package core

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"modernc.org/sqlite"
)

// DriverName is the name under which the driver is registered with database/sql.
const DriverName = "sqlite"

// connector opens connections with pragmas that a DSN cannot contain. Its driver is SQLite
// translated to Go, for platforms for which no C compiler is at hand. It knows the same options.
type connector struct {
	dsn, pragmas string
	driver       *sqlite.Driver
}

// NewConnector returns a connector for a database file.
func NewConnector(path, options, pragmas string) driver.Connector {
	return &connector{dataSource(path, options), pragmas, &sqlite.Driver{}}
}

// Connect implements driver.Connector.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.driver.Open(c.dsn)
	if err != nil {
		return nil, err
	}
	conn := connection{opened.(translated)}
	if c.pragmas == "" {
		return conn, nil
	}
	// Keep the -wal and -shm files when the database is closed: a full disk may have no room
	// to create them again, even for reads.
	if _, err = conn.FileControlPersistWAL("main", 1); err != nil {
		err = fmt.Errorf("keep the log: %w", err)
	} else {
		_, err = conn.ExecContext(ctx, c.pragmas, nil)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.driver }

// translated is what connections of the driver implement.
type translated interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	sqlite.FileControl
}

// connection stores and reads empty blobs, for which the driver has NULL. Statements with them must
// not be prepared by their callers.
type connection struct{ translated }

// ExecContext implements driver.ExecerContext.
func (c connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.translated.ExecContext(ctx, withEmptyBlobs(query, args), args)
}

// QueryContext implements driver.QueryerContext.
func (c connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r, err := c.translated.QueryContext(ctx, withEmptyBlobs(query, args), args)
	if err != nil {
		return nil, err
	}
	return rows{r}, nil
}

// rows reads empty blobs as such.
type rows struct{ driver.Rows }

// Next implements driver.Rows.
func (r rows) Next(values []driver.Value) error {
	err := r.Rows.Next(values)
	for i, v := range values {
		if b, ok := v.([]byte); ok && b == nil {
			values[i] = []byte{}
		}
	}
	return err
}

// numbered is a parameter by its number.
var numbered = regexp.MustCompile(`\?[0-9]+`)

// withEmptyBlobs writes arguments that are empty blobs into a query.
func withEmptyBlobs(query string, args []driver.NamedValue) string {
	isEmpty := func(v driver.NamedValue) bool {
		b, ok := v.Value.([]byte)
		return ok && b != nil && len(b) == 0
	}
	if !slices.ContainsFunc(args, isEmpty) {
		return query
	}
	return numbered.ReplaceAllStringFunc(query, func(parameter string) string {
		for _, a := range args {
			if fmt.Sprintf("?%d", a.Ordinal) == parameter && isEmpty(a) {
				return "zeroblob(0)"
			}
		}
		return parameter
	})
}

//go:build cgo

package core

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/mattn/go-sqlite3"
)

// DriverName is the name under which the driver is registered with database/sql.
const DriverName = "sqlite3"

// connector opens connections with pragmas that a DSN cannot contain.
type connector struct {
	dsn    string
	driver *sqlite3.SQLiteDriver
}

// NewConnector returns a connector for a database file.
func NewConnector(path, options, pragmas string) driver.Connector {
	c := &connector{dsn: dataSource(path, options), driver: &sqlite3.SQLiteDriver{}}
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

// Connect implements driver.Connector. The driver of SQLite takes no context.
func (c *connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.dsn) }
func (c *connector) Driver() driver.Driver                        { return c.driver }

package dbtest

import (
	"testing"

	"sluice/db"
)

// Main runs the tests of a package and stops the PostgreSQL server after them.
func Main(m *testing.M) { panic("unfinished") }

// Each runs the test on a fresh SQLite store and on a fresh PostgreSQL store.
func Each(t *testing.T, test func(t *testing.T, s *db.Store)) { panic("unfinished") }

// SQLite opens a fresh store in a temporary directory.
func SQLite(t testing.TB, set ...func(*db.Config)) *db.Store { panic("unfinished") }

// Postgres opens a fresh store on the private server.
func Postgres(t testing.TB, set ...func(*db.Config)) *db.Store { panic("unfinished") }

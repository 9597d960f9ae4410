package dbtest

import (
	"testing"

	"sluice/db"
)

// EmptyPostgresConfig is the configuration of a database without tables, for
// tests of migrations and of dumps that are restored. It is dropped after the
// test.
func EmptyPostgresConfig(t testing.TB, set ...func(*db.Config)) db.Config {
	t.Helper()
	startServer(t)
	name, err := server.create("empty", "template0")
	if err != nil {
		t.Fatalf("create an empty PostgreSQL database: %v", err)
	}
	t.Cleanup(func() { server.drop(name) })
	return change(db.Config{DataDir: t.TempDir(), DatabaseURL: server.url(name), MasterKey: masterKey}, set)
}

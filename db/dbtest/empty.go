package dbtest

import (
	"context"
	"fmt"
	"testing"

	"sluice/db"
	"sluice/e2e/need"
)

// EmptyPostgresConfig is the configuration of a database without tables, for
// tests of migrations and of dumps that are restored. It is dropped after the
// test.
func EmptyPostgresConfig(t testing.TB, set ...func(*db.Config)) db.Config {
	t.Helper()
	need.Tool(t, "PostgreSQL server binaries not found", server.installed())
	if err := server.start(); err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	name, err := server.createEmpty()
	if err != nil {
		t.Fatalf("create an empty PostgreSQL database: %v", err)
	}
	t.Cleanup(func() { server.drop(name) })
	return change(db.Config{DataDir: t.TempDir(), DatabaseURL: server.url(name), MasterKey: masterKey}, set)
}

func (p *postgres) createEmpty() (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	name = fmt.Sprintf("empty%d", p.made)
	_, err = p.admin.Exec(context.Background(), "CREATE DATABASE "+name+" TEMPLATE template0")
	return name, err
}

// drop removes a database with whatever is still connected. The server is gone
// after the tests anyway, so one that stays does no harm.
func (p *postgres) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

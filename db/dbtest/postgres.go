package dbtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/dbtest/pgserver"
)

// postgres is a private server of this test process, without syncing, and the
// databases on it that tests use one after the other.
type postgres struct {
	pgserver.Server

	mu    sync.Mutex
	tried bool
	err   error
	admin *pgx.Conn
	made  int
	free  []string // databases that are empty again
}

var server postgres

// templateName is the migrated database that every test's own is copied from.
const templateName = "sluice_template"

func (p *postgres) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tried {
		p.tried, p.err = true, p.launch()
	}
	return p.err
}

func (p *postgres) launch() error {
	if err := p.Prepare(); err != nil {
		return err
	}
	data := filepath.Join(p.Dir(), "data")
	if err := p.Initialize(data); err != nil {
		return err
	}
	if err := p.Launch(data, fastSettings...); err != nil {
		return err
	}
	return p.makeTemplate()
}

// fastSettings make a server fast: its data need not survive a crash of the machine.
var fastSettings = []string{"fsync=off", "full_page_writes=off", "max_connections=500", "shared_buffers=64MB"}

// makeTemplate waits for the server and migrates the template in it.
func (p *postgres) makeTemplate() (err error) {
	ctx := context.Background()
	if p.admin, err = p.Connect(ctx); err != nil {
		return err
	}
	// A language's collation, where there is one, sorts unlike SQLite does.
	const english = " TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
	if _, err := p.admin.Exec(ctx, "CREATE DATABASE "+templateName+english); err != nil {
		if _, err := p.admin.Exec(ctx, "CREATE DATABASE "+templateName); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "sluice-template-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := db.Open(ctx, db.Config{DataDir: dir, DatabaseURL: p.url(templateName), MasterKey: masterKey})
	if err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	return s.Close()
}

// take gives a test an empty database. One that another test is done with is
// emptied and used again, since making one takes longer than most tests.
func (p *postgres) take() (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		name, p.free = p.free[n-1], p.free[:n-1]
		return name, nil
	}
	p.made++
	name = fmt.Sprintf("test%d", p.made)
	_, err = p.admin.Exec(context.Background(), "CREATE DATABASE "+name+" TEMPLATE "+templateName)
	return name, err
}

// giveBack empties a database. One that cannot be emptied is left alone.
func (p *postgres) giveBack(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.URL(name))
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, emptyAll); err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, name)
}

// emptyAll deletes everything but what migrations and the master key left.
// Deleting a few rows is faster than truncating, but of many it leaves a table
// full of dead ones to the next test.
const emptyAll = `SET lock_timeout = '2s';
DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
		AND tablename NOT IN ('meta', 'goose_db_version', 'river_migration') LOOP
		EXECUTE CASE WHEN pg_relation_size(t::regclass) > 1000000 THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || quote_ident(t);
	END LOOP;
END $$`

// url is the address for a store, whose pool stays small: many tests share the server.
func (p *postgres) url(database string) string { return p.URL(database) + "&pool_max_conns=12" }

func (p *postgres) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.admin != nil {
		_ = p.admin.Close(context.Background())
	}
	p.Close()
}

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

// postgres is the private server that the tests of this process share, and its
// databases. It is started when the first test needs it.
type postgres struct {
	mu     sync.Mutex
	tried  bool
	err    error
	server *pgserver.Server
	admin  *pgx.Conn
	made   int      // number of databases created
	free   []string // databases that are empty again
}

// server is the PostgreSQL that the tests of this process share.
var server postgres

// templateName is the migrated database from which the databases of tests are
// copied.
const templateName = "sluice_template"

// start launches the server at its first use. A failure is remembered, so that each
// test reports it at once.
func (p *postgres) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tried {
		p.tried, p.err = true, p.launch()
	}
	return p.err
}

// launch initializes and starts the server, connects to it as administrator, and makes the
// template of all test databases.
func (p *postgres) launch() (err error) {
	if p.server, err = pgserver.New(); err != nil {
		return err
	}
	data := filepath.Join(p.server.Dir(), "data")
	if err := p.server.Init(data); err != nil {
		return err
	}
	if err := p.server.Serve(data, testOptions()...); err != nil {
		return err
	}
	if err := pgserver.Await(p.server.URL("postgres")); err != nil {
		return fmt.Errorf("%w\n%s", err, p.server.Output())
	}
	if p.admin, err = pgx.Connect(context.Background(), p.server.URL("postgres")); err != nil {
		return err
	}
	return p.makeTemplate()
}

// testOptions are the options of postgres for tests: fast and not durable, with
// additional settings ("name=value").
func testOptions(settings ...string) []string {
	options := []string{"-F"}
	for _, setting := range append([]string{"max_connections=500", "full_page_writes=off", "shared_buffers=64MB"}, settings...) {
		options = append(options, "-c", setting)
	}
	return options
}

// makeTemplate creates and migrates the template.
func (p *postgres) makeTemplate() error {
	ctx := context.Background()
	// If available, use the collation of a language, which sorts differently from
	// SQLite.
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

// acquire returns an empty, migrated database. It reuses the databases of finished
// tests, because creating one takes longer than most tests.
func (p *postgres) acquire() (name string, err error) {
	p.mu.Lock()
	if n := len(p.free); n > 0 {
		defer p.mu.Unlock()
		name, p.free = p.free[n-1], p.free[:n-1]
		return name, nil
	}
	p.mu.Unlock()
	return p.create("test", templateName)
}

// create creates a database from a template.
func (p *postgres) create(prefix, template string) (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	name = fmt.Sprintf("%s%d", prefix, p.made)
	_, err = p.admin.Exec(context.Background(), "CREATE DATABASE "+name+" TEMPLATE "+template)
	return name, err
}

// drop removes a database and ends its sessions. An error does no harm, because the
// server is removed after the tests anyway.
func (p *postgres) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.admin.Exec(context.Background(), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

// release empties a database. If that fails, the database is not used again.
func (p *postgres) release(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.server.URL(name))
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

// emptyAll deletes everything except the rows of migrations and the master key.
// Deleting is faster than truncating for a few rows, but many deleted rows would slow
// down the next test.
const emptyAll = `SET lock_timeout = '2s';
DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
		AND tablename NOT IN ('meta', 'goose_db_version', 'river_migration') LOOP
		EXECUTE CASE WHEN pg_relation_size(t::regclass) > 1000000 THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || quote_ident(t);
	END LOOP;
END $$`

// url returns the address for a store with a small pool, because many tests share the
// server.
func (p *postgres) url(database string) string {
	return p.server.URL(database) + "&pool_max_conns=12"
}

// stop ends the server and removes its files at the end of the test process.
func (p *postgres) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.admin != nil {
		_ = p.admin.Close(context.Background())
	}
	if p.server != nil {
		p.server.Remove()
	}
}

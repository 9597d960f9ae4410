// Package migrations holds the schema as SQL files, and brings the tables of
// Sluice and of the job queue to the schema of this program. It refuses a
// database that a newer program has migrated.
package migrations

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// Files are the migrations of the tables of Sluice, in order.
//
//go:embed *.sql
var Files embed.FS

// migratedBy is the row of meta that names the version of the program that
// migrated the database last.
const migratedBy = "migrated_by"

// Schema brings a database to the schema of this program.
type Schema struct {
	Dir        string       // data directory
	Version    string       // of this program, "" if unknown
	Log        *slog.Logger // for what delays a migration
	Migrations fs.FS        // default Files
}

// lockDir waits until no other process migrates the database in a
// directory, and keeps others out until unlock.
func lockDir(dir string) (unlock func(), err error) {
	lock := flock.New(filepath.Join(dir, "sluice.migrate.lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("lock for migration: %w", err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// SQLite migrates the database behind a connection while no other process does.
func (s Schema) SQLite(ctx context.Context, db *sql.DB) error {
	unlock, err := lockDir(s.Dir)
	if err != nil {
		return err
	}
	defer unlock()
	m, err := NewMigration(goose.DialectSQLite3, db, s)
	if err != nil {
		return err
	}
	q, err := newQueueMigration(riversqlite.New(db), s)
	if err != nil {
		return err
	}
	if err := errors.Join(m.refuseNewer(ctx), q.refuseNewer(ctx)); err != nil {
		return err
	}
	if err := m.up(ctx, func(next *goose.Source) error { return m.apply(ctx, next) }); err != nil {
		return err
	}
	return m.finish(ctx, q)
}

// migration brings the tables of Sluice to the schema of this program.
type migration struct {
	*goose.Provider
	dialect goose.Dialect
	db      *sql.DB
	files   fs.FS
	program string // version of this program, "" if unknown
}

func NewMigration(dialect goose.Dialect, db *sql.DB, s Schema) (*migration, error) {
	var files fs.FS = Files
	if s.Migrations != nil {
		files = s.Migrations
	}
	if dialect == goose.DialectSQLite3 {
		files = sqliteFiles{files}
	}
	p, err := goose.NewProvider(dialect, db, files)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return &migration{Provider: p, dialect: dialect, db: db, files: files, program: s.Version}, nil
}

// refuseNewer returns an error that is ErrNewer and names both versions if a
// newer program has migrated the database.
func (m *migration) refuseNewer(ctx context.Context) error {
	present, known, err := m.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if present <= known {
		return nil
	}
	newer, _ := gen.New(m.handle(m.db)).FindMeta(ctx, migratedBy) // the sentence does without
	return newerError(present, known, string(newer), m.program)
}

// newerError tells an operator which two versions do not fit. The versions of
// the programs may be empty.
func newerError(present, known int64, newer, program string) error {
	if newer != "" {
		newer = ", " + newer
	}
	if program != "" {
		program = ", " + program + ","
	}
	return fmt.Errorf("%w%s: it has schema version %d, and this program%s supports versions up to %d; start the newer program, or restore a backup from before the upgrade",
		dbconn.ErrNewer, newer, present, program, known)
}

// up applies the migrations that the database lacks, in order.
func (m *migration) up(ctx context.Context, apply func(*goose.Source) error) error {
	all, err := m.Status(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	for _, one := range all {
		if one.State != goose.StatePending {
			continue
		}
		if err := apply(one.Source); err != nil {
			return fmt.Errorf("migrate to schema version %d: %w", one.Source.Version, err)
		}
	}
	return nil
}

func (m *migration) apply(ctx context.Context, next *goose.Source) error {
	_, err := m.ApplyVersion(ctx, next.Version, true)
	return err
}

// finish does what follows the tables: what SQL alone cannot migrate, the queue,
// and a note of who migrated.
func (m *migration) finish(ctx context.Context, q queueMigration) error {
	if err := inheritSigning(ctx, m.dialect, m.db); err != nil {
		return err
	}
	if err := q.up(ctx); err != nil {
		return err
	}
	if m.program == "" {
		return nil
	}
	return gen.New(m.handle(m.db)).SaveMeta(ctx, gen.SaveMetaParams{Name: migratedBy, Value: []byte(m.program)})
}

// handle makes queries with PostgreSQL's parameters work on either database.
func (m *migration) handle(db gen.DBTX) gen.DBTX {
	if m.dialect == goose.DialectSQLite3 {
		return dbconn.SQLiteParams{DB: db}
	}
	return db
}

// queueMigration brings River's tables to the schema of this program.
type queueMigration interface {
	refuseNewer(ctx context.Context) error
	isCurrent(ctx context.Context) (bool, error)
	up(ctx context.Context) error
}

type riverMigration[T any] struct {
	*rivermigrate.Migrator[T]
	exec    riverdriver.Executor
	program string
}

func newQueueMigration[T any](driver riverdriver.Driver[T], s Schema) (queueMigration, error) {
	m, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: slog.New(quietHandler{s.Log.Handler()})})
	if err != nil {
		return nil, fmt.Errorf("read queue migrations: %w", err)
	}
	return &riverMigration[T]{m, driver.GetExecutor(), s.Version}, nil
}

// refuseNewer returns ErrNewer if a newer program has migrated the queue: a
// newer River may come without a migration of Sluice's own tables.
func (m *riverMigration[T]) refuseNewer(ctx context.Context) error {
	exists, err := m.exec.TableExists(ctx, &riverdriver.TableExistsParams{Table: "river_migration"})
	if err != nil {
		return fmt.Errorf("read the schema version of the queue: %w", err)
	}
	if !exists {
		return nil
	}
	present, err := m.exec.MigrationGetByLine(ctx, &riverdriver.MigrationGetByLineParams{Line: riverdriver.MigrationLineMain})
	if err != nil {
		return fmt.Errorf("read the schema version of the queue: %w", err)
	}
	if known := m.AllVersions(); len(present) > len(known) {
		return newerError(int64(len(present)), int64(len(known)), "", m.program)
	}
	return nil
}

func (m *riverMigration[T]) isCurrent(ctx context.Context) (bool, error) {
	v, err := m.Validate(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("read the schema version of the queue: %w", err)
	}
	return v.OK, nil
}

func (m *riverMigration[T]) up(ctx context.Context) error {
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	return nil
}

// quietHandler drops what is below a warning: every step of every migration.
type quietHandler struct{ slog.Handler }

func (quietHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// sqliteFiles are migrations without the word CONCURRENTLY, which only
// PostgreSQL knows. On SQLite nobody waits for an index: one process writes.
type sqliteFiles struct{ fs.FS }

// Open opens a file. The text of a migration is rewritten.
func (f sqliteFiles) Open(name string) (fs.File, error) {
	file, err := f.FS.Open(name)
	if err != nil || path.Ext(name) != ".sql" {
		return file, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return &sqliteFile{file, bytes.NewReader([]byte(strings.ReplaceAll(string(text), " CONCURRENTLY", "")))}, nil
}

type sqliteFile struct {
	fs.File
	text io.Reader
}

// Read reads the rewritten text.
func (f *sqliteFile) Read(p []byte) (int, error) { return f.text.Read(p) }

// Package migrations holds the schema as SQL files and migrates the tables of Sluice
// and of the job queue to the schema of this program. It returns an error for a
// database that a newer program has migrated.
//
// The same files serve both databases; goose records which of them were applied. A
// migration that was released must not change. On PostgreSQL other instances may
// use the tables during a migration, so it must not lock them for long, and the
// programs before and after it must both work with the new schema.
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

// migratedBy is the row of meta with the version of the program that last migrated
// the database.
const migratedBy = "migrated_by"

// Schema migrates databases to the schema of this program.
type Schema struct {
	Dir        string       // data directory
	Version    string       // of this program, "" if unknown
	Log        *slog.Logger // logs what delays a migration
	Migrations fs.FS        // default Files
}

// lockDir takes the lock under which one process at a time migrates the database in
// a directory.
func lockDir(dir string) (unlock func(), err error) {
	lock := flock.New(filepath.Join(dir, "sluice.migrate.lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("lock for migration: %w", err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// SQLite migrates a SQLite database while no other process does.
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

// migration migrates the tables of Sluice.
type migration struct {
	*goose.Provider
	dialect goose.Dialect
	db      *sql.DB
	files   fs.FS
	program string // version of this program, "" if unknown
}

// NewMigration prepares the migration of the tables of Sluice.
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

// refuseNewer returns ErrNewer with both versions if a newer program has migrated the
// database.
func (m *migration) refuseNewer(ctx context.Context) error {
	present, known, err := m.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	if present <= known {
		return nil
	}
	newer, _ := gen.New(m.handle(m.db)).FindMeta(ctx, migratedBy) // the message works without it
	return newerError(present, known, string(newer), m.program)
}

// newerError returns ErrNewer with the schema versions and, if known, the versions of
// the programs.
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

// apply executes one migration, in a transaction of its own unless its file says
// NO TRANSACTION.
func (m *migration) apply(ctx context.Context, next *goose.Source) error {
	_, err := m.ApplyVersion(ctx, next.Version, true)
	return err
}

// finish runs the migration that SQL cannot express, migrates the queue, and records
// the version of this program.
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

// queueMigration migrates River's tables.
type queueMigration interface {
	refuseNewer(ctx context.Context) error
	isCurrent(ctx context.Context) (bool, error)
	up(ctx context.Context) error
}

// riverMigration migrates the tables of the job queue, whose versions are River's.
type riverMigration[T any] struct {
	*rivermigrate.Migrator[T]
	exec    riverdriver.Executor
	program string
}

// newQueueMigration returns the migration of the tables of the job queue, which River ships.
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

// isCurrent reports whether the tables of the queue have all migrations that this program
// knows.
func (m *riverMigration[T]) isCurrent(ctx context.Context) (bool, error) {
	v, err := m.Validate(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("read the schema version of the queue: %w", err)
	}
	return v.OK, nil
}

// up applies the migrations of the queue that are missing. Sluice never migrates down.
func (m *riverMigration[T]) up(ctx context.Context) error {
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate the queue: %w", err)
	}
	return nil
}

// quietHandler drops messages below warnings, such as one per migration step.
type quietHandler struct{ slog.Handler }

// Enabled drops the messages below warnings, such as those of River about each migration.
func (quietHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// sqliteFiles are the migrations without the keyword CONCURRENTLY, which only
// PostgreSQL has. On SQLite a single process writes, so no other one waits.
type sqliteFiles struct{ fs.FS }

// Open opens a file and rewrites the text of a migration.
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

// sqliteFile is a migration file with the text that sqliteFiles.Open rewrote.
type sqliteFile struct {
	fs.File
	text io.Reader
}

// Read reads the rewritten text.
func (f *sqliteFile) Read(p []byte) (int, error) { return f.text.Read(p) }

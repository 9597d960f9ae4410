package db

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/flow"
)

// Config says where the store is and how it behaves. Only DataDir is needed.
type Config struct {
	DatabaseURL   string // postgres://…; empty means SQLite in DataDir
	DataDir       string // database, lock and master key; made with mode 0700
	MasterKey     string // base64 of 32 bytes or a Tink keyset in JSON
	MasterKeyFile string // a file with the same; default master.key in DataDir

	Retention       time.Duration // how long an ended run keeps its content; default 30 days
	InstanceTimeout time.Duration // silence after which an instance counts as dead; default 20 s
	Capacity        int           // runs admitted at once by this process; default 256

	Log    *slog.Logger     // default discards
	Now    func() time.Time // default time.Now
	Random io.Reader        // of identifiers; default crypto/rand
}

// Store is the open database. It is safe for concurrent use.
type Store struct {
	cfg Config
	ids flow.IDs

	// RunEnded tells the per-run webhook's type ("run.succeeded") and its data
	// (the run object as JSON). It is set at wiring, before the first run.
	RunEnded func(run *flow.Run) (typ string, data []byte)
}

// Open opens the store, migrates it and reads its master key. A key that does
// not fit what the database was sealed with is refused.
func Open(ctx context.Context, cfg Config) (*Store, error) { panic("unfinished") }

// Close waits for writes under way and closes every connection.
func (s *Store) Close() error { panic("unfinished") }

// SQLite is the pool of the one writer connection, nil on PostgreSQL.
func (s *Store) SQLite() *sql.DB { panic("unfinished") }

// Pool is the connection pool of PostgreSQL, nil on SQLite.
func (s *Store) Pool() *pgxpool.Pool { panic("unfinished") }

// Listen calls told with the ID of every run that any instance writes, until
// ctx ends. On SQLite it only waits: one process writes there, and wakes its
// own waiters.
func (s *Store) Listen(ctx context.Context, told func(runID string)) error { panic("unfinished") }

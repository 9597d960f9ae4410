package core

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/migrations"
	"sluice/flow"
)

// defaultBusyTimeout is how long a write on SQLite waits for another program's
// lock before the caller gets 503.
const defaultBusyTimeout = 5 * time.Second

// Config says where the store is and how it behaves. Only DataDir is needed.
type Config struct {
	DatabaseURL   string // postgres://…; empty means SQLite in DataDir
	DataDir       string // database, files, lock and master key; made with mode 0700
	MasterKey     string // base64 of 32 bytes or a Tink keyset in JSON
	MasterKeyFile string // a file with the same; default master.key in DataDir

	Retention       time.Duration // how long an ended run keeps its content; default 30 days
	AuditRetention  time.Duration // how long entries of the audit log are kept; 0 keeps them forever
	InstanceTimeout time.Duration // silence after which an instance counts as dead; default 20 s
	BusyTimeout     time.Duration // how long to wait for a lock that another program holds on SQLite; default 5 s
	Capacity        int           // runs admitted at once by this process; default 256
	MaxFile         int64         // bytes of one file; default 512 MiB
	Quota           flow.Storage  // default quota of every workspace but the default one; 0 is unlimited

	// Instance names this server among those that share a PostgreSQL database, as
	// Heartbeat does. It is in the application name of its sessions, so that
	// others can end them when it is dead. Empty for commands, which are not
	// bound by the time limits of a server's statements.
	Instance string

	MustExist bool // Open returns ErrNoDatabase instead of creating a database

	Version string // of the program; an older one names it when it refuses the database

	Log    *slog.Logger     // default discards
	Now    func() time.Time // default: the machine's clock on SQLite, the database's on PostgreSQL
	Random io.Reader        // of identifiers; default crypto/rand
	// MachineNow is the clock of this machine, default time.Now. Tests set it to
	// pretend that machines disagree about the time.
	MachineNow func() time.Time

	Keys       *keyset.Handle // the old and the new master key, while it is rotated
	Migrations fs.FS          // default migrations.Files
}

func (c Config) WithDefaults() Config {
	c.DataDir = cmp.Or(c.DataDir, "data")
	c.Retention = cmp.Or(c.Retention, 30*24*time.Hour)
	c.InstanceTimeout = cmp.Or(c.InstanceTimeout, 20*time.Second)
	c.BusyTimeout = cmp.Or(c.BusyTimeout, defaultBusyTimeout)
	c.Capacity = cmp.Or(c.Capacity, 256)
	c.MaxFile = cmp.Or(c.MaxFile, 512<<20)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.MachineNow == nil {
		c.MachineNow = time.Now
	}
	if c.Now == nil {
		c.Now = c.MachineNow
	}
	if c.Random == nil {
		c.Random = rand.Reader
	}
	return c
}

func (c Config) Schema() migrations.Schema {
	return migrations.Schema{Dir: c.DataDir, Version: c.Version, Log: c.Log, Migrations: c.Migrations}
}

// DB is what the stores of all nouns share: the connections, the transactions
// and the clock of one database. It is safe for concurrent use.
type DB struct {
	Config Config
	ids    flow.IDs
	aead   tink.AEAD

	AuditKeys AuditKeys

	Clock    *dbconn.Clock
	OwnClock bool // cfg.Now is clock, not one that was given

	sqlite   *sql.DB       // the one writer connection, shared with the queue; nil on PostgreSQL
	pool     *pgxpool.Pool // nil on SQLite
	Pooler   bool          // a connection pooler stands before PostgreSQL
	slots    *dbconn.Slots // bounds how much of the pool reader uses
	Vital    lane          // for what must not wait for others
	Reader   *sql.DB
	watcher  *sql.DB // has one connection that only Changes uses; nil on PostgreSQL
	changes  atomic.Int64
	Reads    *gen.Queries
	Writer   writer
	sets     *setWriter // of PostgreSQL; nil on SQLite
	notifier *notifier  // of PostgreSQL
	// connect is how to connect to PostgreSQL, and sizesItself whether the size
	// of the pool follows from what PostgreSQL takes.
	connect     *pgx.ConnConfig
	sizesItself bool
	outages     dbconn.Outages
	engine      *flock.Flock
	// BusyBefore holds the runs that were at work in the previous process with
	// this data directory, until their crash is counted.
	BusyBefore map[string]bool
	queue      atomic.Pointer[Queue]
	Workers    atomic.Int64 // capacity of this process
	Live       liveWorkers  // capacity of all instances, on PostgreSQL
	roundRobin roundRobin
	Self       atomic.Pointer[string] // the ID of this instance, once it is known
	source     string                 // names this store in what it tells others
	Lines      lineTurns
	Recent     recent
	Logged     atomic.Bool // usage was logged that is not added up yet

	// PeerAddr is where other instances reach this one, as IP:PORT; empty for
	// nowhere. Heartbeat records it. It is set at wiring.
	PeerAddr string

	// RunEnded tells the per-run webhook's type ("run.succeeded") and its data
	// (the run object as JSON). It is set at wiring, before the first run.
	RunEnded func(run *flow.Run) (typ string, data []byte)

	// FlowEdited hears of every draft that was changed, after the commit: here
	// by the one who changed it, and through Listen from all instances, so that
	// a revision may come twice or late. Empty IDs say that any may have been
	// missed. It must return soon. It is set at wiring, before the first edit.
	FlowEdited func(ws, flowID string, rev int64)

	// Heard hears, through Listen, what other instances say with TellOthers. It
	// must return soon. It is set at wiring, before Listen.
	Heard func(topic, text string)
}

// Writer carries out write functions, each as if in its own transaction.
type writer interface {
	write(ctx context.Context, m *member) error
	close() error
}

// Open connects to the database, migrates it and reads its master key. A key
// that does not fit what the database was sealed with is refused.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	ownClock := cfg.Now == nil
	cfg = cfg.WithDefaults()
	clock := dbconn.NewClock(cfg.MachineNow)
	if ownClock {
		cfg.Now = clock.Now
	}
	if err := cfg.prepareDir(); err != nil {
		return nil, err
	}
	s := &DB{Config: cfg, Clock: clock, OwnClock: ownClock, ids: flow.IDs{Now: cfg.Now, Random: &dbconn.LockedReader{R: cfg.Random}}, Recent: newRecent(), source: rand.Text()}
	s.outages.Log = cfg.Log
	s.Logged.Store(true) // perhaps by a process before this one
	s.Workers.Store(int64(cfg.Capacity))
	connect := s.openSQLite
	if cfg.DatabaseURL != "" {
		connect = s.openPostgres
	}
	if err := connect(ctx); err != nil {
		return nil, dbconn.AdviseOpen(cfg.DataDir, err)
	}
	s.useVital()
	if err := s.unlock(ctx); err != nil {
		_ = s.Close()
		return nil, dbconn.AdviseOpen(cfg.DataDir, err)
	}
	return s, nil
}

// prepareDir creates the data directory, unless the database must already
// exist.
func (c Config) prepareDir() error {
	if c.MustExist && c.DatabaseURL != "" {
		return nil // openPostgres checks; the directory holds only the master key, if anything
	}
	if c.MustExist {
		if _, err := os.Stat(filepath.Join(c.DataDir, DatabaseFile)); errors.Is(err, fs.ErrNotExist) {
			return dbconn.ErrNoDatabase
		}
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return dbconn.AdviseOpen(c.DataDir, fmt.Errorf("make data directory: %w", err))
	}
	return nil
}

// Close waits for writes under way and closes every connection.
func (s *DB) Close() error {
	err := s.Writer.close()
	if s.sets != nil {
		err = errors.Join(s.sets.close(), err)
		s.notifier.close()
	}
	err = cmp.Or(err, s.Vital.close())
	for _, db := range []*sql.DB{s.watcher, s.Reader, s.sqlite} {
		if db != nil {
			err = cmp.Or(err, db.Close())
		}
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.engine != nil {
		err = cmp.Or(err, s.engine.Unlock())
	}
	return err
}

// InstanceTimeout returns the silence after which other instances take over
// from one.
func (s *DB) InstanceTimeout() time.Duration { return s.Config.InstanceTimeout }

// SQLite is the pool of the one writer connection, nil on PostgreSQL.
func (s *DB) SQLite() *sql.DB { return s.sqlite }

// Pool is the connection pool of PostgreSQL, nil on SQLite.
func (s *DB) Pool() *pgxpool.Pool { return s.pool }

// NowMicros is Now in microseconds, as the database keeps times.
func (s *DB) NowMicros() int64 { return s.Config.Now().UnixMicro() }

// Write runs fn in a transaction. fn may run more than once, so it must be
// database work alone and publish nothing; it must not call write itself.
func (s *DB) Write(ctx context.Context, d Durability, fn func(*Tx) error) error {
	if j := s.joinedWith(ctx); j != nil {
		return fn(j.tx)
	}
	return s.outages.Named(s.Writer.write(ctx, &member{fn: fn, d: d}))
}

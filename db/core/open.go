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

	"sluice/db/auditkeys"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/migrations"
	"sluice/flow"
	"sluice/flow/fairness"
)

// defaultBusyTimeout is how long a write on SQLite waits for a lock of another
// program before the caller gets 503.
const defaultBusyTimeout = 5 * time.Second

// Config says where the store is and how it behaves. Only DataDir is needed.
type Config struct {
	DatabaseURL string // postgres://…; empty for SQLite in DataDir
	// ReadDatabaseURL is a streaming replica of that PostgreSQL, for lists and reports.
	ReadDatabaseURL string
	DataDir         string // database, files, lock and master key; created with mode 0700
	MasterKey       string // base64 of 32 bytes or a Tink keyset in JSON
	MasterKeyFile   string // a file with the same; default master.key in DataDir
	// MasterKeyCommand prints the same; the shell runs it.
	MasterKeyCommand string
	// Audited is called for each entry of the audit log after its commit; nil does nothing. It must not block.
	Audited func(flow.AuditRecord)

	Retention       time.Duration // how long an ended run keeps its content; default 30 days
	AuditRetention  time.Duration // how long entries of the audit log are kept; 0 keeps them forever
	InstanceTimeout time.Duration // silence after which an instance counts as dead; default 20 s
	BusyTimeout     time.Duration // how long to wait for a lock that another program holds on SQLite; default 5 s
	Capacity        int           // runs admitted at once by this process; default 256
	PageCache       int64         // bytes of the writer's page cache on SQLite; default 64 MiB
	KnowledgeCache  int64         // bytes of the indexes of knowledge bases in memory; default 128 MiB
	MaxFile         int64         // bytes of one file; default 512 MiB
	Quota           flow.Storage  // default quota of every workspace but the default one; 0 is unlimited
	OpenSignup      bool          // anyone may create a workspace, so these may have fewer triggers

	// Instance is the ID of this server among those that share a PostgreSQL
	// database, the same as in Heartbeat. It is part of the application name of its
	// sessions, so that other instances can end them when it is dead. Empty for
	// commands, whose statements have no time limits.
	Instance string

	// Features is what this program understands, for AllCan; default flow.Features.
	// Tests set it to pretend to be another release.
	Features []flow.Feature

	MustExist bool // Open returns ErrNoDatabase instead of creating a database

	// CountEndedChildren counts the ends of child runs within the transaction that ends
	// them, and continues their callers. Package db sets it.
	CountEndedChildren func(tx *Tx, ends []ChildEnd) error

	Version string // of the program; an older one names it when it refuses the database

	Objects         Objects // stores the content of files; nil for the directory or the database
	ObjectsReadOnly bool    // Objects is only read, while its content is moved away
	ObjectsRedirect bool    // ContentLink returns links to Objects

	Log    *slog.Logger     // default: discard
	Now    func() time.Time // default: the machine's clock on SQLite, the database's on PostgreSQL
	Random io.Reader        // of identifiers; default crypto/rand
	// MachineNow is the clock of this machine, default time.Now. Tests set it to
	// pretend that machines disagree about the time.
	MachineNow func() time.Time

	Keys       *keyset.Handle // the old and the new master key, while it is rotated
	Migrations fs.FS          // default migrations.Files
}

// WithDefaults returns the configuration with defaults for empty fields.
func (c Config) WithDefaults() Config {
	c.DataDir = cmp.Or(c.DataDir, "data")
	c.Retention = cmp.Or(c.Retention, 30*24*time.Hour)
	c.InstanceTimeout = cmp.Or(c.InstanceTimeout, 20*time.Second)
	c.BusyTimeout = cmp.Or(c.BusyTimeout, defaultBusyTimeout)
	c.Capacity = cmp.Or(c.Capacity, 256)
	c.PageCache = cmp.Or(c.PageCache, 64<<20)
	c.KnowledgeCache = cmp.Or(c.KnowledgeCache, 128<<20)
	c.MaxFile = cmp.Or(c.MaxFile, 512<<20)
	if c.Features == nil {
		c.Features = flow.Features
	}
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

// Schema returns the settings of migrations. It is no method of Config because its result leads
// to the type of the pool, see pool.
func Schema(c Config) migrations.Schema {
	return migrations.Schema{Dir: c.DataDir, Version: c.Version, Log: c.Log, Migrations: c.Migrations}
}

// DB holds the connections, the transactions and the clock of one database. All
// stores share it. It is safe for concurrent use.
type DB struct {
	Config Config
	ids    flow.IDs
	aead   tink.AEAD

	AuditKeys auditkeys.Keys

	Clock    *dbconn.Clock
	OwnClock bool // Config.Now is Clock.Now and was not set by the caller

	sqlite   *sql.DB       // the single writer connection, shared with the queue; nil on PostgreSQL
	pool     pool          // nil on SQLite
	Pooler   bool          // PostgreSQL is behind a connection pooler
	replica  *replica      // for lists; nil without one
	slots    *dbconn.Slots // bounds how many connections of the pool Reader uses
	Vital    lane          // reserved connections, see lane
	Reader   *sql.DB       // for reads; on PostgreSQL also for writes
	watcher  *sql.DB       // has one connection that only Changes uses; nil on PostgreSQL
	changes  atomic.Int64
	Reads    *gen.Queries
	Writer   writer
	sets     *setWriter // of PostgreSQL; nil on SQLite
	notifier *notifier  // of PostgreSQL
	// connect is the configuration of connections to PostgreSQL. sizesItself is set
	// if the size of the pool depends on the limits of the server.
	connect     *pgx.ConnConfig
	sizesItself bool
	outages     dbconn.Outages
	damage      damage
	resetAt     atomic.Int64 // when resetPools last closed all connections, in ns since 1970
	engine      *flock.Flock
	// BusyBefore holds the runs that were executing a step when the previous process
	// on this data directory ended, until recovery has counted their crash.
	BusyBefore      map[flow.RunID]bool
	queue           atomic.Pointer[Queue]
	Workers         atomic.Int64 // capacity of this process
	Live            liveWorkers  // capacity of all instances, on PostgreSQL
	roundRobin      roundRobin
	Self            atomic.Pointer[string] // the ID of this instance, once it is known
	source          string                 // identifies this store in its broadcasts
	DeliveryCursors fairness.DeliveryCursors
	Recent          recent
	refusals        *refusals
	UsageLogged     atomic.Bool // the usage log may have entries that are not aggregated yet

	// PeerAddr is the address at which other instances reach this one, as IP:PORT,
	// or empty. Heartbeat records it. It is set at wiring.
	PeerAddr string

	// Committed is called with the duration of each commit of a write; nil is not called. It must return quickly.
	Committed atomic.Pointer[func(time.Duration)]

	// RunEnded returns the type ("run.succeeded") and the data (the run as JSON) of
	// the per-run webhook. It is set at wiring, before the first run.
	RunEnded func(run *flow.Run) (typ string, data []byte)

	// FlowEdited is called for every draft that was changed, after the commit:
	// directly by the instance that changed it, and through Listen for the changes
	// of all instances, so a revision may arrive twice or late. Empty IDs mean that
	// changes may have been missed. It must return quickly. It is set at wiring,
	// before the first edit.
	FlowEdited func(ws flow.WorkspaceID, flowID flow.FlowID, rev int64)

	// OnBroadcast is called, through Listen, for each message that another instance
	// sent with Broadcast. It must return quickly. It is set at wiring, before Listen.
	OnBroadcast func(topic, text string)
}

// writer executes write functions, each as if in its own transaction.
type writer interface {
	write(ctx context.Context, m *member) error
	close() error
}

// Open connects to the database, migrates it and reads its master key. It returns
// ErrWrongKey if the database was encrypted with another key.
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
	s := &DB{Config: cfg, Clock: clock, OwnClock: ownClock, ids: flow.IDs{Now: cfg.Now, Random: &dbconn.LockedReader{R: cfg.Random}}, Recent: newRecent(), refusals: newRefusals(), source: rand.Text()}
	s.outages.Log = cfg.Log
	s.UsageLogged.Store(true) // a previous process may have left entries
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
		return dbconn.AdviseOpen(c.DataDir, fmt.Errorf("create data directory: %w", err))
	}
	return nil
}

// Close waits for writes in progress and closes all connections.
func (s *DB) Close() error {
	err := s.Writer.close()
	if s.sets != nil {
		err = errors.Join(s.sets.close(), err)
		s.notifier.close()
	}
	err = cmp.Or(err, s.Vital.close(), s.replica.close())
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

// InstanceTimeout returns how long an instance may send no heartbeat before other
// instances take over its work.
func (s *DB) InstanceTimeout() time.Duration { return s.Config.InstanceTimeout }

// SQLite returns the pool of the single writer connection, nil on PostgreSQL.
func (s *DB) SQLite() *sql.DB { return s.sqlite }

// IsPostgres reports whether the database is PostgreSQL, which several instances may share.
func (s *DB) IsPostgres() bool { return s.pool != nil }

// pool is a *pgxpool.Pool. No field or method that a DB leads to may name that type: with it,
// each package that uses a store would compile the generic types that the pool consists of.
type pool interface{ Close() }

// Pool returns the connection pool of PostgreSQL, nil on SQLite.
func Pool(s *DB) *pgxpool.Pool {
	p, _ := s.pool.(*pgxpool.Pool)
	return p
}

// NowMicros returns Now in microseconds since 1970, the format of time columns.
func (s *DB) NowMicros() int64 { return s.Config.Now().UnixMicro() }

// Update runs one statement in a durable transaction. It returns CodeNotFound if the
// statement affected no row; what names the object.
func (s *DB) Update(ctx context.Context, what string, statement func(*Tx) (int64, error)) error {
	return s.Write(ctx, Durable, func(tx *Tx) error {
		n, err := statement(tx)
		return dbconn.MustAffect(n, err, what)
	})
}

// Write runs fn in a transaction and returns after the commit. fn may run more
// than once, so its only side effects must be statements. It must not call Write,
// and it must use tx.Ctx.
func (s *DB) Write(ctx context.Context, d Durability, fn func(*Tx) error) error {
	if j := s.joinedWith(ctx); j != nil {
		return fn(j.tx)
	}
	return s.repeatDamaged(ctx, func() error { return s.outages.PublicError(s.Writer.write(ctx, &member{fn: fn, d: d})) })
}

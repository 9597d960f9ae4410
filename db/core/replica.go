package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db/dbconn"
	"sluice/flow"
)

// Lists and reports can be read from a streaming replica. Before each of them, the position of the primary's
// write-ahead log is compared with that of the replica, so a caller sees all that was written before its
// request, at any instance. A replica that does not get there in time is passed over.
const (
	// replicaWait is how long a read waits for the replica.
	replicaWait = 100 * time.Millisecond
	// replicaPause is how long a replica that is behind or fails is passed over.
	replicaPause = time.Second
	// replicaConnections is the size of its pool unless the URL has another.
	replicaConnections = 8
)

// replica is the database of Config.ReadDatabaseURL.
type replica struct {
	pool    *pgxpool.Pool
	db      *sql.DB
	known   atomic.Bool  // it is a replica of this database
	resumes atomic.Int64 // not used before this time, in ns since 1970

	used, skipped atomic.Int64
	failing       atomic.Bool
}

// ReplicaState is the state of the replica for lists.
type ReplicaState struct {
	Configured    bool
	Used, Skipped int64         // reads that it answered, and those that the primary answered in its place
	Behind        time.Duration // how old its newest transaction is; 0 if it has all that it received
	Bytes         int64         // of the write-ahead log that it lacks
}

// openReplica opens the pool. It makes no connection, so a replica that is down does not stop a start.
func openReplica(ctx context.Context, s *DB) error {
	if s.Config.ReadDatabaseURL == "" {
		return nil
	}
	cfg, err := pgxpool.ParseConfig(s.Config.ReadDatabaseURL)
	if err != nil {
		return errors.New("SLUICE_READ_DATABASE_URL is not a usable postgres:// URL")
	}
	settings := dbconn.SessionSettings{Instance: s.Config.Instance, URL: s.Config.ReadDatabaseURL}
	settings.Bound(cfg.ConnConfig)
	cfg.AfterConnect = settings.Tune(cfg.ConnConfig)
	if s.Config.Instance != "" {
		dbconn.LimitAnswers(cfg.ConnConfig)
	}
	cfg.MinConns, cfg.MinIdleConns = 0, 0
	if _, set := cfg.ConnConfig.RuntimeParams["pool_max_conns"]; !set {
		cfg.MaxConns = replicaConnections
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("open the replica: %w", err)
	}
	db := openLent(pool, dbconn.NewSlots(int(cfg.MaxConns)), func(error) {})
	s.replica = &replica{pool: pool, db: db}
	return nil
}

// close closes the connections. r may be nil.
func (r *replica) close() error {
	if r == nil {
		return nil
	}
	err := r.db.Close()
	r.pool.Close()
	return err
}

// replicaKey is the key of the replica in the context of a read.
type replicaKey struct{}

// FromReplica reads from the replica if there is one, and from the primary if the replica is behind or fails.
// read must only read.
func FromReplica[T any](ctx context.Context, s *DB, read func(context.Context) (T, error)) (T, error) {
	r := s.replica
	if r == nil || s.joinedWith(ctx) != nil {
		return read(ctx)
	}
	err := r.catchUp(ctx, s)
	if err == nil {
		var result T
		if result, err = read(context.WithValue(ctx, replicaKey{}, r.db)); err == nil {
			r.used.Add(1)
			if r.failing.Swap(false) {
				s.Config.Log.Info("lists are read from the replica again")
			}
			return result, nil
		}
	}
	if ctx.Err() == nil {
		r.skipped.Add(1)
		r.note(s, err)
	}
	return read(ctx)
}

// replicaOf returns the replica if the read with this context uses it.
func replicaOf(ctx context.Context) *sql.DB {
	db, _ := ctx.Value(replicaKey{}).(*sql.DB)
	return db
}

// errPaused is returned while the replica is passed over.
var errPaused = errors.New("the replica is passed over for a moment")

// note passes over the replica for a moment after an error.
func (r *replica) note(s *DB, err error) {
	if errors.Is(err, errPaused) || flow.IsNotFound(err) {
		return
	}
	r.resumes.Store(time.Now().Add(replicaPause).UnixNano())
	if !r.failing.Swap(true) {
		s.Config.Log.Warn("lists are read from the primary for now: the replica cannot be used", "error", err)
	}
}

// catchUp waits until the replica has all that was written before.
func (r *replica) catchUp(ctx context.Context, s *DB) error {
	if time.Now().UnixNano() < r.resumes.Load() {
		return errPaused
	}
	ctx, cancel := context.WithTimeout(ctx, replicaWait)
	defer cancel()
	if err := r.identify(ctx, s); err != nil {
		return err
	}
	var wanted string
	if err := s.Reader.QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn()::text").Scan(&wanted); err != nil {
		return err
	}
	for pause := time.Millisecond; ; pause *= 2 {
		var standby, there bool
		err := r.db.QueryRowContext(ctx, "SELECT pg_is_in_recovery(), COALESCE(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)", wanted).Scan(&standby, &there)
		switch {
		case err != nil:
			return err
		case !standby:
			r.known.Store(false)
			return errors.New("it is not a replica, or not any more")
		case there:
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New("it is behind the primary")
		case <-time.After(pause):
		}
	}
}

// identify checks once that the replica is one of this database.
func (r *replica) identify(ctx context.Context, s *DB) error {
	if r.known.Load() {
		return nil
	}
	const query = "SELECT system_identifier::text || ' ' || current_database() FROM pg_control_system()"
	var here, there string
	if err := errors.Join(s.Reader.QueryRowContext(ctx, query).Scan(&here), r.db.QueryRowContext(ctx, query).Scan(&there)); err != nil {
		return err
	}
	if here != there {
		return errors.New("it is a replica of another database")
	}
	r.known.Store(true)
	return nil
}

// ReplicaOf returns the state of the replica of a database. The error says why it cannot be used.
func ReplicaOf(ctx context.Context, s *DB) (state ReplicaState, err error) {
	r := s.replica
	if r == nil {
		return state, nil
	}
	state = ReplicaState{Configured: true, Used: r.used.Load(), Skipped: r.skipped.Load()}
	if err := r.identify(ctx, s); err != nil {
		return state, err
	}
	var at string
	if err := s.Reader.QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn()::text").Scan(&at); err != nil {
		return state, err
	}
	const query = `SELECT pg_is_in_recovery(), GREATEST($1::text::pg_lsn - pg_last_wal_replay_lsn(), 0)::bigint,
		(EXTRACT(EPOCH FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000000)::bigint`
	var standby bool
	var behind, age sql.NullInt64
	if err := r.db.QueryRowContext(ctx, query, at).Scan(&standby, &behind, &age); err != nil {
		return state, err
	}
	if !standby {
		return state, errors.New("it is not a replica, or not any more")
	}
	if state.Bytes = behind.Int64; state.Bytes > 0 {
		state.Behind = time.Duration(age.Int64) * time.Microsecond
	}
	return state, nil
}

package db

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/db/lists"
	"sluice/db/masterkey"
	"sluice/db/migrations"
	"sluice/flow"
)

// The following exports internals to the tests, which are in an external package
// because dbtest imports this one.

// Groups returns the number of transactions of the SQLite writer, and of synced ones.
func (s *Store) Groups() (all, synced int64) {
	w := s.Writer.(*core.GroupWriter)
	return w.Transactions.Load(), w.Synced.Load()
}

// Waiting returns the number of members that the SQLite writer has not gathered yet.
func (s *Store) Waiting() int { return len(s.Writer.(*core.GroupWriter).Waiting) }

// ChoiceQuery is a query that a list of runs may run.
type ChoiceQuery struct {
	Name, Text string
	Args       []any
}

// ChoiceQueries returns all queries that a choice may need, in their order.
func (s *Store) ChoiceQueries(ctx context.Context, c flow.RunQuery) ([]ChoiceQuery, error) {
	k := newRunFilter(&c)
	groups, err := s.runGroups(ctx, &k, c.Limit+1)
	if err != nil {
		return nil, err
	}
	list := []ChoiceQuery{}
	add := func(name string, q *lists.Query) { list = append(list, ChoiceQuery{name, q.Text.String(), q.Args}) }
	add("glance", k.newestQuery(lists.NewestRows))
	if len(k.statesEnded(false)) > 0 {
		add("open", k.openQuery(c.Limit+1))
	}
	if k.onlyFailed() {
		add("failed", k.failedQuery(c.Limit+1))
		return list, nil
	}
	if len(k.statesEnded(true)) > 0 {
		add("groups", k.groupsQuery(c.Limit+1, s.IsPostgres()))
	}
	if len(groups) > 0 {
		add("arms", k.armsQuery(groups, c.Limit+1, s.IsPostgres()))
	}
	return list, nil
}

// Explain returns the query plan.
func (s *Store) Explain(ctx context.Context, q ChoiceQuery) (*sql.Rows, error) {
	how := "EXPLAIN "
	if !s.IsPostgres() {
		how = "EXPLAIN QUERY PLAN "
	}
	return core.ReaderOf(s.DB).QueryContext(ctx, how+q.Text, q.Args...)
}

// SealedColumns returns the columns that a rotation encrypts again.
func SealedColumns() (names []string) {
	for _, col := range sealedColumns {
		names = append(names, col.table+"."+col.column)
	}
	return names
}

// RotatePartly is RotateMasterKey interrupted after some columns.
func RotatePartly(ctx context.Context, cfg core.Config, columns int) error {
	cfg = cfg.WithDefaults()
	fresh, err := masterkey.ReadOrCreate(filepath.Join(cfg.DataDir, masterkey.File) + ".new")
	if err != nil {
		return err
	}
	old, err := (&core.DB{Config: cfg}).MasterKey(false)
	if err != nil {
		return err
	}
	if cfg.Keys, err = masterkey.Join(old, fresh); err != nil {
		return err
	}
	s, err := Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	to, err := beginReencryption(ctx, s.DB, fresh)
	for i := 0; i < columns && err == nil; i++ {
		err = to.reencryptColumn(ctx, sealedColumns[i])
	}
	return err
}

// MigrateTo creates a database with an older schema and fills it.
func MigrateTo(ctx context.Context, cfg core.Config, version int64, fill ...string) error {
	return onDatabase(ctx, cfg, func(dialect goose.Dialect, db *sql.DB) error {
		m, err := migrations.NewMigration(dialect, db, core.Schema(cfg))
		if err != nil {
			return err
		}
		if _, err := m.UpTo(ctx, version); err != nil {
			return err
		}
		for _, statement := range fill {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// Exec runs statements on a database, each in its own transaction.
func Exec(ctx context.Context, cfg core.Config, statements ...string) error {
	return onDatabase(ctx, cfg, func(_ goose.Dialect, db *sql.DB) error {
		for _, statement := range statements {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
}

// EmbeddedMigrations are the migrations of this program.
func EmbeddedMigrations() fs.FS { return migrations.Files }

func onDatabase(ctx context.Context, cfg core.Config, do func(goose.Dialect, *sql.DB) error) error {
	if cfg.DatabaseURL == "" {
		return OnFile(cfg, func(db *sql.DB) error { return do(goose.DialectSQLite3, db) })
	}
	pool, err := pgxpool.New(ctx, cfg.DatabaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	return do(goose.DialectPostgres, db)
}

// OnFile calls do with the file of a SQLite database.
func OnFile(cfg core.Config, do func(*sql.DB) error) error {
	db := sql.OpenDB(core.NewConnector(filepath.Join(cfg.DataDir, core.DatabaseFile), core.WriterDSN, ""))
	defer db.Close()
	return do(db)
}

// StartStatements starts a run and returns the query names of the statements that its
// transaction ran.
func (s *Store) StartStatements(ctx context.Context, n flow.NewRun) (names []string, err error) {
	run := n.Run
	run.ID, run.CreatedAt, run.State = s.IDs().NewRun(), s.Config.Now(), flow.RunQueued
	n.Run = run
	row, err := s.RunRow(&run, nil, nil)
	if err != nil {
		return nil, err
	}
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		own := *tx
		own.DBTX = &listener{tx.DBTX, &names}
		own.Queries = gen.New(own.DBTX)
		return (&core.StartWrite{N: &n, Row: row}).ExecuteAlone(&own)
	})
	return names, err
}

// listener records the names of the queries that run.
type listener struct {
	gen.DBTX
	names *[]string
}

func (l *listener) note(query string) {
	name, _, _ := strings.Cut(strings.TrimPrefix(query, "-- name: "), " ")
	*l.names = append(*l.names, name)
}

func (l *listener) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	l.note(query)
	return l.DBTX.ExecContext(ctx, query, args...)
}

func (l *listener) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	l.note(query)
	return l.DBTX.QueryContext(ctx, query, args...)
}

func (l *listener) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	l.note(query)
	return l.DBTX.QueryRowContext(ctx, query, args...)
}

// QueueStats counts open runs and pending deliveries.
type QueueStats struct{ Queued, Admitted, Waiting, Deliveries int64 }

// QueueStats reads all counts.
func (s *Store) QueueStats(ctx context.Context) (q QueueStats, err error) {
	counts := []struct {
		n    *int64
		read func(context.Context) (int64, error)
	}{
		{&q.Queued, s.Reads.QueueLength}, {&q.Admitted, s.Reads.CountAdmitted},
		{&q.Waiting, s.Reads.CountWaiting}, {&q.Deliveries, s.Reads.CountPendingDeliveries},
	}
	for _, c := range counts {
		if *c.n, err = c.read(ctx); err != nil {
			return q, err
		}
	}
	return q, nil
}

// WakeRun makes a waiting run continue immediately.
func (s *Store) WakeRun(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		run, err := core.FindRun(tx.Ctx, tx.Queries, ws, "", runID)
		if err != nil || run.State != flow.RunWaiting {
			return err
		}
		return tx.ResumeRun(ws, runID, core.PlaceWaiting)
	})
}

// KeepFiles marks files as used by a flow document.
func (s *Store) KeepFiles(ctx context.Context, ws flow.WorkspaceID, ids ...string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error { return keepFiles(tx, ws, ids) })
}

// Audit adds an entry to the audit log.
func (s *AuditLog) Audit(ctx context.Context, ws flow.WorkspaceID, actor, action, target, detail string) error {
	return s.AddAudit(ctx, flow.AuditEntry{WorkspaceID: ws, Actor: actor, Action: action, Target: target, Detail: detail})
}

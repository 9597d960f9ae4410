package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/mattn/go-sqlite3" // the driver that Sluice uses

	"sluice/db/dbtest/pgserver"
)

// The functions of this file measure what the machine can do at best at the moment,
// without Sluice. Figures are judged beside these, because the speed of virtual
// machines and their disks changes from one minute to the next.

// rawDSN has the options with which Sluice opens its writer.
const rawDSN = "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=10000&_txlock=immediate&_foreign_keys=1&_stmt_cache_size=128"

// rowText is about as long as the record of a run.
const rowText = "a row of about the length of a run's record"

// sqliteCommits measures synced commits of one row on SQLite. Callers that wait at
// the same time share a transaction (group commit).
func (b *benchmark) sqliteCommits(callers int, limit time.Duration) *load {
	dir := must(os.MkdirTemp(b.dir, "raw-"))
	defer os.RemoveAll(dir)
	db := must(sql.Open("sqlite3", "file:"+filepath.Join(dir, "raw.db")+rawDSN))
	defer db.Close()
	db.SetMaxOpenConns(1)
	must(db.Exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"))
	waiting := make(chan chan error, callers)
	defer close(waiting)
	go commitGroups(db, waiting)
	return repeat(callers, limit, 0, func(int, int) (time.Duration, error) {
		done := make(chan error, 1)
		return timed(func() error { waiting <- done; return <-done })
	})
}

// commitGroups inserts a row for every waiting caller in one transaction, until the
// channel is closed.
func commitGroups(db *sql.DB, waiting <-chan chan error) {
	group := []chan error{}
	for first := range waiting {
		group = append(group[:0], first)
		for more := true; more; {
			select {
			case next, ok := <-waiting:
				if more = ok; ok {
					group = append(group, next)
				}
			default:
				more = false
			}
		}
		err := insert(db, len(group))
		for _, done := range group {
			done <- err
		}
	}
}

// insert inserts rows in one transaction.
func insert(db *sql.DB, rows int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for range rows {
		if _, err := tx.Exec("INSERT INTO rows (body) VALUES (?)", rowText); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// postgresCommits measures synced commits of one row on PostgreSQL, each caller on a
// connection of its own. PostgreSQL syncs concurrent commits together.
func (b *benchmark) postgresCommits(callers int, limit time.Duration) *load {
	url := b.database()
	ctx := context.Background()
	conns := make([]*pgx.Conn, callers)
	for i := range conns {
		conns[i] = must(pgx.Connect(ctx, url))
		defer conns[i].Close(ctx)
	}
	must(conns[0].Exec(ctx, "CREATE TABLE rows (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, body TEXT NOT NULL)"))
	return repeat(callers, limit, 0, func(i, _ int) (time.Duration, error) {
		return timed(func() error {
			_, err := conns[i].Exec(ctx, "INSERT INTO rows (body) VALUES ($1)", rowText)
			return err
		})
	})
}

// database creates an empty database on a private PostgreSQL server, which the
// first call starts with its default, durable settings.
func (b *benchmark) database() (url string) {
	if b.postgres == nil {
		// The default of 100 connections is too small for several programs at once.
		b.postgres = must(pgserver.Start("max_connections=300", "shared_preload_libraries='pg_stat_statements'", "pg_stat_statements.track=none"))
	}
	b.databases++
	name := fmt.Sprintf("bench%d", b.databases)
	ctx := context.Background()
	conn := must(pgx.Connect(ctx, b.postgres.URL("postgres")))
	defer conn.Close(ctx)
	must(conn.Exec(ctx, "CREATE DATABASE "+name))
	return b.postgres.URL(name)
}

// emptyRequests measures requests without any work: the cost of HTTP at server and
// callers together.
func emptyRequests(s *server, callers int, limit time.Duration) *load {
	request := head("GET", "/livez", "none")
	return must(drive([]string{s.addr}, callers, limit, 0, func(c *httpConn, _, _ int) error {
		status, body, err := c.get(request)
		if err != nil || status != 200 {
			return unexpected(status, body, err)
		}
		return nil
	}))
}

// machineLimit describes both limits for a number of callers. It is measured right before
// the row, on the server that the row uses.
func (b *benchmark) machineLimit(s *server, callers int) string {
	commits, empty := b.sqliteCommits(callers, 2*time.Second), emptyRequests(s, callers, 2*time.Second)
	return fmt.Sprintf("%s synced one-row commits/s, grouped; %s GET /livez/s", count(commits.rate()), count(empty.rate()))
}

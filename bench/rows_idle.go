package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// idleRow measures the processor time of idle servers, and on PostgreSQL the statements
// that they send. A server that polls keeps small machines awake and paid databases busy.
func (b *benchmark) idleRow() {
	for _, on := range b.on {
		b.idle(on)
	}
}

// idle measures one platform. The servers have executed runs before, because a server
// that never did anything may not have started all of its loops.
func (b *benchmark) idle(on platform) {
	s := must(b.sluice("Sluice", b.binary, on, workload{document: greeting(), want: greeted}))
	defer s.kill()
	must(requireCorrect(drive(s.addrs, parallel, 0, 10*parallel, s.do)))
	time.Sleep(settleTime + 2*time.Second) // also until the work after the runs is done
	var statements *statements
	if on.postgres {
		statements = b.countStatements()
	}
	before := s.cpuTime()
	time.Sleep(b.pause)
	after := s.cpuTime()
	share := func(d time.Duration) float64 {
		return 100 * float64(d) / float64(after.at.Sub(before.at)) / float64(on.instances)
	}
	measured, target := fmt.Sprintf("%.2f %% of a core", share(after.server-before.server)), "≤ 0.3 %"
	if on.postgres {
		n := statements.count()
		measured += fmt.Sprintf(", and %.2f %% in PostgreSQL for %.1f statements/s", share(after.database-before.database), n/after.at.Sub(before.at).Seconds()/float64(on.instances))
		target = "≤ 0.5 %, ≤ 5 statements/s"
	}
	what := "idle server, " + on.title()
	if on.instances > 1 {
		what += ", each"
	}
	b.add(what, measured, target, fmt.Sprintf("measured for %s", b.pause))
	check(s.stop())
}

// statements counts the statements that clients send to the newest database.
type statements struct{ url string }

// countStatements starts the count. PostgreSQL counts statements in a table of its own.
func (b *benchmark) countStatements() *statements {
	s := &statements{b.postgres.URL(fmt.Sprintf("bench%d", b.databases))}
	s.query(func(ctx context.Context, conn *pgx.Conn) {
		// The setting applies to the whole server, and so to sessions that are open already.
		for _, statement := range []string{"CREATE EXTENSION IF NOT EXISTS pg_stat_statements", "ALTER SYSTEM SET pg_stat_statements.track = 'top'",
			"SELECT pg_reload_conf()", "SELECT pg_sleep(0.5)", "SELECT pg_stat_statements_reset()"} {
			must(conn.Exec(ctx, statement))
		}
	})
	return s
}

// count returns the number of statements since the start, without those of the count
// itself, and prints the most frequent ones to standard error.
func (s *statements) count() (n float64) {
	s.query(func(ctx context.Context, conn *pgx.Conn) {
		const others = ` FROM pg_stat_statements WHERE query !~ 'pg_stat_statements' AND query !~ 'pg_sleep'
			AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())`
		check(conn.QueryRow(ctx, "SELECT coalesce(sum(calls), 0)::float8"+others).Scan(&n))
		rows := must(conn.Query(ctx, "SELECT calls, regexp_replace(left(query, 120), '\\s+', ' ', 'g')"+others+" ORDER BY calls DESC LIMIT 15"))
		defer rows.Close()
		for rows.Next() {
			var calls int
			var query string
			check(rows.Scan(&calls, &query))
			fmt.Fprintf(os.Stderr, "  %6d × %s\n", calls, query)
		}
		check(rows.Err())
	})
	return n
}

// query calls f with a connection to the database.
func (s *statements) query(f func(context.Context, *pgx.Conn)) {
	ctx := context.Background()
	conn := must(pgx.Connect(ctx, s.url))
	defer conn.Close(ctx)
	f(ctx, conn)
}

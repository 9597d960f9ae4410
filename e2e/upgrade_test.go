package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db/dbtest"
	"sluice/e2e/need"
	"sluice/flow"
)

// upgrading is two servers of the previous release on one database, and callers that start
// runs through both.
type upgrading struct {
	*load
	a, b *server
	url  string // of the database
}

func newUpgrading(t *testing.T) *upgrading {
	t.Helper()
	return upgradingFrom(t, previousRelease(t))
}

// upgradingFrom is newUpgrading with the binary of any release.
func upgradingFrom(t *testing.T, previous string) *upgrading {
	t.Helper()
	cfg := dbtest.EmptyPostgresConfig(t)
	env := []string{"DATABASE_URL=" + cfg.DatabaseURL, "SLUICE_MASTER_KEY=" + cfg.MasterKey}
	u := &upgrading{a: stoppedServer(t, env...), b: stoppedServer(t, env...), url: cfg.DatabaseURL}
	for _, s := range []*server{u.a, u.b} {
		s.program = previous
		s.start()
	}
	u.load = newLoad(t, 1, u.a, u.b)
	return u
}

// work waits until the callers have started more runs.
func (u *upgrading) work() {
	u.t.Helper()
	from := u.started()
	u.gate.open()
	waitUntil(u.t, "runs are accepted", func() bool { return u.started() > from+200 })
}

func (u *upgrading) started() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.accepted)
}

// upgrade stops a server in order and starts this program in its place, under load.
func (u *upgrading) upgrade(s *server) {
	u.t.Helper()
	if code := s.stop(); code != 0 {
		u.t.Errorf("the server ended with exit code %d", code)
	}
	s.program = sluice
	s.start()
}

// lose kills a server and returns when another one has ended its runs.
func (u *upgrading) lose(s, other *server) {
	u.t.Helper()
	u.gate.close()
	s.kill()
	killed := time.Now()
	u.awaitSilence()
	cut := u.ledger.killed()
	c := other.client(u.any[0].key)
	for deadline := time.Now().Add(waitTimeout); !u.allEnded(c, cut); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			u.t.Fatalf("the other server did not end all of %d runs", len(cut))
		}
	}
	u.t.Logf("%d steps were in doubt; their runs had ended %s after the loss", len(cut), time.Since(killed))
}

// checkCounters compares counters with the rows that they count, once both servers have
// stopped. After a crash, usage may lack what was not yet written.
func (u *upgrading) checkCounters(crashed bool) {
	u.t.Helper()
	u.a.must("audit", "verify")
	for _, s := range []*server{u.a, u.b} {
		if code := s.stop(); code != 0 {
			u.t.Errorf("the server ended with exit code %d", code)
		}
	}
	text, err := os.ReadFile("../db/migrations/00008_quotas.sql")
	if err != nil {
		u.t.Fatal(err)
	}
	_, count, _ := strings.Cut(string(text), "INSERT INTO storage (workspace_id, shard, bytes, flows, runs)\n")
	var bytes, flows, runs int64
	u.query("SELECT CAST(sum(bytes) AS BIGINT), CAST(sum(flows) AS BIGINT), CAST(sum(runs) AS BIGINT) FROM storage", &bytes, &flows, &runs)
	var ws flow.WorkspaceID
	var shard, realBytes, realFlows, realRuns int64
	u.query(count, &ws, &shard, &realBytes, &realFlows, &realRuns)
	if bytes != realBytes || flows != realFlows || runs != realRuns || runs == 0 {
		u.t.Errorf("storage is %d bytes, %d flows, %d runs; counted are %d, %d, %d", bytes, flows, runs, realBytes, realFlows, realRuns)
	}
	var used int64
	u.query("SELECT CAST(sum(succeeded) AS BIGINT) FROM usage_all", &used)
	if used > runs || used < runs && !crashed || used == 0 {
		u.t.Errorf("usage counts %d runs of %d", used, runs)
	}
}

// query reads one row of the database.
func (u *upgrading) query(statement string, into ...any) {
	u.t.Helper()
	ctx := context.Background()
	conn, err := pgxpool.New(ctx, u.url)
	if err != nil {
		u.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.QueryRow(ctx, statement).Scan(into...); err != nil {
		u.t.Fatalf("%s: %v", statement, err)
	}
}

// schema returns the version of the database schema.
func (u *upgrading) schema() (version int64) {
	u.t.Helper()
	u.query("SELECT max(version_id) FROM goose_db_version", &version)
	return version
}

// TestRollingUpgrade replaces two servers of the previous release one after the other under
// load. Nothing is lost or repeated, nothing fails, and the counters of both are right.
func TestRollingUpgrade(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	u := newUpgrading(t)
	u.begin()
	u.work()
	for _, s := range []*server{u.a, u.b} {
		u.upgrade(s) // the first one migrates
		u.work()
	}
	u.end()
	u.check(waitTimeout)
	u.ledger.mu.Lock()
	if u.ledger.total != len(u.ledger.calls) {
		t.Errorf("%d calls for %d steps", u.ledger.total, len(u.ledger.calls))
	}
	u.ledger.mu.Unlock()
	u.checkCounters(false)
}

// TestUpgrade_takeover kills the first upgraded server, and later the last one of the previous
// release: each release continues the runs of the other.
func TestUpgrade_takeover(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	u := newUpgrading(t)
	before := u.schema()
	u.begin()
	u.work()
	u.upgrade(u.a)
	u.work()
	u.lose(u.a, u.b) // of the new release, to the old one
	u.a.start()
	u.work()
	u.lose(u.b, u.a)         // of the old release, to the new one
	if u.schema() > before { // else the new release has no migration
		if r := u.b.command("serve"); r.code != 1 || !strings.Contains(r.errs, "newer") || strings.Count(r.errs, "\n") != 1 {
			t.Errorf("the previous release, started on the new schema: exit code %d, %s", r.code, r.errs)
		}
	}
	u.b.program = sluice
	u.b.start()
	u.work()
	u.end()
	u.check(waitTimeout)
	u.checkCounters(true)
}

// upgradedRuns is how many ended runs the database of TestRollingUpgrade_of_many_runs has; with more than 10 rounds it is soakUpgraded.
const upgradedRuns, soakUpgraded = 20_000, 2_000_000

// manyRunsRevision is the program of TestRollingUpgrade_of_many_runs. Its benchmark inserts runs into its own schema.
const manyRunsRevision = "82ba7b7772a2e129e1af9888d9fb87ab9f4f0640"

// fill inserts ended runs of the last 30 days as the benchmark of manyRunsRevision did, and steps of a tenth of them.
func (u *upgrading) fill(runs int) {
	u.t.Helper()
	text := git("..", "show", manyRunsRevision+":bench/list_fill.sql")
	if text == "" {
		u.t.Fatal("there is no statement that inserts runs")
	}
	const crockford = "0123456789abcdefghjkmnpqrstvwxyz"
	parts := make([]string, 10)
	for i := range parts {
		parts[i] = fmt.Sprintf("substr('%s', CAST(ms / %d %% 32 AS INTEGER) + 1, 1)", crockford, int64(1)<<(5*(9-i)))
	}
	text = strings.ReplaceAll(text, "{{TIME}}", strings.Join(parts, " || "))
	ctx := context.Background()
	conn, err := pgxpool.New(ctx, u.url)
	if err != nil {
		u.t.Fatal(err)
	}
	defer conn.Close()
	exec := func(statement string, args ...any) {
		u.t.Helper()
		if _, err := conn.Exec(ctx, statement, args...); err != nil {
			u.t.Fatal(err)
		}
	}
	const chunk = 100_000
	for at := 0; at < runs; at += chunk {
		exec(text, at, min(at+chunk, runs), runs, time.Now().UnixMicro(), flow.DefaultWorkspace)
	}
	exec("UPDATE runs SET place = 0, state = 'succeeded', ended_at = created_at + 1000, expires_at = created_at + 31::bigint * 86400000000 WHERE place = 3") // some look as if they were at work
	exec(`INSERT INTO steps (run_id, path, workspace_id, node, kind, state, attempt, failures, node_hash, input_hash, input_tokens, output_tokens, cost_nano_usd, seq, output_seq,
started_at, ended_at, wait_until, error, saved, input, outputs, attempts)
SELECT r.id, p.path, r.workspace_id, p.path, 'template', 'succeeded', 1, 0, '', '', 0, 0, 0, 1, 1, r.started_at, r.ended_at, 0, '', '', r.inputs, r.outputs, ''
FROM (SELECT * FROM runs ORDER BY id DESC LIMIT $1) r, (SELECT 'first' AS path UNION ALL SELECT 'second' UNION ALL SELECT 'third') p`, runs/10)
	exec("ANALYZE")
}

// pauses returns the longest time in a span during which no start was answered, and the slowest answer.
func (l *load) pauses(from, to time.Time) (pause, slowest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var at []time.Time
	for _, s := range l.samples {
		if s.startedAt.After(from) && s.startedAt.Before(to) {
			at, slowest = append(at, s.startedAt.Add(s.took)), max(slowest, s.took)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	last := from
	for _, t := range at {
		pause, last = max(pause, t.Sub(last)), t
	}
	return pause, slowest
}

// TestRollingUpgrade_of_many_runs replaces two servers under load whose database has very many ended runs: while the first new server migrates it, the other
// one works on, and nothing is lost.
func TestRollingUpgrade_of_many_runs(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	u := upgradingFrom(t, releaseOf(t, manyRunsRevision))
	runs := upgradedRuns
	if *rounds > 10 {
		runs = soakUpgraded
	}
	began := time.Now()
	u.fill(runs)
	t.Logf("%d runs were inserted in %s", runs, time.Since(began).Round(time.Second))
	u.begin()
	u.work()
	calm := time.Now()
	u.work()
	pause, slowest := u.pauses(calm, time.Now())
	t.Logf("before: no answer for at most %s, the slowest after %s", pause, slowest)
	for _, s := range []*server{u.a, u.b} {
		from := time.Now()
		u.upgrade(s) // the first one migrates
		took := time.Since(from)
		pause, slowest := u.pauses(from, time.Now())
		t.Logf("replaced after %s; no answer for at most %s, the slowest after %s", took.Round(time.Millisecond), pause.Round(time.Millisecond), slowest.Round(time.Millisecond))
		u.work()
	}
	u.end()
	u.check(waitTimeout)
	var left int
	u.query("SELECT count(*) FROM runs WHERE id LIKE 'run_%' AND document_hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'", &left)
	if left != runs {
		t.Errorf("%d of %d runs are left", left, runs)
	}
}

package e2e

import (
	"context"
	"os"
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
	previous := previousRelease(t)
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

package e2e

import (
	"maps"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"sluice/db"
	"sluice/db/dbtest"
)

// toolURL returns the URL of a database for PostgreSQL's programs, which reject the
// settings of a connection pool.
func toolURL(t *testing.T, cfg db.Config) string {
	t.Helper()
	u, err := url.Parse(cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Del("pool_max_conns")
	u.RawQuery = query.Encode()
	return u.String()
}

// postgresTool runs one of PostgreSQL's programs.
func postgresTool(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := dbtest.Tool(t, name, args...)
	cmd.Env = environment()
	if r := runCommand(t, cmd); r.code != 0 {
		t.Fatalf("%s: exit code %d\n%s", name, r.code, r.errs)
	}
}

// TestDump dumps the database under load, loses the server and restores the dump into
// another database. Every run that was accepted before the dump is there and ends, with
// the same master key.
func TestDump(t *testing.T) {
	t.Parallel()
	dump := filepath.Join(t.TempDir(), "sluice.dump")
	cfg, empty := dbtest.PostgresConfig(t), dbtest.EmptyPostgresConfig(t)
	up := newSlowUpstream(t)
	s := newServer(t, "DATABASE_URL="+cfg.DatabaseURL, "SLUICE_MASTER_KEY="+cfg.MasterKey)
	l := newLoad(t, 1, s)
	c := l.any[0]
	hanging := c.start(s.publish(calling(up.URL)), object{"n": "1"})
	waitUntil(t, "the call hangs", func() bool { return up.calls.Load() == 1 })
	started := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.accepted)
	}
	l.begin()
	waitUntil(t, "runs are accepted", func() bool { return started() > 200 })
	l.mu.Lock()
	before := maps.Clone(l.accepted)
	l.mu.Unlock()
	postgresTool(t, "pg_dump", "--format=custom", "--file="+dump, toolURL(t, cfg))
	dumped := started()
	waitUntil(t, "more runs are accepted", func() bool { return started() > dumped+50 })
	l.end()
	s.kill()

	postgresTool(t, "pg_restore", "--no-owner", "--dbname="+toolURL(t, empty), dump)
	restored := newServer(t, "DATABASE_URL="+empty.DatabaseURL, "SLUICE_MASTER_KEY="+empty.MasterKey)
	c = restored.client(c.key)
	waitUntil(t, "the call is made again", func() bool { return up.calls.Load() == 2 })
	up.release()
	if r := c.await(hanging); r.Status != "succeeded" {
		t.Errorf("the run that was in flight %s: %+v", r.Status, r.Error)
	}
	for what, id := range before {
		kind, _, _ := strings.Cut(what, " ")
		if r := c.await(&run{ID: id, FlowID: l.flows[kind]}); r.Status != "succeeded" {
			t.Errorf("%s: the run %s %s: %+v", what, id, r.Status, r.Error)
		}
	}
	restored.must("audit", "verify")
	t.Logf("%d runs were accepted before the dump, %d while it was made", len(before), dumped-len(before))
}

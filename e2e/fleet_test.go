package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db/dbtest"
)

// fleet is three servers on one PostgreSQL database, under load. Each test causes one sort of
// fault. These invariants must hold: no accepted run is lost, fails or stays open, no
// recorded step is repeated, every webhook arrives, limits hold, no response is 500, and no
// server dies.
type fleet struct {
	t       *testing.T
	pg      *dbtest.Server
	url     string          // of the database, past the proxies
	proxies []*dbtest.Proxy // between each server and the database, if asked for
	servers []*server
	ids     []string // of the servers as instances
	load    *load
}

// fleetConfig configures a fleet.
type fleetConfig struct {
	postgres dbtest.ServerConfig
	proxied  bool
	callers  int // default 12
	env      func(server int) []string
}

// settleTimeout bounds how long runs may stay open after the last fault: a takeover needs
// 20 s of silence, and a busy machine has to catch up. It only ends a test that hangs.
const settleTimeout = 60 * time.Second

// takeoverHeartbeats bounds a takeover in heartbeats of a surviving server. The contract is
// 30 s (20 s of silence, then a search for lost servers every 5 s), and a heartbeat is
// sent every 5 s. On a machine that is too busy for the servers, their heartbeats and
// searches slow down alike, so the count does not depend on its speed. One more
// heartbeat may have been due when the server was lost.
const takeoverHeartbeats = 30/5 + 1

func newFleet(t *testing.T, cfg fleetConfig) *fleet {
	t.Helper()
	f := &fleet{t: t, pg: dbtest.NewServer(t, cfg.postgres), ids: []string{}}
	store := f.pg.Config("sluice")
	f.url = f.pg.AdminURL("sluice")
	for i := range 3 {
		url := store.DatabaseURL
		if cfg.proxied {
			f.proxies = append(f.proxies, dbtest.NewProxy(t, "unix", f.pg.Socket()))
			url = "postgres://app@" + f.proxies[i].Addr() + "/sluice?sslmode=disable"
		}
		env := []string{"DATABASE_URL=" + url, "SLUICE_MASTER_KEY=" + store.MasterKey}
		if cfg.env != nil {
			env = append(env, cfg.env(i)...)
		}
		s := stoppedServer(t, env...)
		s.faulty = true
		f.servers = append(f.servers, s)
	}
	for i, s := range f.servers {
		s.start()
		f.ids = append(f.ids, f.newInstance())
		if i == 0 { // the first alone leaves connections for commands
			f.load = newFleetLoad(f, max(cfg.callers, 12))
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			f.report()
		}
	})
	return f
}

// newInstance waits until a new server has registered and returns its instance ID.
func (f *fleet) newInstance() (id string) {
	f.t.Helper()
	waitUntil(f.t, "a server is registered as an instance", func() bool {
		err := f.query(&id, "SELECT id FROM instances WHERE NOT id = ANY($1) ORDER BY started_at DESC LIMIT 1", f.ids)
		return err == nil
	})
	return id
}

// query reads one value directly from the database.
func (f *fleet) query(into any, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, f.url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, sql, args...).Scan(into)
}

// fleetRounds returns how often a test causes its fault: the usual number, or -rounds.
func fleetRounds(usual int) int {
	n := usual
	flag.Visit(func(f *flag.Flag) {
		if f.Name == "rounds" {
			n = *rounds
		}
	})
	return n
}

// begin starts the load and waits until 100 runs have been accepted.
func (f *fleet) begin() {
	f.t.Helper()
	f.load.begin()
	f.awaitStarts(100)
}

// awaitStarts waits until n more runs have been accepted.
func (f *fleet) awaitStarts(n int) {
	f.t.Helper()
	count := func() int {
		f.load.mu.Lock()
		defer f.load.mu.Unlock()
		return len(f.load.accepted)
	}
	now := count()
	for want, since := now+n, time.Now(); now < want; time.Sleep(10 * time.Millisecond) {
		if next := count(); next > now {
			now, since = next, time.Now()
		}
		if time.Since(since) > settleTimeout {
			f.t.Fatalf("no run was accepted for %s, %d short of %d", settleTimeout, want-now, n)
		}
	}
}

// awaitReady waits until the servers are ready and returns how long that took.
func (f *fleet) awaitReady() time.Duration {
	f.t.Helper()
	startedAt := time.Now()
	for i, s := range f.servers {
		for !ready(s.base()) && !s.hasExited() {
			if time.Since(startedAt) > settleTimeout {
				f.t.Errorf("server %d was not ready for %s", i, settleTimeout)
				return time.Since(startedAt)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return time.Since(startedAt)
}

// check ends the load and checks all invariants.
func (f *fleet) check() {
	f.t.Helper()
	f.load.end()
	f.checkAlive()
	f.awaitReady()
	f.load.check(settleTimeout)
	f.checkRepeats()
	for path, limit := range map[string]int{"/few": fewAtOnce, "/narrow": narrowAtOnce} {
		if most := f.load.ledger.atOnce(path); most > limit {
			f.t.Errorf("%d runs were at work at %s at once, the limit is %d", most, path, limit)
		} else if most == 0 {
			f.t.Errorf("no run called %s, so its limit was not tested", path)
		}
	}
}

// checkAlive reports servers that died. The checks continue with the others.
func (f *fleet) checkAlive() {
	f.t.Helper()
	var left []*client
	for i, s := range f.servers {
		if !s.hasExited() {
			left = append(left, f.load.any[i])
			continue
		}
		p := s.process()
		p.ordered = true // reported here
		f.t.Errorf("server %d died: %v\n%s", i, p.exit, crashReason(p.errs.String()))
	}
	if len(left) == 0 {
		f.t.Fatal("no server is left")
	}
	f.load.shun(-1)
	f.load.mu.Lock()
	f.load.any = left
	f.load.mu.Unlock()
}

// hasExited reports whether the process has ended.
func (s *server) hasExited() bool {
	select {
	case <-s.process().exited:
		return true
	default:
		return false
	}
}

// crashReason returns the part of a log that explains why a process died.
func crashReason(log string) string {
	for _, mark := range []string{"panic:", "fatal error:"} {
		if at := strings.Index(log, mark); at >= 0 {
			return log[at:min(len(log), at+1500)]
		}
	}
	return log[max(0, len(log)-1500):]
}

// checkRepeats checks that no step was called after its recorded end. All clocks are this
// machine's.
func (f *fleet) checkRepeats() {
	f.t.Helper()
	for _, key := range f.load.ledger.repeated() {
		runID, path, _ := strings.Cut(key, ":")
		var ended int64
		if err := f.query(&ended, "SELECT ended_at FROM steps WHERE run_id = $1 AND path = $2", runID, path); err != nil {
			f.t.Errorf("read the step %s: %v", key, err)
			continue
		}
		if last := f.load.ledger.lastCall(key); last.After(time.UnixMicro(ended)) {
			f.t.Errorf("%s was called again %s after its recorded end", key, last.Sub(time.UnixMicro(ended)))
		}
	}
}

// report logs details of a failed test: rows and log lines of open runs, database sessions,
// and the end of each log.
func (f *fleet) report() {
	f.t.Helper()
	f.load.mu.Lock()
	f.t.Logf("instances: %s; answers: %v", strings.Join(f.ids, ", "), f.load.statuses)
	reportSome(f.t, f.load.faults) // check was not reached
	f.load.mu.Unlock()
	for i, r := range f.load.stuck {
		if i == 3 {
			break
		}
		f.t.Logf("%s: %s\n  jobs: %s\n  steps: %s\n%s", r.ID,
			f.rows("SELECT id, state, place, attempt, instance_id, run_trigger, crashes, cancel_requested, created_at, started_at, deadline_at FROM runs WHERE id = $1", r.ID),
			f.rows("SELECT * FROM river_job WHERE args::text LIKE '%' || $1 || '%'", r.ID),
			f.rows("SELECT path, state, attempt, started_at, ended_at FROM steps WHERE run_id = $1", r.ID),
			f.linesWith(r.ID))
	}
	f.t.Logf("sessions: %s", f.sessions())
	for i, s := range f.servers {
		f.t.Logf("complaints of server %d:\n%s", i, complaints(s.process().errs.String()))
	}
}

// complaints are the sorts of warnings and errors in a log, the most frequent
// first: how many, and the last one.
func complaints(log string) string {
	count, last := map[string]int{}, map[string]string{}
	for line := range strings.SplitSeq(log, "\n") {
		_, line, found := strings.Cut(line, " level=")
		if !found || strings.HasPrefix(line, "INFO") || strings.HasPrefix(line, "DEBUG") {
			continue
		}
		sort := particular.ReplaceAllString(requestIDs.ReplaceAllString(line, ""), "#")
		count[sort]++
		last[sort] = line
	}
	sorts := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return count[b] - count[a] })
	var b strings.Builder
	for _, sort := range sorts[:min(len(sorts), 10)] {
		fmt.Fprintf(&b, "  %d × %.300s\n", count[sort], last[sort])
	}
	return b.String()
}

// requestIDs matches the IDs of requests in a log.
var requestIDs = regexp.MustCompile(`request_id=\S+ `)

// sessions summarizes the activity of the database's sessions.
func (f *fleet) sessions() string {
	return f.rows(`SELECT count(*), application_name, state, wait_event_type, wait_event, left(query, 60) AS query,
		max(now() - xact_start)::text AS oldest FROM pg_stat_activity WHERE datname = current_database()
		GROUP BY 2, 3, 4, 5, 6 ORDER BY 1 DESC LIMIT 12`)
}

// rows returns rows as one JSON text.
func (f *fleet) rows(sql string, args ...any) (list string) {
	if err := f.query(&list, "SELECT coalesce(json_agg(r), '[]')::text FROM ("+sql+") r", args...); err != nil {
		return err.Error()
	}
	return list
}

// linesWith returns the last log lines of all servers that contain a text.
func (f *fleet) linesWith(part string) string {
	var found []string
	for i, s := range f.servers {
		for line := range strings.SplitSeq(s.process().errs.String(), "\n") {
			if strings.Contains(line, part) {
				found = append(found, fmt.Sprintf("  server %d: %s", i, line))
			}
		}
	}
	return strings.Join(found[max(0, len(found)-8):], "\n")
}

// held returns the number of open runs that an instance holds.
func (f *fleet) held(instance int) (n int, err error) {
	err = f.query(&n, "SELECT count(*) FROM runs WHERE instance_id = $1 AND state IN ('queued', 'running', 'waiting')", f.ids[instance])
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return n, err
}

// signal sends a signal that does not end the process.
func (f *fleet) signal(i int, sig syscall.Signal) {
	f.t.Helper()
	if err := f.servers[i].process().cmd.Process.Signal(sig); err != nil {
		f.t.Fatalf("signal server %d: %v", i, err)
	}
}

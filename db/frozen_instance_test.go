package db_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// frozen is an instance that stopped within a transaction that holds the
// admission lock.
type frozen struct {
	thaw chan struct{}
	done chan error // the result of the write
	runs atomic.Int32
}

func freeze(t testing.TB, s *db.Store, flowID flow.FlowID) *frozen {
	t.Helper()
	f := &frozen{thaw: make(chan struct{}), done: make(chan error, 1)}
	holds := make(chan struct{}, 100)
	go func() {
		f.done <- s.InTransaction(context.Background(), func(ctx context.Context) error {
			f.runs.Add(1)
			if _, err := s.StartRun(ctx, newRun(flowID)); err != nil {
				return err
			}
			holds <- struct{}{}
			<-f.thaw
			return nil
		})
	}()
	select {
	case <-holds:
	case err := <-f.done:
		t.Fatalf("the transaction ended: %v", err)
	}
	return f
}

func TestFrozenInstance_does_not_block_others(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	a := openStore(t, cfg)
	cfg.Instance = "test-frozen"
	b := openStore(t, cfg)
	flowID := newFlow(t, a)
	f := freeze(t, b, flowID)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := a.StartRun(ctx, newRun(flowID)); err != nil {
				t.Errorf("a start beside a frozen instance: %v", err)
			}
		})
	}
	all.Wait()
	close(f.thaw)
	if err := <-f.done; err != nil {
		t.Errorf("the write of the instance that was frozen: %v", err)
	}
	if n := f.runs.Load(); n != 2 {
		t.Errorf("the write was executed %d times, want once more after its session was ended", n)
	}
	if n := queryOne[int](t, connect(t, cfg.DatabaseURL), "SELECT count(*) FROM runs"); n != 9 {
		t.Errorf("%d runs were started, want 9", n)
	}
}

// sessions counts the sessions of an instance.
func sessions(t testing.TB, conn *pgx.Conn, instance string) int {
	t.Helper()
	return queryOne[int](t, conn, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'sluice ' || $1", instance)
}

func TestRecover_ends_sessions_of_silent_instances(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	cfg.DatabaseURL += "&idle_in_transaction_session_timeout=0&lock_timeout=0" // nothing else ends them
	names := []string{"test-own", "test-silent", "test-living"}
	stores := map[string]*db.Store{}
	for _, name := range names {
		cfg.Instance = name
		stores[name] = openStore(t, cfg)
		if err := stores[name].Heartbeat(t.Context(), name, 8); err != nil {
			t.Fatal(err)
		}
	}
	conn := connect(t, cfg.DatabaseURL)
	flowID := newFlow(t, stores["test-own"])
	f := freeze(t, stores["test-silent"], flowID)
	if _, err := conn.Exec(t.Context(), "UPDATE instances SET heartbeat_at = 1 WHERE id = 'test-silent'"); err != nil {
		t.Fatal(err)
	}
	if _, err := stores["test-own"].Recover(t.Context(), "test-own"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no session of the silent instance", func() bool { return sessions(t, conn, "test-silent") == 0 })
	for _, name := range []string{"test-own", "test-living"} {
		if sessions(t, conn, name) == 0 {
			t.Errorf("sessions of %s, which lives, were ended", name)
		}
	}
	if _, err := stores["test-own"].StartRun(t.Context(), newRun(flowID)); err != nil {
		t.Fatal(err)
	}
	close(f.thaw)
	if err := <-f.done; err != nil {
		t.Errorf("the write of the instance that was frozen: %v", err)
	}
}

func TestVital_works_without_free_connections(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t, func(c *core.Config) {
		c.DatabaseURL = strings.Replace(c.DatabaseURL, "pool_max_conns=12", "pool_max_conns=2&idle_in_transaction_session_timeout=0", 1)
	})
	s := openStore(t, cfg)
	one, two := newFlow(t, s), newFlow(t, s)
	thaw := make(chan struct{})
	var all sync.WaitGroup
	begun := make(chan struct{})
	for range 2 {
		all.Go(func() {
			err := s.InTransaction(context.Background(), func(context.Context) error {
				begun <- struct{}{}
				<-thaw
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	<-begun
	<-begun
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("ping: %v", err)
	}
	if err := s.Heartbeat(t.Context(), cfg.Instance, 8); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	if _, err := s.Recover(t.Context(), cfg.Instance); err != nil {
		t.Errorf("recover: %v", err)
	}
	_, err := s.FindFlow(t.Context(), ws, one)
	wantCode(t, err, flow.CodeUnavailable)
	close(thaw)
	all.Wait()
	if _, err := s.FindFlow(t.Context(), ws, two); err != nil {
		t.Errorf("a read after the connections became free: %v", err)
	}
}

// limits returns the time limits of a session of a store.
func limits(t *testing.T, s *db.Store) string {
	t.Helper()
	var text string
	err := db.Pool(s).QueryRow(t.Context(), `SELECT concat_ws(' ', current_setting('idle_in_transaction_session_timeout'), current_setting('lock_timeout'),
		current_setting('statement_timeout'), current_setting('application_name'))`).Scan(&text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestTimeLimits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 70) + "-4711-ABCDEFGH"
	for _, c := range []struct{ name, instance, more, want string }{
		{"of a server", "host-1-AB", "", "3s 5s 30s sluice host-1-AB"},
		{"of a command", "", "", "1min 0 0 sluice"},
		{"chosen in the URL", "host-1-AB", "&statement_timeout=7s&application_name=mine", "3s 5s 7s mine host-1-AB"},
		{"chosen in the URL's options", "host-1-AB", "&options=-c%20lock_timeout%3D9s", "3s 9s 30s sluice host-1-AB"},
		{"with a long name", long, "", "3s 5s 30s sluice " + strings.Repeat("?", 63-7-14) + "-4711-ABCDEFGH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.Postgres(t, func(cfg *core.Config) {
				cfg.Instance = c.instance
				cfg.DatabaseURL += c.more
			})
			wantEqual(t, "limits", limits(t, s), c.want)
		})
	}
}

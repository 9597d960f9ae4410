package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/value"
)

// patience is the timeout for conditions that must become true.
const patience = 30 * time.Second

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("after %s not yet: %s", patience, what)
		}
	}
}

func openStore(t testing.TB, cfg core.Config) *db.Store {
	t.Helper()
	s, err := db.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// connect opens a connection outside of the store.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	before, after, _ := strings.Cut(url, "&pool_max_conns=12")
	conn, err := pgx.Connect(t.Context(), before+after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// queryOne reads one value.
func queryOne[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// newRun returns a run of a flow whose start takes the admission lock.
func newRun(flowID flow.FlowID) flow.NewRun {
	return flow.NewRun{Prices: true, Key: &flow.Key{ID: "key_a", Concurrency: 1000}, Run: flow.Run{
		WorkspaceID: ws, FlowID: flowID, Version: 1, DocumentHash: "abc", Trigger: flow.TriggerAPI, KeyID: "key_a",
		Inputs: value.FromMap(map[string]any{"ticket": "help"}), Save: true, Timeout: time.Hour,
	}}
}

func newFlow(t testing.TB, s *db.Store) flow.FlowID {
	t.Helper()
	f := &flow.Flow{WorkspaceID: ws, Name: "Answer", Draft: []byte(`{"schema":"sluice.flow/v1"}`)}
	if err := s.CreateFlow(context.Background(), f); err != nil {
		t.Fatal(err)
	}
	return f.ID
}

// starter starts runs, each with an idempotency key, and sends the same request
// again while the answer is that the database is unavailable, as callers do.
type starter struct {
	s      *db.Store
	flowID flow.FlowID
	ids    sync.Map // run ID by idempotency key
	failed atomic.Int32
}

func (st *starter) start(ctx context.Context, key string) error {
	for {
		n := newRun(st.flowID)
		n.IdempotencyKey, n.Fingerprint = key, "same"
		started, err := st.s.StartRun(ctx, n)
		if err == nil {
			st.ids.Store(key, started.Run.ID)
			return nil
		}
		if st.failed.Add(1); !errors.Is(err, &flow.Error{Code: flow.CodeUnavailable}) || ctx.Err() != nil {
			return fmt.Errorf("start %s: %w", key, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// check compares the answers to callers with the stored runs.
func (st *starter) check(t *testing.T, conn *pgx.Conn, want int) {
	t.Helper()
	n := 0
	st.ids.Range(func(key, id any) bool {
		n++
		if got := queryOne[flow.RunID](t, conn, "SELECT run_id FROM idempotency WHERE name = $1", key); got != id {
			t.Errorf("%v started %v, and %s is stored", key, id, got)
		}
		return true
	})
	wantEqual(t, "accepted runs", n, want)
	wantEqual(t, "stored runs", queryOne[int](t, conn, "SELECT count(*) FROM runs"), want)
}

func TestStartRun_with_terminated_sessions(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	s := openStore(t, cfg)
	st := &starter{s: s, flowID: newFlow(t, s)}
	conn := connect(t, cfg.DatabaseURL)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	const workers, each, rounds = 8, 10, 20
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				if err := st.start(ctx, fmt.Sprintf("%d-%d", w, i)); err != nil {
					t.Error(err)
					return
				}
				if _, err := s.FindFlow(ctx, ws, st.flowID); err != nil && !flow.IsUnavailable(err) {
					t.Errorf("read: %v", err)
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	ended := 0
	for round := 0; round < rounds; {
		n := queryOne[int](t, conn, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		if ended += n; n > 0 {
			round++
		}
		select {
		case <-over:
			round = rounds
		case <-time.After(50 * time.Millisecond):
		}
	}
	<-over
	if ended == 0 {
		t.Error("no session was ended")
	}
	st.check(t, conn, workers*each)
}

// The answer to a commit is lost. Without an idempotency key, only the database can
// show whether the run was started.
func TestStartRun_with_a_lost_answer_to_the_commit(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := server.Config("lost")
	proxy := dbtest.NewProxy(t, "unix", server.Socket())
	cfg.Instance, cfg.DatabaseURL = "test-lost", proxy.URL("lost")
	s := openStore(t, cfg)
	flowID := newFlow(t, s)
	var losing atomic.Bool
	proxy.LoseAnswers(func(sql string) bool { return strings.EqualFold(sql, "commit") && losing.CompareAndSwap(true, false) })
	conn := connect(t, server.AdminURL("lost"))
	for i := range 10 {
		losing.Store(true)
		started, err := s.StartRun(t.Context(), newRun(flowID))
		if err != nil {
			t.Fatalf("start %d: %v", i, err)
		}
		if n := queryOne[int](t, conn, "SELECT count(*) FROM runs WHERE id = $1", started.Run.ID); n != 1 {
			t.Errorf("run %d is stored %d times", i, n)
		}
	}
	wantEqual(t, "runs", queryOne[int](t, conn, "SELECT count(*) FROM runs"), 10)
	wantEqual(t, "lost answers", proxy.Lost(), 10)
}

func TestOutage_of_the_server(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := server.Config("away")
	cfg.Instance = "test-away"
	s := openStore(t, cfg)
	flowID := newFlow(t, s)
	credential := flow.Credential{WorkspaceID: ws, Name: "c"}
	if err := s.SaveCredential(t.Context(), credential, "secret"); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		server.Stop(signal)
		begun := time.Now()
		wantCode(t, s.Ping(t.Context()), flow.CodeUnavailable)
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("%s: ping failed after %s", signal, took)
		}
		_, err := s.FindFlow(t.Context(), ws, flowID)
		wantCode(t, err, flow.CodeUnavailable)
		_, err = s.ListFlows(t.Context(), ws, "", 10)
		wantCode(t, err, flow.CodeUnavailable)
		_, err = s.StartRun(t.Context(), newRun(flowID))
		wantCode(t, err, flow.CodeUnavailable)
		if e := flow.AsError(err); !e.Retryable || e.After <= 0 {
			t.Errorf("%s: the refusal is %+v", signal, e)
		}
		outlasting, cancel := context.WithTimeout(flow.OutlastOutages(t.Context()), patience)
		results := make(chan error, 3)
		go func() {
			_, secret, err := s.OpenCredential(outlasting, ws, "c")
			if err == nil && secret != "secret" {
				err = fmt.Errorf("the secret is %q", secret)
			}
			results <- err
		}()
		go func() {
			list, err := s.ListCredentials(outlasting, ws)
			if err == nil && len(list) != 1 {
				err = fmt.Errorf("there are %d credentials", len(list))
			}
			results <- err
		}()
		go func() {
			_, err := s.StartRun(outlasting, newRun(flowID))
			results <- err
		}()
		server.Start()
		for range cap(results) {
			if err := <-results; err != nil {
				t.Errorf("%s: what outlasts outages: %v", signal, err)
			}
		}
		cancel()
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("%s: ping after the start: %v", signal, err)
		}
		if _, err := s.FindFlow(t.Context(), ws, flowID); err != nil {
			t.Errorf("%s: a read after the start: %v", signal, err)
		}
	}
	wantEqual(t, "runs", queryOne[int](t, connect(t, server.URL("away")), "SELECT count(*) FROM runs"), 3)
}

func TestOpen_with_few_connections(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{Settings: []string{"max_connections=20"}})
	cfg := server.Config("few")
	var stores []*starter
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	var flowID flow.FlowID
	for i := range 3 {
		cfg.Instance = fmt.Sprintf("test-few-%d", i)
		s := openStore(t, cfg)
		if err := s.Heartbeat(ctx, cfg.Instance, 8); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			flowID = newFlow(t, s)
		}
		st := &starter{s: s, flowID: flowID}
		stores = append(stores, st)
		var all sync.WaitGroup // fills the pool before the next instance comes
		for n := range 16 {
			all.Go(func() {
				if err := st.start(ctx, fmt.Sprintf("first-%d-%d", i, n)); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	var all sync.WaitGroup
	for i, st := range stores {
		if err := st.s.Heartbeat(ctx, fmt.Sprintf("test-few-%d", i), 8); err != nil {
			t.Error(err)
		}
		for n := range 32 {
			all.Go(func() {
				if err := st.start(ctx, fmt.Sprintf("%d-%d", i, n)); err != nil {
					t.Error(err)
				}
				if _, err := st.s.FindFlow(ctx, ws, flowID); err != nil {
					t.Errorf("read: %v", err)
				}
			})
		}
	}
	all.Wait()
	failed := 0
	for _, st := range stores {
		failed += int(st.failed.Load())
		if err := st.s.Ping(ctx); err != nil {
			t.Errorf("ping: %v", err)
		}
	}
	if failed > 0 {
		t.Errorf("%d starts were refused although connections suffice", failed)
	}
	if n := strings.Count(server.Log(), "too many clients already") + strings.Count(server.Log(), "remaining connection slots"); n > 0 {
		t.Logf("PostgreSQL refused %d connections", n)
	}
	conn := connect(t, server.URL("few"))
	wantEqual(t, "runs", queryOne[int](t, conn, "SELECT count(*) FROM runs"), 3*16+3*32)
}

// TestOutage_refused_connections uses a running server that refuses every new
// connection for another reason than their number.
func TestOutage_refused_connections(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	s := openStore(t, server.Config("sluice"))
	flowID := newFlow(t, s)
	server.Exec("ALTER DATABASE sluice ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'sluice'")
	if _, err := s.StartRun(t.Context(), newRun(flowID)); !flow.IsUnavailable(err) {
		t.Errorf("a start got %v, wanted %s", err, flow.CodeUnavailable)
	}
	if _, err := s.FindRun(t.Context(), ws, flowID, "run_x"); !flow.IsUnavailable(err) {
		t.Errorf("a read got %v, wanted %s", err, flow.CodeUnavailable)
	}
	server.Exec("ALTER DATABASE sluice ALLOW_CONNECTIONS true")
	eventually(t, "a start is accepted", func() bool {
		_, err := s.StartRun(t.Context(), newRun(flowID))
		return err == nil
	})
}

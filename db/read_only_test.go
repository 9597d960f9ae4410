package db_test

import (
	"fmt"
	"sync"
	"testing"

	"sluice/db/dbtest"
	"sluice/flow"
)

// TestWrite_recovers_after_read_only makes a database read-only for new sessions, as a failover does, and writable
// again. All sessions of the pool are opened in between.
func TestWrite_recovers_after_read_only(t *testing.T) {
	t.Parallel()
	server := dbtest.NewServer(t, dbtest.ServerConfig{})
	cfg := server.Config("read_only")
	cfg.Instance = "test-read-only"
	s := openStore(t, cfg)
	flowID := newFlow(t, s)
	ctx := t.Context()
	write := func() error { return s.SaveCredential(ctx, flow.Credential{WorkspaceID: ws, Name: "c"}, "secret") }
	if err := s.Ping(ctx); err != nil {
		t.Fatalf("before: %v", err)
	}
	server.Exec("ALTER DATABASE read_only SET default_transaction_read_only = on",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'read_only'")
	eventually(t, "writes are refused", func() bool { return write() != nil })
	wantCode(t, write(), flow.CodeUnavailable)
	for range 3 {
		wantCode(t, s.Ping(ctx), flow.CodeUnavailable)
	}
	var reads sync.WaitGroup
	for range 100 { // fill the pool with sessions that stay read-only
		reads.Go(func() {
			if _, err := s.FindFlow(ctx, ws, flowID); err != nil {
				t.Errorf("read: %v", err)
			}
		})
	}
	reads.Wait()
	server.Exec("ALTER DATABASE read_only SET default_transaction_read_only = off")
	errs := make(chan error, 100)
	for range cap(errs) {
		go func() { errs <- write() }()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Errorf("a write after the database was made writable: %v", err)
		}
	}
	if err := s.Ping(ctx); err != nil {
		t.Errorf("after: %v", err)
	}
	if err := s.Heartbeat(ctx, cfg.Instance, 5); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	st := &starter{s: s, flowID: flowID}
	for i := range 10 {
		if err := st.start(ctx, fmt.Sprint(i)); err != nil || st.failed.Load() > 0 {
			t.Fatalf("start: %v, after %d failures", err, st.failed.Load())
		}
	}
}

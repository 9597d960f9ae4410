package db_test

import (
	"context"
	"testing"
	"time"

	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/flow"
)

// TestWrite_gives_up_on_locked_table has another session that locks a table. Each write that needs it is answered
// after one limit of waiting for a lock, although it waits for several things: for a
// transaction of others, for the lock in it, and again on its own.
func TestWrite_gives_up_on_locked_table(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	cfg.Instance = "test-locked"
	s := openStore(t, cfg)
	flowID := newFlow(t, s)
	const starts, edits = 12, 4
	conn := connect(t, cfg.DatabaseURL)
	for _, sql := range []string{"BEGIN", "LOCK TABLE runs, flows IN ACCESS EXCLUSIVE MODE"} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	begun := time.Now()
	type answer struct {
		err  error
		took time.Duration
	}
	answers := make(chan answer, starts+edits)
	call := func(f func() error) {
		go func() {
			err := f()
			answers <- answer{err, time.Since(begun)}
		}()
	}
	for range starts {
		call(func() error { _, err := s.StartRun(context.Background(), newRun(flowID)); return err })
	}
	for range edits {
		call(func() error { return s.ArchiveFlow(context.Background(), ws, flowID) })
	}
	for range cap(answers) {
		a := <-answers
		if !flow.IsUnavailable(a.err) && flow.AsError(a.err).Code != flow.CodeOverloaded {
			t.Errorf("got %v", a.err)
		}
		if a.took > dbconn.LockTimeout*9/5 { // 10 to 15 seconds without a common limit
			t.Errorf("answered after %s: %v", a.took, a.err)
		}
	}
}

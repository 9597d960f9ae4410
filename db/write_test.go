package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/db/gen"
	"sluice/flow"
)

// note returns a write function that adds one entry to the audit log.
func note(id string) func(*core.Tx) error {
	return func(tx *core.Tx) error {
		return tx.Queries.InsertAudit(context.Background(), gen.InsertAuditParams{ID: id, WorkspaceID: ws})
	}
}

func notes(t *testing.T, s *db.Store) string {
	t.Helper()
	list, err := s.ListAudit(t.Context(), ws, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(list))
	for i, e := range list {
		ids[len(list)-1-i] = e.ID
	}
	return strings.Join(ids, " ")
}

// together runs the functions as members of one group and returns their errors.
func together(t *testing.T, s *db.Store, synced bool, fns ...func(*core.Tx) error) []error {
	t.Helper()
	calls := make([]func() error, len(fns))
	for i, fn := range fns {
		calls[i] = func() error { return s.Write(context.Background(), core.Durability(synced), fn) }
	}
	return gathered(t, s, calls...)
}

// gathered makes calls that write once, as members of one group, and returns their errors. Another
// member blocks the writer until all of them wait.
func gathered(t *testing.T, s *db.Store, calls ...func() error) []error {
	t.Helper()
	begun, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := s.Write(context.Background(), core.Durable, func(*core.Tx) error { close(begun); <-release; return nil })
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	errs := make([]error, len(calls))
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
		for s.Waiting() < i+1 { // in order
			runtime.Gosched()
		}
	}
	close(release)
	wg.Wait()
	return errs
}

func TestWrite_members_share_a_transaction(t *testing.T) {
	t.Parallel()
	s := dbtest.SQLite(t)
	was, _ := s.Groups()
	for _, err := range together(t, s, true, note("a"), note("b"), note("c")) {
		if err != nil {
			t.Fatal(err)
		}
	}
	all, _ := s.Groups()
	wantEqual(t, "transactions", all-was, 2) // the holder's and theirs
	wantEqual(t, "notes", notes(t, s), "a b c")
}

var errNo = errors.New("no")

func TestWrite_only_the_failing_member_fails(t *testing.T) {
	t.Parallel()
	fails := map[string]func(*core.Tx) error{
		"error":   func(tx *core.Tx) error { return errors.Join(note("bad")(tx), errNo) },
		"panic":   func(tx *core.Tx) error { _ = note("bad")(tx); panic("oh") },
		"sql":     func(tx *core.Tx) error { _ = note("bad")(tx); return note("a")(tx) },
		"unlucky": func(tx *core.Tx) error { _ = note("bad")(tx); return rollback(tx) },
	}
	for name, bad := range fails {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := dbtest.SQLite(t)
			errs := together(t, s, true, note("a"), bad, note("c"))
			wantEqual(t, "notes", notes(t, s), "a c")
			if errs[0] != nil || errs[1] == nil || errs[2] != nil {
				t.Fatalf("errors: %v", errs)
			}
		})
	}
}

// rollback rolls back the whole transaction, as SQLite does when the disk is full or
// memory runs out.
func rollback(tx *core.Tx) error {
	_, err := tx.DBTX.ExecContext(context.Background(), "ROLLBACK")
	return errors.Join(err, errNo)
}

func TestWrite_syncs_when_any_member_needs_it(t *testing.T) {
	t.Parallel()
	s := dbtest.SQLite(t)
	mode := func(want int) func(*core.Tx) error {
		return func(tx *core.Tx) error {
			var got int
			err := tx.DBTX.QueryRowContext(context.Background(), "PRAGMA synchronous").Scan(&got)
			if got != want {
				err = fmt.Errorf("synchronous is %d, want %d", got, want)
			}
			return err
		}
	}
	const normal, full = 1, 2
	for _, c := range []struct {
		synced bool
		want   int
	}{{true, full}, {false, normal}, {true, full}} {
		if err := s.Write(t.Context(), core.Durability(c.synced), mode(c.want)); err != nil {
			t.Fatal(err)
		}
	}
	var left int
	if err := s.SQLite().QueryRow("PRAGMA synchronous").Scan(&left); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "what the queue finds", left, full)
}

func TestWrite_jobs_are_inserted_with_their_members(t *testing.T) {
	t.Parallel()
	s := dbtest.SQLite(t)
	var batches [][]flow.Job
	q := &queue{in: func(_ any, jobs []flow.Job) error { batches = append(batches, jobs); return nil }}
	s.UseQueue(q)
	job := func(id string, err error) func(*core.Tx) error {
		return func(tx *core.Tx) error { tx.Enqueue(flow.Job{Kind: flow.JobRun, ID: id}); return err }
	}
	together(t, s, true, job("a", nil), job("b", errNo), job("c", nil))
	wantEqual(t, "inserts", len(batches), 1)
	wantEqual(t, "jobs", fmt.Sprint(q.ids(flow.JobRun)), "[a c]")
}

func TestWrite_a_failing_queue_fails_its_members(t *testing.T) {
	t.Parallel()
	s := dbtest.SQLite(t)
	q := &queue{fail: errNo}
	s.UseQueue(q)
	errs := together(t, s, true, note("a"), func(tx *core.Tx) error { tx.Enqueue(flow.Job{ID: "b"}); return note("b")(tx) })
	wantEqual(t, "notes", notes(t, s), "a")
	if errs[0] != nil || !errors.Is(errs[1], errNo) {
		t.Fatalf("errors: %v", errs)
	}
	wantEqual(t, "woken", len(q.jobs), 0)
}

func TestWrite_canceled_before_and_after_it_began(t *testing.T) {
	t.Parallel()
	s := dbtest.SQLite(t)
	begun, release := make(chan struct{}), make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	var first, second error
	var wg sync.WaitGroup
	wg.Go(func() {
		first = s.Write(ctx, true, func(tx *core.Tx) error { close(begun); <-release; return note("begun")(tx) })
	})
	<-begun
	wg.Go(func() {
		second = s.Write(ctx, true, note("left"))
		close(release)
	})
	for s.Waiting() < 1 {
		runtime.Gosched()
	}
	leave()
	wg.Wait()
	if first != nil || !errors.Is(second, context.Canceled) {
		t.Fatalf("errors: %v, %v", first, second)
	}
	wantEqual(t, "notes", notes(t, s), "begun")
}

func TestWrite_when_the_disk_is_full(t *testing.T) {
	t.Parallel()
	s := dbtest.SQLite(t)
	pragma := func(text string) {
		if _, err := s.SQLite().Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	big := func(id string) func(*core.Tx) error {
		return func(tx *core.Tx) error {
			return tx.Queries.InsertAudit(context.Background(), gen.InsertAuditParams{ID: id, WorkspaceID: ws, Detail: strings.Repeat("x", 1<<20)})
		}
	}
	if err := s.Write(t.Context(), true, note("a")); err != nil {
		t.Fatal(err)
	}
	pragma("PRAGMA max_page_count = 1") // SQLite takes it as "no more than there are"
	errs := together(t, s, true, big("b"), note("c"), big("d"))
	wantCode(t, errs[0], flow.CodeStorageFull)
	wantCode(t, errs[2], flow.CodeStorageFull)
	if errs[1] != nil {
		t.Fatalf("what fits was refused: %v", errs[1])
	}
	wantEqual(t, "notes", notes(t, s), "a c") // reads go on
	pragma("PRAGMA max_page_count = 1073741823")
	if err := s.Write(t.Context(), true, big("e")); err != nil {
		t.Fatal(err)
	}
}

func TestWrite_after_close(t *testing.T) {
	t.Parallel()
	s, err := db.Open(t.Context(), dbtest.SQLiteConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), true, note("a")); !errors.Is(err, dbconn.ErrClosed) {
		t.Fatalf("got %v", err)
	}
}

func TestWrite_concurrent(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				if err := w.Write(w.ctx, i%2 == 0, note(fmt.Sprintf("%03d", i))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantEqual(t, "notes", len(strings.Fields(notes(t, w.Store))), 100)
	})
}

// The queue inserts through its own transaction type, which must be the transaction that
// the queries run in.
func TestWrite_queue_and_queries_share_the_transaction(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		const insert = "INSERT INTO audit (id, workspace_id, actor, action, target, detail, ip, created_at) VALUES ('job', 'default', '', '', '', '', '', 0)"
		var refuse error
		w.queue.in = func(tx any, _ []flow.Job) (err error) {
			switch tx := tx.(type) {
			case *sql.Tx:
				_, err = tx.Exec(insert)
			case pgx.Tx:
				_, err = tx.Exec(context.Background(), insert)
			}
			return errors.Join(err, refuse)
		}
		member := func(id string) func(*core.Tx) error {
			return func(tx *core.Tx) error { tx.Enqueue(flow.Job{ID: id}); return note(id)(tx) }
		}
		refuse = errNo
		if err := w.Write(w.ctx, true, member("a")); !errors.Is(err, errNo) {
			t.Fatalf("got %v", err)
		}
		wantEqual(t, "after a rollback", notes(t, w.Store), "")
		refuse = nil
		w.must(w.Write(w.ctx, true, member("b")))
		wantEqual(t, "after a commit", notes(t, w.Store), "b job")
	})
}

func TestWrite_a_panic_on_either_database(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		if err := w.Write(w.ctx, true, func(tx *core.Tx) error { _ = note("a")(tx); panic("oh") }); err == nil {
			t.Fatal("a panic was no error")
		}
		w.must(w.Write(w.ctx, true, note("b")))
		wantEqual(t, "notes", notes(t, w.Store), "b")
	})
}

// TestWrite_times_out_on_a_lock_of_another_program holds the write lock from another
// connection: writes time out, and succeed again once the lock is released.
func TestWrite_times_out_on_a_lock_of_another_program(t *testing.T) {
	t.Parallel()
	cfg := dbtest.SQLiteConfig(t)
	cfg.BusyTimeout = 50 * time.Millisecond
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	other, err := sql.Open(core.DriverName, filepath.Join(cfg.DataDir, core.DatabaseFile)+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.Begin()
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := s.Heartbeat(t.Context(), "me", 1); !errors.Is(err, &flow.Error{Code: flow.CodeOverloaded}) {
				t.Errorf("a write beside a lock: %v", err)
			}
		})
	}
	all.Wait()
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := s.Heartbeat(t.Context(), "me", 1); err != nil {
		t.Errorf("after the lock: %v", err)
	}
	var timeout int
	if err := s.SQLite().QueryRow("PRAGMA busy_timeout").Scan(&timeout); err != nil || timeout != 50 {
		t.Errorf("the timeout is %d ms, %v", timeout, err)
	}
}

func TestOpen_waits_five_seconds_for_a_lock(t *testing.T) {
	t.Parallel()
	var ms int
	if err := dbtest.SQLite(t).SQLite().QueryRow("PRAGMA busy_timeout").Scan(&ms); err != nil || ms != 5000 {
		t.Errorf("the timeout is %d ms, %v", ms, err)
	}
}

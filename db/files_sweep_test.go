package db_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// A sweep removes everything that a crash can leave, and nothing else.
func TestSweepFiles(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		kept := w.save("kept")
		w.must(w.Put(w.ctx, "cut before it was kept"))
		if err := w.Keep(w.ctx, "cut before its row", func(*core.Tx) error { return errNo }); !errors.Is(err, errNo) {
			t.Fatalf("got %v", err)
		}
		past, soon := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		if w.IsPostgres() { // its times come from the test's clock
			past, soon = w.clock.Now().Add(-time.Hour), w.clock.Now().Add(time.Hour)
		}
		w.must(w.SweepFiles(w.ctx, past))
		n, loose, err := w.Contents(w.ctx)
		w.must(err)
		wantEqual(t, "what is young stays", n+loose > 1, true)
		another := w.again() // a process that was not there before knows nothing of uploads under way
		w.must(another.SweepFiles(w.ctx, soon))
		w.wantContents(1)
		wantEqual(t, "content", w.content(kept.ID), "kept")
	})
}

// again opens the same store a second time.
func (w *fixture) again() *db.Store {
	w.t.Helper()
	s, err := db.Open(w.ctx, w.OpenedWith())
	w.must(err)
	w.t.Cleanup(func() { s.Close() })
	return s
}

func TestSweepFiles_keeps_an_upload_in_progress(t *testing.T) {
	t.Parallel()
	w := newFixture(t, dbtest.SQLite(t), &clock{now: time.Now()})
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := io.MultiReader(strings.NewReader("a"), waiting{begun, goOn}, strings.NewReader("b"))
	done := make(chan error)
	go func() {
		_, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: ws}, slow)
		done <- err
	}()
	<-begun
	w.must(w.SweepFiles(w.ctx, time.Now().Add(time.Hour)))
	close(goOn)
	w.must(<-done)
	w.wantContents(1)
}

// waiting is a reader that blocks until it is released.
type waiting struct{ begun, goOn chan struct{} }

func (r waiting) Read([]byte) (int, error) {
	close(r.begun)
	<-r.goOn
	return 0, io.EOF
}

// An upload that was swept returns an error instead of losing its beginning.
func TestSweepFiles_removes_a_stalled_upload(t *testing.T) {
	t.Parallel()
	w := newFixture(t, dbtest.Postgres(t), &clock{now: time.Now()})
	begun, goOn := make(chan struct{}), make(chan struct{})
	slow := io.MultiReader(strings.NewReader(random(1<<20)), waiting{begun, goOn}, strings.NewReader("b"))
	done := make(chan error)
	go func() {
		_, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: ws}, slow)
		done <- err
	}()
	<-begun
	w.must(w.SweepFiles(w.ctx, time.Now().Add(time.Hour)))
	close(goOn)
	wantCode(t, <-done, flow.CodeOverloaded)
	w.wantContents(0)
}

// Content cannot be removed while its row is being inserted, and is kept once the row
// exists.
func TestRemove_waits_for_a_file_that_is_being_saved(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		old := w.save("same")
		w.must(w.EraseFile(w.ctx, ws, old.ID))
		naming, name := make(chan struct{}), make(chan struct{})
		saved, removed := make(chan error, 1), make(chan error, 1)
		go func() {
			saved <- w.Keep(w.ctx, "same", func(tx *core.Tx) error {
				close(naming)
				<-name
				return db.NameFile(tx, ws, "file_new", old.Hash, 4)
			})
		}()
		<-naming
		go func() { removed <- w.Unwanted(w.ctx, old.Hash) }()
		close(name)
		w.must(<-saved)
		w.must(<-removed)
		wantEqual(t, "content", w.content("file_new"), "same")
	})
}

func TestRemove_concurrent_with_saving_equal_content(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		done := make(chan error)
		const savers, rounds = 4, 12
		for range savers {
			go func() { done <- w.saveAndErase(rounds) }()
		}
		stop := make(chan struct{})
		removing := make(chan error)
		go func() { removing <- w.removeUntil(stop) }()
		for range savers {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		close(stop)
		w.must(<-removing)
		w.removeErased()
		w.wantContents(0)
	})
}

func (w *fixture) saveAndErase(rounds int) error {
	for range rounds {
		f, err := w.trySave("the same again and again")
		if err != nil {
			return err
		}
		_, r, err := w.OpenFile(w.ctx, ws, f.ID)
		if err != nil {
			return fmt.Errorf("open what was just saved: %w", err)
		}
		data, err := io.ReadAll(r)
		if err = errors.Join(err, r.Close()); err != nil || string(data) != "the same again and again" {
			return fmt.Errorf("read %q: %w", data, err)
		}
		if err := w.EraseFile(w.ctx, ws, f.ID); err != nil {
			return err
		}
	}
	return nil
}

func (w *fixture) removeUntil(stop chan struct{}) error {
	for {
		if _, err := w.RemoveErasedFiles(w.ctx, 100); err != nil {
			return err
		}
		select {
		case <-stop:
			return nil
		default:
			runtime.Gosched()
		}
	}
}

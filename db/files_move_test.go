package db_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/db"
	"sluice/db/backup"
	"sluice/db/core"
	"sluice/db/dbtest/s3server"
)

// opened opens the store again with a changed configuration, as another process does.
func (w *fixture) opened(change func(*core.Config)) *fixture {
	w.t.Helper()
	cfg := w.OpenedWith()
	change(&cfg)
	s, err := db.Open(w.ctx, cfg)
	w.must(err)
	w.t.Cleanup(func() { s.Close() })
	return &fixture{Store: s, t: w.t, ctx: w.ctx, clock: w.clock}
}

// TestMoveFiles_keeps_contents_readable moves contents into the storage, while it fails now and then, and back, while they are read.
func TestMoveFiles_keeps_contents_readable(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		contents := map[string]string{}
		for i := range 12 {
			content := strings.Repeat(fmt.Sprint("x", i), i*150_000)
			contents[w.save(content).ID] = content
		}
		gone := w.save("erased before the move")
		w.must(w.EraseFile(w.ctx, ws, gone.ID))
		server, set := useObjects(t)
		moving := w.opened(set)
		check := func(when string, w *fixture) {
			t.Helper()
			for id, content := range contents {
				wantEqual(t, when, w.content(id) == content, true)
			}
		}
		ctx, cancel := context.WithCancel(w.ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				check("during the move", moving)
			}
		}()
		n := 0
		server.Fail(func(*http.Request) s3server.Fault {
			if n++; n%5 == 0 {
				return s3server.Fault{Status: 503}
			}
			return s3server.Fault{}
		})
		moved, err := moving.MoveFiles(w.ctx, true)
		w.must(err)
		wantEqual(t, "moved", moved.Contents, int64(len(contents)))
		cancel()
		<-done
		server.Fail(nil)
		again, err := moving.MoveFiles(w.ctx, true)
		w.must(err)
		wantEqual(t, "moved again", again.Contents, int64(0))
		moving.removeErased()
		(&objectFixture{moving, server}).wantObjects(len(contents))
		check("after the move", moving)
		missing, _, err := moving.MissingObjects(w.ctx)
		w.must(err)
		wantEqual(t, "missing", missing, int64(0))

		back := w.opened(func(c *core.Config) { set(c); c.ObjectsReadOnly = true })
		added := back.save("stored while files are moved back")
		contents[added.ID] = "stored while files are moved back"
		moved, err = back.MoveFiles(w.ctx, false)
		w.must(err)
		wantEqual(t, "moved back", moved.Contents, int64(len(contents)-1))
		wantEqual(t, "objects", len(server.Objects(t, "p/sha256")), 0)
		check("after the way back", w)
		w.wantContents(len(contents))
	})
}

// TestMoveFiles_leaves_damaged_contents checks that one content that cannot be moved does not stop the others.
func TestMoveFiles_leaves_damaged_contents(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		first, second := w.save("first"), w.save("second")
		var damaged string
		for _, path := range w.server.Objects(t, "p/sha256") {
			if strings.Contains(path, first.Hash[2:]) {
				damaged = path
			}
		}
		w.must(os.WriteFile(damaged, []byte("other"), 0o644))
		moved, err := w.MoveFiles(w.ctx, false)
		w.must(err)
		wantEqual(t, "moved and failed", [2]int64{moved.Contents, moved.Failed}, [2]int64{1, 1})
		wantEqual(t, "content", w.content(second.ID), "second")
		w.must(os.Remove(damaged))
		n, some, err := w.MissingObjects(w.ctx)
		w.must(err)
		wantEqual(t, "missing", n == 1 && slices.Equal(some, []string{first.Hash}), true)
	})
}

// TestBackUp_of_files_in_object_storage checks that a backup leaves these contents out or holds them, and that
// a restored one is found in the directory if the storage is lost.
func TestBackUp_of_files_in_object_storage(t *testing.T) {
	t.Parallel()
	cfg := core.Config{DataDir: t.TempDir()}
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &fixture{Store: s, t: t, ctx: t.Context()}
	local := w.save("in the directory")
	server, set := useObjects(t)
	moving := w.opened(set)
	stored := moving.save("in the storage")
	var archive string
	for contents, want := range [][2]int{backup.Local: {1, 1}, backup.Nothing: {0, 2}, backup.All: {2, 0}} {
		archive = filepath.Join(t.TempDir(), "sluice.backup")
		b, err := backup.Create(w.ctx, moving.DB, archive, "test", backup.Contents(contents))
		w.must(err)
		wantEqual(t, "files and those elsewhere", [2]int{b.Files, len(b.Elsewhere)}, want)
	}
	for _, path := range server.Objects(t, "p/sha256") {
		w.must(os.Remove(path))
	}
	to := core.Config{DataDir: t.TempDir(), MasterKeyFile: filepath.Join(cfg.DataDir, "master.key")}
	_, err = backup.Restore(w.ctx, to, archive, false)
	w.must(err)
	set(&to)
	restored, err := db.Open(w.ctx, to)
	w.must(err)
	defer restored.Close()
	r := &fixture{Store: restored, t: t, ctx: w.ctx}
	wantEqual(t, "contents", r.content(local.ID)+", "+r.content(stored.ID), "in the directory, in the storage")
}

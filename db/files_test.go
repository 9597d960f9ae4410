package db_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/e2e/need"
	"sluice/flow"
)

// save stores content as an upload, modified by change.
func (w *fixture) save(content string, change ...func(*flow.NewFile)) *flow.File {
	w.t.Helper()
	f, err := w.trySave(content, change...)
	w.must(err)
	return f
}

func (w *fixture) trySave(content string, change ...func(*flow.NewFile)) (*flow.File, error) {
	n := flow.NewFile{WorkspaceID: ws, Name: "note.txt", MIME: "text/plain"}
	for _, c := range change {
		c(&n)
	}
	return w.SaveFile(w.ctx, n, strings.NewReader(content))
}

func (w *fixture) content(id string) string {
	w.t.Helper()
	_, r, err := w.OpenFile(w.ctx, ws, id)
	w.must(err)
	defer r.Close()
	data, err := io.ReadAll(r)
	w.must(err)
	return string(data)
}

// wantContents checks the number of stored contents and that there are no drafts.
func (w *fixture) wantContents(want int) {
	w.t.Helper()
	kept, loose, err := w.Contents(w.ctx)
	w.must(err)
	wantEqual(w.t, "contents", kept, want)
	wantEqual(w.t, "left over", loose, 0)
}

func (w *fixture) wantGone(id string) {
	w.t.Helper()
	_, err := w.FindFile(w.ctx, ws, id)
	wantCode(w.t, err, flow.CodeNotFound)
}

func (w *fixture) removeErased() {
	w.t.Helper()
	_, err := w.RemoveErasedFiles(w.ctx, 100)
	w.must(err)
}

// random returns content without repetitions, so that a wrong offset is noticed.
func random(n int) string {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	return string(data)
}

func TestSaveFile(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		content := random(2<<20 + 1000)
		f := w.save(content, func(n *flow.NewFile) { n.Name, n.MIME, n.KeyID = "data.bin", "", "key_a" })
		got, err := w.FindFile(w.ctx, ws, f.ID)
		w.must(err)
		wantEqual(t, "file", *got, *f)
		wantEqual(t, "size", f.Size, int64(len(content)))
		wantEqual(t, "key", f.KeyID, "key_a")
		wantEqual(t, "content", w.content(f.ID) == content, true)
		wantEqual(t, "empty", w.content(w.save("").ID), "")
		w.wantContents(2)
	})
}

func TestOpenFile_seeks(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		content := random(2<<20 + 1000)
		_, r, err := w.OpenFile(w.ctx, ws, w.save(content).ID)
		w.must(err)
		for _, c := range []struct {
			offset int64
			whence int
			from   int
		}{
			{1<<20 - 3, io.SeekStart, 1<<20 - 3}, {-10, io.SeekEnd, len(content) - 10},
			{-1 << 20, io.SeekCurrent, len(content) - 1<<20}, {0, io.SeekStart, 0}, {5, io.SeekEnd, len(content)},
		} {
			_, err := r.Seek(c.offset, c.whence)
			w.must(err)
			data, err := io.ReadAll(r)
			w.must(err)
			if string(data) != content[c.from:] {
				t.Fatalf("after %d from %d: %d bytes that are not those", c.offset, c.whence, len(data))
			}
			_, err = r.Seek(int64(len(content)), io.SeekStart)
			w.must(err)
		}
		if _, err := r.Seek(-1, io.SeekStart); err == nil {
			t.Fatal("deliveryFilter to before the beginning")
		}
		w.must(r.Close())
		if _, err := r.Read(make([]byte, 1)); err == nil {
			t.Fatal("read what is closed")
		}
	})
}

func TestSaveFile_keeps_equal_content_once(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		a, b, other := w.save("same"), w.save("same"), w.save("other")
		wantEqual(t, "hash", a.Hash, b.Hash)
		w.wantContents(2)
		w.must(w.EraseFile(w.ctx, ws, a.ID))
		wantCode(t, w.EraseFile(w.ctx, ws, a.ID), flow.CodeNotFound)
		w.removeErased()
		wantEqual(t, "the other's content", w.content(b.ID), "same")
		w.must(w.EraseFile(w.ctx, ws, b.ID))
		w.removeErased()
		w.wantContents(1)
		w.must(w.EraseFile(w.ctx, ws, other.ID))
		w.removeErased()
		w.wantContents(0)
		n, err := w.RemoveErasedFiles(w.ctx, 100)
		w.must(err)
		wantEqual(t, "still to remove", n, 0)
		wantEqual(t, "saved again", w.content(w.save("same").ID), "same")
	})
}

func TestSaveFile_refuses_large_content(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.save(random(3 << 20))
		_, err := w.trySave(random(3<<20 + 1))
		wantCode(t, err, flow.CodeBodyTooLarge)
		if !strings.Contains(flow.AsError(err).Message, "3 MiB") {
			t.Fatalf("says nothing of the limit: %v", err)
		}
		own := func(n *flow.NewFile) { n.MaxSize = 1536 }
		w.save(random(1536), own)
		_, err = w.trySave(random(1537), own)
		wantCode(t, err, flow.CodeBodyTooLarge)
		_, err = w.trySave(random(4<<20), func(n *flow.NewFile) { n.MaxSize = 1 << 40 })
		wantCode(t, err, flow.CodeBodyTooLarge)
		w.wantContents(2)
	}, func(cfg *core.Config) { cfg.MaxFile = 3 << 20 })
}

func TestSaveFile_with_a_read_error(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		broken := io.MultiReader(strings.NewReader(random(1<<20+5)), iotestErr{errNo})
		_, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: ws}, broken)
		if !errors.Is(err, errNo) {
			t.Fatalf("got %v", err)
		}
		w.wantContents(0)
	})
}

type iotestErr struct{ err error }

func (r iotestErr) Read([]byte) (int, error) { return 0, r.err }

// counting measures the heap while it is read.
type counting struct {
	io.Reader
	peak uint64
	next int
}

func (c *counting) Read(p []byte) (int, error) {
	if c.next -= len(p); c.next <= 0 {
		c.next = 1 << 20
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		c.peak = max(c.peak, m.HeapAlloc)
	}
	return c.Reader.Read(p)
}

// A large file passes through a small part of the memory. Not in parallel,
// because all tests share the heap.
func TestSaveFile_of_64_MiB_uses_little_memory(t *testing.T) {
	need.Time(t)
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	const size, most = 64 << 20, 24 << 20
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, open(t), &clock{now: time.Now()})
			runtime.GC()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			in := &counting{Reader: io.LimitReader(rand.NewChaCha8([32]byte{7}), size)}
			f, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: ws}, in)
			w.must(err)
			_, r, err := w.OpenFile(w.ctx, ws, f.ID)
			w.must(err)
			defer r.Close()
			out, same := &counting{Reader: r}, &equalTo{r: rand.NewChaCha8([32]byte{7})}
			n, err := io.CopyBuffer(same, struct{ io.Reader }{out}, make([]byte, 64<<10))
			w.must(err)
			wantEqual(t, "bytes", n, size)
			for what, peak := range map[string]uint64{"writing": in.peak, "reading": out.peak} {
				if grown := int64(peak) - int64(before.HeapAlloc); grown > most {
					t.Errorf("%s took %s more memory", what, flow.Size(grown))
				}
			}
		})
	}
}

// equalTo is a writer that compares its input with the expected content.
type equalTo struct{ r io.Reader }

func (e *equalTo) Write(p []byte) (int, error) {
	want := make([]byte, len(p))
	if _, err := io.ReadFull(e.r, want); err != nil || !bytes.Equal(p, want) {
		return 0, fmt.Errorf("not the same content: %w", errors.Join(err, errNo))
	}
	return len(p), nil
}

func TestSaveFile_when_the_disk_is_full(t *testing.T) {
	t.Parallel()
	full := "/dev/full"
	_, err := os.Stat(full)
	need.Tool(t, "there is no /dev/full here", err == nil)
	w := newFixture(t, dbtest.SQLite(t), &clock{now: time.Now()})
	kept := w.save("kept")
	w.TempFiles(func(dir string) (*os.File, error) { // a link, since what is not kept is removed
		path := dir + "/upload-full"
		return open(path, os.Symlink(full, path))
	})
	_, err = w.trySave("more")
	wantCode(t, err, flow.CodeStorageFull)
	wantEqual(t, "reads go on", w.content(kept.ID), "kept")
}

func open(path string, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY, 0)
}

func TestSaveFile_when_the_database_is_full(t *testing.T) {
	t.Parallel()
	w := newFixture(t, dbtest.SQLite(t), &clock{now: time.Now()})
	if _, err := w.SQLite().Exec("PRAGMA max_page_count = 1"); err != nil {
		t.Fatal(err)
	}
	var err error
	for i := 0; err == nil && i < 1000; i++ { // until the pages there are do not do
		_, err = w.trySave(fmt.Sprint(i), func(n *flow.NewFile) { n.Name = strings.Repeat("n", 180) })
	}
	wantCode(t, err, flow.CodeStorageFull)
	w.must(w.again().SweepFiles(w.ctx, time.Now().Add(time.Hour)))
	list, _, err := w.Contents(w.ctx)
	w.must(err)
	var rows int
	w.must(w.SQLite().QueryRow("SELECT count(*) FROM files").Scan(&rows))
	wantEqual(t, "contents", list, rows)
}

func TestFiles_are_readable_by_the_owner_only(t *testing.T) {
	t.Parallel()
	w := newFixture(t, dbtest.SQLite(t), &clock{now: time.Now()})
	f := w.save("secret")
	dir := w.OpenedWith().DataDir + "/files"
	for path, want := range map[string]os.FileMode{
		dir: 0o700 | os.ModeDir, dir + "/" + f.Hash[:2]: 0o700 | os.ModeDir, dir + "/" + f.Hash[:2] + "/" + f.Hash[2:]: 0o600,
	} {
		info, err := os.Stat(path)
		w.must(err)
		wantEqual(t, path, info.Mode(), want)
	}
}

func TestOpenFile_without_content(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		f := w.save("lost")
		if !w.IsPostgres() {
			w.must(os.RemoveAll(w.OpenedWith().DataDir + "/files"))
		} else {
			w.must(w.Write(context.Background(), true, func(tx *core.Tx) error { return tx.Queries.DeleteBlob(context.Background(), f.Hash) }))
		}
		_, _, err := w.OpenFile(w.ctx, ws, f.ID)
		wantCode(t, err, flow.CodeNotFound)
	})
}

package db_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/blobs"
	"sluice/db/core"
	"sluice/db/dbtest/s3server"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/outbound/s3"
)

// useObjects returns a setting that stores files in a server, and the server.
func useObjects(t *testing.T, change ...func(*core.Config)) (*s3server.Server, func(*core.Config)) {
	t.Helper()
	server := s3server.Start(t)
	settings, err := s3.ParseSettings(server.URL("p"))
	if err != nil {
		t.Fatal(err)
	}
	client := s3.New(settings, s3.NewSources(s3.Credentials{KeyID: s3server.KeyID, Secret: s3server.Secret}, settings.Region))
	return server, func(c *core.Config) {
		c.Objects = client
		for _, f := range change {
			f(c)
		}
	}
}

// objectFixture is a store whose files are objects.
type objectFixture struct {
	*fixture
	server *s3server.Server
}

// withObjects runs the test on both databases, each with a storage of its own.
func withObjects(t *testing.T, test func(t *testing.T, w *objectFixture)) {
	t.Helper()
	t.Parallel()
	for name, open := range openers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{now: time.Now()}
			server, set := useObjects(t)
			s := open(t, func(cfg *core.Config) { cfg.Now = c.Now }, set)
			test(t, &objectFixture{newFixture(t, s, c), server})
		})
	}
}

// wantObjects checks the number of objects, and that nothing is stored elsewhere or under way.
func (w *objectFixture) wantObjects(want int) {
	w.t.Helper()
	wantEqual(w.t, "objects", len(w.server.Objects(w.t, "p/sha256")), want)
	var uploads, chunks, blobs int
	w.must(w.Reader.QueryRowContext(w.ctx, `SELECT (SELECT count(*) FROM uploads), (SELECT count(*) FROM blobs),
		(SELECT count(*) FROM chunks WHERE upload_id NOT IN (SELECT upload_id FROM blobs))`).Scan(&uploads, &blobs, &chunks))
	wantEqual(w.t, "uploads, blobs and loose chunks", [3]int{uploads, blobs, chunks}, [3]int{0, want, 0})
}

func TestObjects_store_equal_content_once(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		large := random(3<<20 + 1000)
		a, b, again, empty := w.save(large), w.save("small"), w.save(large), w.save("")
		wantEqual(t, "large", w.content(a.ID) == large, true)
		wantEqual(t, "small", w.content(b.ID), "small")
		wantEqual(t, "empty", w.content(empty.ID), "")
		w.wantObjects(3)
		_, r, err := w.OpenFile(w.ctx, ws, a.ID)
		w.must(err)
		for _, at := range []int64{2 << 20, 5, 3<<20 + 990, 1<<20 - 3} {
			got := make([]byte, 10)
			_, err := r.Seek(at, io.SeekStart)
			w.must(err)
			_, err = io.ReadFull(r, got)
			w.must(err)
			wantEqual(t, "a part", string(got), large[at:at+10])
		}
		w.must(r.Close())
		w.must(w.EraseFile(w.ctx, ws, a.ID))
		w.removeErased()
		wantEqual(t, "the other file", w.content(again.ID) == large, true)
		for _, f := range []*flow.File{b, again, empty} {
			w.must(w.EraseFile(w.ctx, ws, f.ID))
		}
		w.removeErased()
		w.wantObjects(0)
		c := w.save(large) // the same content again
		wantEqual(t, "after it was erased", w.content(c.ID) == large, true)
		w.wantObjects(1)
	})
}

// TestObjects_are_read_where_they_were_stored checks that files from before object storage was configured
// can still be read and erased, and that a process without it says what to do.
func TestObjects_are_read_where_they_were_stored(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		content := random(1<<20 + 7)
		before, erased := w.save(content), w.save("to be erased")
		server, set := useObjects(t)
		cfg := w.OpenedWith()
		set(&cfg)
		s, err := db.Open(w.ctx, cfg)
		w.must(err)
		defer s.Close()
		moved := &objectFixture{&fixture{Store: s, t: t, ctx: w.ctx, clock: w.clock}, server}
		wantEqual(t, "content", moved.content(before.ID) == content, true)
		w.must(moved.EraseFile(w.ctx, ws, erased.ID))
		moved.removeErased()
		after := moved.save("after")
		wantEqual(t, "objects", len(server.Objects(t, "p/sha256")), 1)
		_, _, err = w.OpenFile(w.ctx, ws, after.ID)
		wantCode(t, err, flow.CodeStorageUnavailable)
		again := moved.save(content) // replaces the chunks of PostgreSQL
		wantEqual(t, "content", moved.content(again.ID) == content && moved.content(before.ID) == content, true)
		for _, f := range []*flow.File{before, after, again} {
			w.must(moved.EraseFile(w.ctx, ws, f.ID))
		}
		moved.removeErased()
		moved.wantObjects(0)
	})
}

// TestObjects_with_the_storage_away checks that saving fails with an error that can be retried, that
// nothing is left, and that erasing does not wait for the storage.
func TestObjects_with_the_storage_away(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		kept := w.save("kept")
		w.server.Fail(func(*http.Request) s3server.Fault { return s3server.Fault{Status: 503} })
		_, err := w.trySave("new")
		wantCode(t, err, flow.CodeStorageUnavailable)
		if e := flow.AsError(err); !e.Retryable || e.After == 0 {
			t.Errorf("the error cannot be retried: %#v", e)
		}
		_, _, err = w.OpenFile(w.ctx, ws, kept.ID)
		wantCode(t, err, flow.CodeStorageUnavailable)
		w.must(w.EraseFile(w.ctx, ws, kept.ID))
		w.removeErased()
		w.wantGone(kept.ID)
		if err := w.SweepFiles(w.ctx, w.clock.Now().Add(-time.Hour)); err == nil {
			t.Error("the sweep does not report that the storage is away")
		}
		w.server.Fail(nil)
		w.must(w.SweepFiles(w.ctx, w.clock.Now().Add(-time.Hour)))
		w.wantObjects(0)
	})
}

// TestObjects_that_were_altered_are_not_served checks that no byte of a piece is returned whose content is
// not what was stored, and that a cut object is an error.
func TestObjects_that_were_altered_are_not_served(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		content := random(2<<20 + 100)
		f := w.save(content)
		path := w.server.Objects(t, "p/sha256")[0]
		altered := []byte(content)
		altered[1<<20+50] ^= 1
		w.must(os.WriteFile(path, altered, 0o644))
		_, r, err := w.OpenFile(w.ctx, ws, f.ID)
		w.must(err)
		defer r.Close()
		got, err := io.ReadAll(r)
		wantCode(t, err, flow.CodeNotFound)
		wantEqual(t, "what was returned", bytes.Equal(got, []byte(content[:1<<20])), true)
		w.must(os.Truncate(path, 1<<20+10))
		_, r, err = w.OpenFile(w.ctx, ws, f.ID)
		w.must(err)
		defer r.Close()
		if got, err := io.ReadAll(r); err == nil || len(got) > 1<<20 {
			t.Errorf("a cut object: %d bytes, %v", len(got), err)
		}
	})
}

// brokenReads cuts the first two answers of a storage, and alters the third one.
type brokenReads struct {
	core.Objects
	reads int
}

func (b *brokenReads) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	body, err := b.Objects.Get(ctx, key, offset, length)
	if b.reads++; err != nil || b.reads > 3 {
		return body, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	if b.reads < 3 {
		return io.NopCloser(bytes.NewReader(data[:10])), nil
	}
	data[0] ^= 1
	return io.NopCloser(bytes.NewReader(data)), nil
}

// TestObjects_that_are_altered_on_their_way_are_not_damaged checks that one altered answer after others that were cut is an error that can be
// retried, and not one that says that the content is lost.
func TestObjects_that_are_altered_on_their_way_are_not_damaged(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		f := w.save(strings.Repeat("x", 1000))
		cfg := w.OpenedWith()
		cfg.Objects = &brokenReads{Objects: cfg.Objects}
		s, err := db.Open(w.ctx, cfg)
		w.must(err)
		defer s.Close()
		_, _, err = s.OpenFile(w.ctx, ws, f.ID)
		wantCode(t, err, flow.CodeStorageUnavailable)
		again := &fixture{Store: s, t: t, ctx: w.ctx, clock: w.clock}
		wantEqual(t, "content", again.content(f.ID), strings.Repeat("x", 1000))
	})
}

// TestObjects_under_faults saves and reads files with every third request broken.
func TestObjects_under_faults(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		faults := []s3server.Fault{{Status: 503}, {Status: 500, Code: "InternalError"}, {CutUpload: true}, {LoseAnswer: true}, {CutAnswer: 100}, {Alter: true}}
		var mu sync.Mutex
		n := 0
		w.server.Fail(func(r *http.Request) s3server.Fault {
			mu.Lock()
			defer mu.Unlock()
			if n++; n%3 != 0 {
				return s3server.Fault{}
			}
			f := faults[n/3%len(faults)]
			f.CutUpload = f.CutUpload && r.Method == http.MethodPut
			return f
		})
		const callers, each = 4, 8
		var all sync.WaitGroup
		for caller := range callers {
			all.Go(func() {
				for i := range each {
					content := strings.Repeat("x", i*300_000) + string(rune('a'+caller))
					f, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: ws}, strings.NewReader(content))
					if err != nil {
						wantCode(t, err, flow.CodeStorageUnavailable)
						continue
					}
					_, r, err := w.OpenFile(w.ctx, ws, f.ID)
					if err == nil {
						var got []byte
						got, err = io.ReadAll(r)
						if err == nil && string(got) != content {
							t.Errorf("%d bytes of other content", len(got))
						}
						_ = r.Close()
					}
					if err != nil && !errors.Is(err, &flow.Error{Code: flow.CodeStorageUnavailable}) {
						t.Errorf("read: %v", err)
					}
					if i%2 == 0 {
						w.must(w.EraseFile(w.ctx, ws, f.ID))
					}
				}
			})
		}
		all.Wait()
		w.server.Fail(nil)
		w.removeErased()
		w.clock.move(2 * time.Hour)
		w.must(w.SweepFiles(w.ctx, w.clock.Now().Add(-time.Hour)))
		files, err := w.Reads.ListLiveHashes(w.ctx, gen.ListLiveHashesParams{MaxRows: 1000})
		w.must(err)
		w.wantObjects(len(files))
		for _, path := range w.server.Objects(t, "p/sha256") {
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v, %v", path, info, err)
			}
		}
	})
}

// TestSweepFiles_removes_unknown_objects checks that an object without a row is removed after a day.
func TestSweepFiles_removes_unknown_objects(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		kept := w.save("kept")
		key := "sha256/ab/" + strings.Repeat("c", 62) + "-late"
		const hash = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
		w.must(w.Config.Objects.Put(w.ctx, key, 3, hash, func() io.Reader { return strings.NewReader("foo") }))
		w.must(w.SweepFiles(w.ctx, w.clock.Now().Add(-time.Hour)))
		wantEqual(t, "a young one stays", len(w.server.Objects(t, "p/sha256")), 2)
		w.clock.move(49 * time.Hour)
		w.must(w.SweepFiles(w.ctx, w.clock.Now().Add(-time.Hour)))
		w.wantObjects(1)
		wantEqual(t, "content", w.content(kept.ID), "kept")
	})
}

// TestSweepFiles_leaves_the_objects_of_another_deployment checks that a second database with the same bucket and prefix, which
// knows none of the objects, removes nothing.
func TestSweepFiles_leaves_the_objects_of_another_deployment(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		kept := w.save("kept")
		before := func() time.Time { return w.clock.Now().Add(-time.Hour) }
		w.must(w.SweepFiles(w.ctx, before())) // the storage is its own now
		w.clock.move(49 * time.Hour)
		other := newFixture(t, openers["sqlite"](t, func(cfg *core.Config) { cfg.Now, cfg.Objects = w.clock.Now, w.Config.Objects }), w.clock)
		other.must(other.SweepFiles(other.ctx, before()))
		w.wantObjects(1)
		wantEqual(t, "content", w.content(kept.ID), "kept")
		if err := other.CheckObjects(other.ctx); !errors.Is(err, blobs.ErrForeign) {
			t.Errorf("the other database: %v", err)
		}
		w.must(w.CheckObjects(w.ctx))
	})
}

// TestObjects_that_are_erased_while_they_are_saved checks that removing content and saving it again at the
// same time lose nothing.
func TestObjects_that_are_erased_while_they_are_saved(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		ctx, cancel := context.WithCancel(w.ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				if _, err := w.RemoveErasedFiles(w.ctx, 100); err != nil {
					t.Errorf("remove: %v", err)
				}
			}
		}()
		for range 30 {
			f := w.save("the same")
			wantEqual(t, "content", w.content(f.ID), "the same")
			w.must(w.EraseFile(w.ctx, ws, f.ID))
		}
		cancel()
		<-done
		w.removeErased()
		w.wantObjects(0)
	})
}

// TestObjects_outlast_an_outage checks that a step of an accepted run waits for the storage.
func TestObjects_outlast_an_outage(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		refused := make(chan struct{}, 100)
		w.server.Fail(func(*http.Request) s3server.Fault {
			refused <- struct{}{}
			return s3server.Fault{Status: 403, Code: "AccessDenied"}
		})
		done := make(chan error)
		go func() {
			_, err := w.SaveFile(flow.OutlastOutages(w.ctx), flow.NewFile{WorkspaceID: ws}, strings.NewReader("content"))
			done <- err
		}()
		<-refused
		w.server.Fail(nil)
		w.must(<-done)
		w.wantObjects(1)
	})
}

func TestContentLink(t *testing.T) {
	withObjects(t, func(t *testing.T, w *objectFixture) {
		f := w.save("content")
		link, err := w.ContentLink(w.ctx, f, "text/plain", "attachment", time.Minute)
		w.must(err)
		wantEqual(t, "while links are off", link, "")
		w.Store.Files.DB.Config.ObjectsRedirect = true
		link, err = w.ContentLink(w.ctx, f, "text/plain", "attachment", time.Minute)
		w.must(err)
		resp, err := http.Get(link)
		w.must(err)
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		w.must(err)
		wantEqual(t, "content", string(got), "content")
	})
}

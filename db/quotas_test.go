package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// guest is a workspace to which the server's default quota applies.
const guest = "ws_guest"

// withGuest adds a workspace with one flow; the flow is the start of every run
// that inGuest changes.
func (w *world) withGuest() *flow.Flow {
	w.t.Helper()
	w.must(w.CreateWorkspace(w.ctx, flow.Workspace{ID: guest, Name: "Guest"}))
	return w.newFlow(guest)
}

func inGuest(f *flow.Flow) func(*flow.NewRun) {
	return func(n *flow.NewRun) { n.Run.WorkspaceID, n.Run.FlowID = guest, f.ID }
}

func (w *world) storage(ws string) *flow.WorkspaceStorage {
	w.t.Helper()
	s, err := w.FindStorage(w.ctx, ws)
	w.must(err)
	return s
}

// wantStorage compares the counters with a count of every row.
func (w *world) wantStorage() {
	w.t.Helper()
	counted := w.count()
	list, err := w.ListStorage(w.ctx, "", 100)
	w.must(err)
	for _, got := range list {
		wantEqual(w.t, "storage of "+got.ID, got.Used, counted[got.ID])
	}
}

func wantQuota(t *testing.T, err error, want flow.Quota) {
	t.Helper()
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code != flow.CodeQuotaExceeded || e.Quota == nil || *e.Quota != want {
		t.Fatalf("got %v (%+v), want the refusal of %+v", err, e, want)
	}
}

func quota(q flow.Storage) func(*core.Config) {
	return func(c *core.Config) { c.Quota = q }
}

func TestQuota_of_flows(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		first := w.withGuest()
		second := w.newFlow(guest)
		full := flow.Quota{Kind: flow.QuotaFlows, Limit: 2, Used: 2}
		create := func() error {
			return w.CreateFlow(w.ctx, &flow.Flow{WorkspaceID: guest, Name: "Third", Draft: []byte("{}")})
		}
		wantQuota(t, create(), full)
		w.must(w.ArchiveFlow(w.ctx, guest, first.ID))
		w.must(w.ArchiveFlow(w.ctx, guest, first.ID)) // counts once
		wantEqual(t, "flows", w.storage(guest).Used.Flows, 1)
		w.must(create())
		wantQuota(t, w.RestoreFlow(w.ctx, guest, first.ID), full)
		w.must(w.ArchiveFlow(w.ctx, guest, second.ID))
		w.must(w.RestoreFlow(w.ctx, guest, first.ID))
		w.must(w.RestoreFlow(w.ctx, guest, first.ID)) // is not new
		w.wantStorage()
	}, quota(flow.Storage{Flows: 2}))
}

func TestQuota_of_runs(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		in := inGuest(w.withGuest())
		kept := w.startAndFinish(in)
		w.start(in)
		_, err := w.tryStart(in)
		wantQuota(t, err, flow.Quota{Kind: flow.QuotaRuns, Limit: 2, Used: 2})
		if !strings.Contains(err.Error(), "keeps 2 of at most 2 runs. Delete runs") || !strings.Contains(err.Error(), "ask the operator") {
			t.Fatalf("the refusal says %q", err)
		}
		w.must(w.EraseRun(w.ctx, guest, kept.FlowID, kept.ID, flow.CodeResultNotSaved))
		w.must(w.EraseRun(w.ctx, guest, kept.FlowID, kept.ID, flow.CodeResultNotSaved)) // frees nothing more
		w.start(in)
		_, err = w.tryStart(in)
		wantCode(t, err, flow.CodeQuotaExceeded)
		w.wantStorage()
	}, quota(flow.Storage{Runs: 2}))
}

func TestQuota_repeated_start_is_answered(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		in := inGuest(w.withGuest())
		named := func(n *flow.NewRun) { n.IdempotencyKey, n.Fingerprint = "once", "print" }
		first := w.start(in, named)
		again, err := w.tryStart(in, named)
		w.must(err)
		wantEqual(t, "run", again.Run.ID, first.ID)
		_, err = w.tryStart(in, func(n *flow.NewRun) { n.IdempotencyKey, n.Fingerprint = "twice", "print" })
		wantCode(t, err, flow.CodeQuotaExceeded)
		found, err := w.FindStarted(w.ctx, guest, "twice", "print")
		w.must(err)
		if found != nil {
			t.Fatalf("the refused start left %+v", found)
		}
	}, quota(flow.Storage{Runs: 1}))
}

func TestQuota_of_bytes(t *testing.T) {
	const limit = 20_000
	setup(t, func(t *testing.T, w *world) {
		f := w.withGuest()
		in := inGuest(f)
		save := func(size int) (*flow.File, error) {
			return w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: guest, Name: "a"}, strings.NewReader(strings.Repeat("x", size)))
		}
		draft := func(size int) []byte { return []byte(`"` + strings.Repeat("x", size-2) + `"`) }
		file, err := save(15_000)
		w.must(err)
		used := w.storage(guest).Used.Bytes
		full := flow.Quota{Kind: flow.QuotaBytes, Limit: limit, Used: used}
		_, err = save(5_000)
		wantQuota(t, err, full)
		_, err = w.tryStart(in, func(n *flow.NewRun) { n.Run.Inputs = map[string]any{"text": string(draft(5_000))} })
		wantQuota(t, err, full)
		_, err = w.tryStart(in, func(n *flow.NewRun) { n.Document, n.Run.DocumentHash = draft(5_000), "new" })
		wantQuota(t, err, full)
		wantQuota(t, w.CreateFlow(w.ctx, &flow.Flow{WorkspaceID: guest, Name: "Large", Draft: draft(5_000)}), full)
		wantQuota(t, w.UpdateDraft(w.ctx, guest, f.ID, "Large", "", draft(5_000)), full)
		_, _, err = w.PublishFlow(w.ctx, guest, f.ID, draft(5_000), "", "me")
		wantQuota(t, err, full)
		wantQuota(t, w.SavePin(w.ctx, guest, f.ID, flow.Pin{Node: "a", Outputs: map[string]any{"text": string(draft(5_000))}}), full)
		edit := flow.NewEdit{WorkspaceID: guest, FlowID: f.ID, Base: 1, Name: "Large", Draft: draft(5_000), Tx: flow.EditTx{TxID: "tx_1", Tab: "tab"}}
		_, err = w.SaveEdit(w.ctx, edit)
		wantCode(t, err, flow.CodeQuotaExceeded)
		wantEqual(t, "used after refusals", w.storage(guest).Used.Bytes, used)

		// What becomes smaller is never refused.
		w.must(w.UpdateDraft(w.ctx, guest, f.ID, "Larger", "", draft(1_000)))
		w.must(w.SetQuota(w.ctx, guest, flow.Storage{Bytes: 1_000, Flows: flow.DefaultQuota, Runs: flow.DefaultQuota}))
		w.must(w.UpdateDraft(w.ctx, guest, f.ID, "Smaller", "", draft(10)))
		edit.Base, edit.Draft = 3, draft(5)
		saved, err := w.SaveEdit(w.ctx, edit)
		w.must(err)
		wantEqual(t, "edit saved", saved, true)
		w.must(w.SetQuota(w.ctx, guest, flow.Storage{Bytes: flow.DefaultQuota, Flows: flow.DefaultQuota, Runs: flow.DefaultQuota}))

		w.must(w.EraseFile(w.ctx, guest, file.ID))
		_, err = save(5_000)
		w.must(err)
		w.wantStorage()
	}, quota(flow.Storage{Bytes: limit}))
}

// TestQuota_counts_shared_content_in_full saves the same content twice.
func TestQuota_counts_shared_content_in_full(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		before := w.storage(ws).Used.Bytes
		w.save("the same")
		w.save("the same")
		wantEqual(t, "bytes", w.storage(ws).Used.Bytes-before, 2*(8+flow.StorageItem))
	})
}

// endless is content without an end that counts what is read of it.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

func TestQuota_stops_uploads_early(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		w.withGuest()
		content := &endless{}
		_, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: guest, Name: "a"}, content)
		wantCode(t, err, flow.CodeQuotaExceeded)
		if content.read > 4<<20 {
			t.Fatalf("%d bytes were read of an upload that may have 1 MiB", content.read)
		}
	}, quota(flow.Storage{Bytes: 1 << 20}))
}

// TestQuota_leaves_no_content_of_refused_uploads fills the quota while another
// upload, which fitted when it began, is being read.
func TestQuota_leaves_no_content_of_refused_uploads(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		w.withGuest()
		save := func(content io.Reader) error {
			_, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: guest, Name: "a"}, content)
			return err
		}
		begun, goOn, late := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			late <- save(io.MultiReader(strings.NewReader(strings.Repeat("l", 6_000)), waiting{begun, goOn}))
		}()
		<-begun
		w.must(save(strings.NewReader(strings.Repeat("f", 6_000))))
		close(goOn)
		wantCode(t, <-late, flow.CodeQuotaExceeded)
		w.wantContents(1)
	}, quota(flow.Storage{Bytes: 10_000}))
}

// TestQuota_lets_accepted_runs_end writes more than the quota for a run that
// was accepted.
func TestQuota_lets_accepted_runs_end(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		in := inGuest(w.withGuest())
		r := w.take(w.start(in).ID)
		_, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: guest, RunID: r.ID, Name: "made"}, strings.NewReader(strings.Repeat("x", 9_000)))
		w.must(err)
		long := step("a")
		long.Outputs = map[string]any{"text": strings.Repeat("x", 9_000)}
		w.must(w.finish(r, flow.RunSucceeded, long))
		if used := w.storage(guest).Used.Bytes; used < 18_000 {
			t.Fatalf("%d bytes are counted", used)
		}
		_, err = w.tryStart(in)
		wantCode(t, err, flow.CodeQuotaExceeded)
		w.must(w.EraseRun(w.ctx, guest, r.FlowID, r.ID, flow.CodeResultNotSaved))
		w.start(in)
		w.wantStorage()
	}, quota(flow.Storage{Bytes: 10_000}))
}

func TestQuota_defaults_and_overrides(t *testing.T) {
	standard := flow.Storage{Bytes: 1 << 30, Flows: 100, Runs: 10_000}
	setup(t, func(t *testing.T, w *world) {
		w.withGuest()
		wantEqual(t, "the operator's own workspace", w.storage(ws).Limit, flow.Storage{})
		wantEqual(t, "another workspace", w.storage(guest).Limit, standard)
		w.must(w.SetQuota(w.ctx, guest, flow.Storage{Bytes: 5, Flows: 0, Runs: flow.DefaultQuota}))
		wantEqual(t, "overridden", w.storage(guest).Limit, flow.Storage{Bytes: 5, Flows: 0, Runs: standard.Runs})
		w.must(w.SetQuota(w.ctx, ws, flow.Storage{Bytes: flow.DefaultQuota, Flows: 7, Runs: flow.DefaultQuota}))
		wantEqual(t, "the operator's own, overridden", w.storage(ws).Limit, flow.Storage{Flows: 7})
		list, err := w.ListStorage(w.ctx, "", 10)
		w.must(err)
		wantEqual(t, "workspaces", len(list), 2)
		wantEqual(t, "first", list[0].Limit.Flows, 7)
		wantCode(t, w.SetQuota(w.ctx, "ws_none", flow.Storage{}), flow.CodeNotFound)
	}, quota(standard))
}

// TestQuota_is_exact_under_concurrency makes 64 callers compete for a third of
// what they want.
func TestQuota_is_exact_under_concurrency(t *testing.T) {
	const callers, most = 64, 21
	setup(t, func(t *testing.T, w *world) {
		f := w.withGuest()
		compete := func(name string, call func(i int) error) {
			t.Helper()
			var done atomic.Int64
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					switch err := call(i); {
					case err == nil:
						done.Add(1)
					case !errors.Is(err, &flow.Error{Code: flow.CodeQuotaExceeded}):
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			wg.Wait()
			wantEqual(t, name, done.Load(), most)
		}
		limit := func(s flow.Storage) { t.Helper(); w.must(w.SetQuota(w.ctx, guest, s)) }

		limit(flow.Storage{Runs: most})
		compete("runs", func(int) error { _, err := w.tryStart(inGuest(f)); return err })
		limit(flow.Storage{Flows: most + 1})
		compete("flows", func(i int) error {
			return w.CreateFlow(w.ctx, &flow.Flow{WorkspaceID: guest, Name: fmt.Sprint(i), Draft: []byte("{}")})
		})
		const size = 1_000
		limit(flow.Storage{Bytes: w.storage(guest).Used.Bytes + most*(size+flow.StorageItem) + size})
		compete("files", func(i int) error {
			_, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: guest, Name: "a"}, strings.NewReader(fmt.Sprintf("%01000d", i%4)))
			return err
		})
		w.wantStorage()
	})
}

// TestStorage_equals_a_count carries out random operations side by side, with
// and without a quota, and compares the counters with what is there.
func TestStorage_equals_a_count(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		w.withGuest()
		w.must(w.SetQuota(w.ctx, guest, flow.Storage{Bytes: 60_000, Flows: 5, Runs: 12}))
		var wg sync.WaitGroup
		for seed := range 8 {
			wg.Go(func() {
				o := &operations{world: w, Rand: rand.New(rand.NewPCG(uint64(seed), 4)), ws: []string{ws, guest}[seed%2]}
				for range 40 {
					if err := o.next(); err != nil && flow.AsError(err).Code == flow.CodeInternal {
						t.Errorf("seed %d: %v", seed, err)
						return
					}
				}
			})
		}
		wg.Wait()
		w.wantStorage()

		w.clock.move(500 * 24 * time.Hour)
		for n := 1; n > 0; {
			runs, err := w.ExpireRuns(w.ctx, w.clock.Now(), 100)
			w.must(err)
			files, err := w.ExpireFiles(w.ctx, w.clock.Now(), 100)
			w.must(err)
			stale, err := w.DropStale(w.ctx, w.clock.Now(), 100)
			w.must(err)
			n = runs + files + stale
		}
		w.wantStorage()
	})
}

// count counts every row, the way the migration does.
func (w *world) count() map[string]flow.Storage {
	w.t.Helper()
	text, err := os.ReadFile("migrations/00008_quotas.sql")
	w.must(err)
	_, query, found := strings.Cut(string(text), "INSERT INTO storage (workspace_id, shard, bytes, flows, runs)\n")
	if !found {
		w.t.Fatal("the migration counts nothing")
	}
	counted := map[string]flow.Storage{}
	w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
		rows, err := tx.DBTX.QueryContext(w.ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var ws string
			var shard int64
			var s flow.Storage
			if err := rows.Scan(&ws, &shard, &s.Bytes, &s.Flows, &s.Runs); err != nil {
				return err
			}
			counted[ws] = s
		}
		return rows.Err()
	}))
	return counted
}

// operations are random operations of one caller.
type operations struct {
	*world
	*rand.Rand
	ws    string
	flows []string
	files []string
	runs  []*flow.Run // open
	ended []*flow.Run
	txID  int
}

func pick[T any](r *rand.Rand, list []T) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[r.IntN(len(list))], true
}

func (o *operations) text() string { return strings.Repeat("é", o.IntN(800)) }

func (o *operations) next() error {
	f, _ := pick(o.Rand, o.flows)
	if f == "" {
		return o.create()
	}
	switch o.IntN(14) {
	case 0:
		return o.create()
	case 1:
		return o.UpdateDraft(o.ctx, o.ws, f, "Changed", "", fmt.Appendf(nil, "%q", o.text()))
	case 2:
		return o.editDraft(f)
	case 3:
		if o.IntN(2) == 0 {
			return o.RemovePin(o.ctx, o.ws, f, "a")
		}
		return o.SavePin(o.ctx, o.ws, f, flow.Pin{Node: "a", Outputs: map[string]any{"text": o.text()}})
	case 4:
		_, _, err := o.PublishFlow(o.ctx, o.ws, f, fmt.Appendf(nil, "%q", o.text()), "", "me")
		return err
	case 5:
		if o.IntN(3) > 0 {
			return o.RestoreFlow(o.ctx, o.ws, f)
		}
		return o.ArchiveFlow(o.ctx, o.ws, f)
	case 6, 7:
		return o.upload()
	case 8:
		if id, ok := pick(o.Rand, o.files); ok {
			return o.EraseFile(o.ctx, o.ws, id)
		}
	case 9, 10:
		return o.startRun(f)
	case 11, 12:
		return o.progress()
	case 13:
		if r, ok := pick(o.Rand, o.ended); ok {
			return o.EraseRun(o.ctx, o.ws, r.FlowID, r.ID, flow.CodeResultNotSaved)
		}
		_, err := o.AddTest(o.ctx, o.ws, f, &flow.NewDelivery{URL: "http://a.test", Body: []byte(o.text())})
		return err
	}
	return nil
}

func (o *operations) create() error {
	f := &flow.Flow{WorkspaceID: o.ws, Name: "Random", Draft: fmt.Appendf(nil, "%q", o.text())}
	err := o.CreateFlow(o.ctx, f)
	if err == nil {
		o.flows = append(o.flows, f.ID)
	}
	return err
}

func (o *operations) editDraft(id string) error {
	f, err := o.FindFlow(o.ctx, o.ws, id)
	if err != nil {
		return err
	}
	o.txID++
	_, err = o.SaveEdit(o.ctx, flow.NewEdit{
		WorkspaceID: o.ws, FlowID: id, Base: f.Rev, Name: "Edited", Draft: fmt.Appendf(nil, "%q", o.text()),
		Tx: flow.EditTx{TxID: fmt.Sprint("tx_", o.txID), Tab: "tab"},
	})
	return err
}

func (o *operations) upload() error {
	n := flow.NewFile{WorkspaceID: o.ws, Name: "a"}
	if r, ok := pick(o.Rand, o.runs); ok && o.IntN(2) == 0 {
		n.RunID = r.ID
	}
	f, err := o.SaveFile(o.ctx, n, io.LimitReader(&endless{}, int64(o.IntN(3000))))
	if err == nil {
		o.files = append(o.files, f.ID)
	}
	return err
}

func (o *operations) startRun(flowID string) error {
	n := flow.NewRun{Run: flow.Run{
		WorkspaceID: o.ws, FlowID: flowID, DocumentHash: fmt.Sprint(o.IntN(5)), Trigger: flow.TriggerAPI,
		Inputs: map[string]any{"text": o.text()}, Metadata: map[string]any{"n": o.text()}, Save: o.IntN(2) == 0, Timeout: time.Hour,
	}}
	n.Document = fmt.Appendf(nil, "%080s", n.Run.DocumentHash)
	if o.IntN(2) == 0 {
		n.Steps, n.Run.Progress = []flow.Step{step("pinned")}, flow.Progress{Done: 1, Total: 3}
	}
	if o.IntN(2) == 0 {
		n.Webhook = &flow.NewDelivery{URL: "http://a.test"}
	}
	s, err := o.StartRun(o.ctx, n)
	if err != nil {
		return err
	}
	job, ok := o.queue.last(s.Run.ID)
	if !ok {
		return nil // it waits in the queue
	}
	r, _, err := o.LoadRun(o.ctx, s.Run.ID, job.Attempt)
	if err == nil {
		r.State, r.StartedAt = flow.RunRunning, o.clock.Now()
		o.runs = append(o.runs, r)
	}
	return err
}

// progress writes steps of an open run, as one that was loaded or as one whose
// sizes nobody has looked at.
func (o *operations) progress() error {
	if len(o.runs) == 0 {
		return nil
	}
	i := o.IntN(len(o.runs))
	r := o.runs[i]
	w := flow.RunWrite{Run: r}
	for _, path := range []string{"a", "b", "pinned"}[:o.IntN(4)] {
		s := step(path)
		s.Outputs = map[string]any{"text": o.text()}
		w.Steps = append(w.Steps, s)
	}
	if o.IntN(3) == 0 {
		r.Sizes = nil
	}
	if o.IntN(2) == 0 {
		w.End, r.State, r.Outputs = true, flow.RunFailed, map[string]any{"answer": o.text()}
		r.Error = flow.Errorf(flow.CodeHTTPFailed, "%s", o.text())
		w.Deliveries = []flow.NewDelivery{{Node: "hook", URL: "http://b.test", Body: []byte(o.text())}}
	}
	err := o.WriteRun(context.WithoutCancel(o.ctx), w)
	if err == nil && w.End {
		o.runs, o.ended = append(o.runs[:i], o.runs[i+1:]...), append(o.ended, r)
	}
	return err
}

// TestBackup_frees_the_storage_of_files_that_are_gone erases one of two files
// with the same content and another file between the snapshot and the packing.
func TestBackup_frees_the_storage_of_files_that_are_gone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t), &clock{now: time.Now()})
	w.save("kept")
	gone := w.save("gone")
	again := w.save("gone")
	path := filepath.Join(t.TempDir(), "snapshot.db")
	_, err := w.SQLite().Exec("VACUUM INTO ?", path)
	w.must(err)
	snapshot, err := sql.Open("sqlite3", path)
	w.must(err)
	defer snapshot.Close()
	w.must(w.EraseFile(w.ctx, ws, gone.ID))
	w.must(w.EraseFile(w.ctx, ws, again.ID))
	w.must(w.Forget(w.ctx, snapshot, gone.Hash))
	var bytes int64
	w.must(snapshot.QueryRow("SELECT sum(bytes) FROM storage WHERE workspace_id = ?", ws).Scan(&bytes))
	wantEqual(t, "bytes", bytes, w.storage(ws).Used.Bytes)
}

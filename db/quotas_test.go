package db_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/db/core"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/value"
)

// guest is a workspace to which the server's default quota applies.
const guest = "ws_guest"

// withGuest adds a workspace with one flow; the flow is the start of every run
// that inGuest changes.
func (w *fixture) withGuest() *flow.Flow {
	w.t.Helper()
	w.must(w.CreateWorkspace(w.ctx, flow.Workspace{ID: guest, Name: "Guest"}))
	return w.newFlow(guest)
}

func inGuest(f *flow.Flow) func(*flow.NewRun) {
	return func(n *flow.NewRun) { n.Run.WorkspaceID, n.Run.FlowID = guest, f.ID }
}

func (w *fixture) storage(ws flow.WorkspaceID) *flow.WorkspaceStorage {
	w.t.Helper()
	s, err := w.FindStorage(w.ctx, ws)
	w.must(err)
	return s
}

// wantStorage compares the counters with a count of every row.
func (w *fixture) wantStorage() {
	w.t.Helper()
	counted := w.count()
	list, err := w.ListStorage(w.ctx, "", 100)
	w.must(err)
	for _, got := range list {
		wantEqual(w.t, "storage of "+got.ID, got.Used, counted[flow.WorkspaceID(got.ID)])
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
	setup(t, func(t *testing.T, w *fixture) {
		first := w.withGuest()
		second := w.newFlow(guest)
		full := flow.Quota{Unit: flow.QuotaFlows, Limit: 2, Used: 2}
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
	setup(t, func(t *testing.T, w *fixture) {
		in := inGuest(w.withGuest())
		kept := w.startAndFinish(in)
		w.start(in)
		_, err := w.tryStart(in)
		wantQuota(t, err, flow.Quota{Unit: flow.QuotaRuns, Limit: 2, Used: 2})
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

func TestQuota_does_not_affect_a_repeated_start(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
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
	setup(t, func(t *testing.T, w *fixture) {
		f := w.withGuest()
		in := inGuest(f)
		save := func(size int) (*flow.File, error) {
			return w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: guest, Name: "a"}, strings.NewReader(strings.Repeat("x", size)))
		}
		draft := func(size int) []byte { return []byte(`"` + strings.Repeat("x", size-2) + `"`) }
		file, err := save(15_000)
		w.must(err)
		used := w.storage(guest).Used.Bytes
		full := flow.Quota{Unit: flow.QuotaBytes, Limit: limit, Used: used}
		_, err = save(5_000)
		wantQuota(t, err, full)
		_, err = w.tryStart(in, func(n *flow.NewRun) { n.Run.Inputs = value.FromMap(map[string]any{"text": string(draft(5_000))}) })
		wantQuota(t, err, full)
		_, err = w.tryStart(in, func(n *flow.NewRun) { n.Document, n.Run.DocumentHash = draft(5_000), "new" })
		wantQuota(t, err, full)
		wantQuota(t, w.CreateFlow(w.ctx, &flow.Flow{WorkspaceID: guest, Name: "Large", Draft: draft(5_000)}), full)
		wantQuota(t, w.UpdateDraft(w.ctx, guest, f.ID, "Large", "", draft(5_000)), full)
		_, _, err = w.PublishFlow(w.ctx, guest, f.ID, draft(5_000), "", "me")
		wantQuota(t, err, full)
		wantQuota(t, w.SavePin(w.ctx, guest, f.ID, flow.Pin{Node: "a", Outputs: map[string]any{"text": string(draft(5_000))}}), full)
		edit := document.NewEdit{WorkspaceID: guest, FlowID: f.ID, Base: 1, Name: "Large", Draft: draft(5_000), Tx: document.EditTx{TxID: "tx_1", Tab: "tab"}}
		_, err = w.SaveEdit(w.ctx, edit)
		wantCode(t, err, flow.CodeQuotaExceeded)
		wantEqual(t, "used after refusals", w.storage(guest).Used.Bytes, used)

		// Changes that reduce the size are never refused.
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
	setup(t, func(t *testing.T, w *fixture) {
		before := w.storage(ws).Used.Bytes
		w.save("the same")
		w.save("the same")
		wantEqual(t, "bytes", w.storage(ws).Used.Bytes-before, 2*(8+flow.StorageItem))
	})
}

// endless is content without an end. It counts the bytes that were read.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

func TestQuota_stops_uploads_early(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
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
	setup(t, func(t *testing.T, w *fixture) {
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

// TestQuota_does_not_affect_accepted_runs writes more than the quota for a run that
// was accepted.
func TestQuota_does_not_affect_accepted_runs(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		in := inGuest(w.withGuest())
		r := w.take(w.start(in).ID)
		_, err := w.SaveFile(w.ctx, flow.NewFile{WorkspaceID: guest, RunID: r.ID, Name: "made"}, strings.NewReader(strings.Repeat("x", 9_000)))
		w.must(err)
		fetched := flow.NewFile{ID: flow.FetchedFileID(string(r.ID)+":n", "0"), WorkspaceID: guest, RunID: r.ID, Name: "fetched", Refusable: true}
		if _, err := w.SaveFile(w.ctx, fetched, strings.NewReader(strings.Repeat("x", 9_000))); !errors.Is(err, &flow.Error{Code: flow.CodeQuotaExceeded}) {
			t.Errorf("a file that is given by URL: %v", err)
		}
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
	setup(t, func(t *testing.T, w *fixture) {
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

// TestQuota_is_exact_under_concurrency lets 64 callers compete for a quota that allows a
// third of them.
func TestQuota_is_exact_under_concurrency(t *testing.T) {
	const callers, most = 64, 21
	setup(t, func(t *testing.T, w *fixture) {
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

package db_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/value"
)

// TestStorage_equals_a_count runs random operations concurrently, with and without a
// quota, and compares the counters with the stored rows.
func TestStorage_equals_a_count(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.withGuest()
		w.must(w.SetQuota(w.ctx, guest, flow.Storage{Bytes: 60_000, Flows: 5, Runs: 12}))
		var wg sync.WaitGroup
		for seed := range 8 {
			wg.Go(func() {
				o := &operations{fixture: w, Rand: rand.New(rand.NewPCG(uint64(seed), 4)), ws: flow.WorkspaceID([]string{ws, guest}[seed%2])}
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

// count counts every row as the migration does.
func (w *fixture) count() map[flow.WorkspaceID]flow.Storage {
	w.t.Helper()
	text, err := os.ReadFile("migrations/00008_quotas.sql")
	w.must(err)
	_, query, found := strings.Cut(string(text), "INSERT INTO storage (workspace_id, shard, bytes, flows, runs)\n")
	if !found {
		w.t.Fatal("the migration counts nothing")
	}
	counted := map[flow.WorkspaceID]flow.Storage{}
	w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
		rows, err := tx.DBTX.QueryContext(w.ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var ws flow.WorkspaceID
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
	*fixture
	*rand.Rand
	ws    flow.WorkspaceID
	flows []flow.FlowID
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

func (o *operations) editDraft(id flow.FlowID) error {
	f, err := o.FindFlow(o.ctx, o.ws, id)
	if err != nil {
		return err
	}
	o.txID++
	_, err = o.SaveEdit(o.ctx, document.NewEdit{
		WorkspaceID: o.ws, FlowID: id, Base: f.Rev, Name: "Edited", Draft: fmt.Appendf(nil, "%q", o.text()),
		Tx: document.EditTx{TxID: fmt.Sprint("tx_", o.txID), Tab: "tab"},
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

func (o *operations) startRun(flowID flow.FlowID) error {
	n := flow.NewRun{Prices: true, Run: flow.Run{
		WorkspaceID: o.ws, FlowID: flowID, DocumentHash: fmt.Sprint(o.IntN(5)), Trigger: flow.TriggerAPI,
		Inputs: value.FromMap(map[string]any{"text": o.text()}), Metadata: value.FromMap(map[string]any{"n": o.text()}), Save: o.IntN(2) == 0, Timeout: time.Hour,
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
	job, ok := o.queue.last(string(s.Run.ID))
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

// progress writes steps of an open run, either one that was loaded or one without known
// sizes.
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
		w.End, r.State, r.Outputs = true, flow.RunFailed, value.FromMap(map[string]any{"answer": o.text()})
		r.Error = flow.Errorf(flow.CodeHTTPFailed, "%s", o.text())
		w.Deliveries = []flow.NewDelivery{{Node: "hook", URL: "http://b.test", Body: []byte(o.text())}}
	}
	err := o.WriteRun(context.WithoutCancel(o.ctx), w)
	if err == nil && w.End {
		o.runs, o.ended = append(o.runs[:i], o.runs[i+1:]...), append(o.ended, r)
	}
	return err
}

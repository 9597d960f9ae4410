package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/db/core"
	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/document"
)

// edit stores a transaction that sets the label of a node.
func (w *fixture) edit(base int64, txID string, change ...func(*document.NewEdit)) bool {
	w.t.Helper()
	saved, err := w.tryEdit(base, txID, change...)
	w.must(err)
	return saved
}

func (w *fixture) tryEdit(base int64, txID string, change ...func(*document.NewEdit)) (bool, error) {
	e := document.NewEdit{
		WorkspaceID: ws, FlowID: w.flow.ID, Base: base, Name: "Answer", Description: "it", Draft: fmt.Appendf(nil, `{"name":%q}`, txID),
		Tx: document.EditTx{
			TxID: txID, Tab: "tab", UserID: "user_1", Ops: labeled("new\x00"), Inverse: labeled("old"),
			Skipped: []document.Skipped{{Op: 1, Code: document.SkippedNodeGone, Node: "b", Detail: "gone"}},
		},
	}
	for _, f := range change {
		f(&e)
	}
	return w.SaveEdit(w.ctx, e)
}

func labeled(text string) []document.Edit {
	return []document.Edit{{Op: document.OpSet, Node: "a", Field: "text", Value: text}}
}

func (w *fixture) revs(after int64, limit int) string {
	w.t.Helper()
	list, err := w.ListEdits(w.ctx, ws, w.flow.ID, after, limit)
	w.must(err)
	var revs []string
	for _, tx := range list {
		revs = append(revs, fmt.Sprint(tx.Rev))
	}
	return strings.Join(revs, " ")
}

func TestSaveEdit(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.clock.move(time.Minute)
		wantEqual(t, "saved", w.edit(1, "t1"), true)
		f, err := w.FindFlow(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "draft", string(f.Draft), `{"name":"t1"}`)
		wantEqual(t, "description", f.Description, "it")
		wantEqual(t, "rev", f.Rev, 2)
		wantEqual(t, "updated", f.UpdatedAt, w.clock.Now())

		tx, err := w.FindEdit(w.ctx, ws, w.flow.ID, "t1")
		w.must(err)
		wantEqual(t, "rev", tx.Rev, 2)
		wantEqual(t, "who", tx.UserID+tx.Tab, "user_1tab")
		wantEqual(t, "when", tx.CreatedAt, w.clock.Now())
		wantEqual(t, "ops", tx.Ops[0].Value, any("new\x00"))
		wantEqual(t, "inverse", tx.Inverse[0].Value, any("old"))
		wantEqual(t, "skipped", tx.Skipped[0].Detail, "gone")

		wantEqual(t, "too late", w.edit(1, "t2"), false)
		wantEqual(t, "another workspace", w.edit(2, "t2", func(e *document.NewEdit) { e.WorkspaceID = "ws_other" }), false)
		_, err = w.FindEdit(w.ctx, ws, w.flow.ID, "t2")
		wantCode(t, err, flow.CodeNotFound)
		_, err = w.FindEdit(w.ctx, "ws_other", w.flow.ID, "t1")
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestListEdits(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		for i := range int64(4) {
			w.edit(i+1, fmt.Sprint("t", i))
		}
		wantEqual(t, "all", w.revs(1, 9), "2 3 4 5")
		wantEqual(t, "a page", w.revs(2, 2), "3 4")
		list, err := w.ListEdits(w.ctx, "ws_other", w.flow.ID, 0, 9)
		w.must(err)
		wantEqual(t, "of another workspace", len(list), 0)
		list, err = w.ListEdits(w.ctx, ws, w.flow.ID, 4, 9)
		w.must(err)
		wantEqual(t, "ops", list[0].Ops[0].Field, "text")
		w.must(w.ArchiveFlow(w.ctx, ws, w.flow.ID))
		wantEqual(t, "of an archived flow", w.revs(0, 9), "")
	})
}

func TestSaveEdit_limits_the_log(t *testing.T) {
	need.Time(t)
	setup(t, func(t *testing.T, w *fixture) {
		w.edit(1, "t1")
		w.edit(2, "t2")
		w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
			_, err := tx.DBTX.ExecContext(w.ctx, "UPDATE flows SET rev = $1", document.MaxLoggedEdits+2)
			return err
		}))
		w.edit(document.MaxLoggedEdits+2, "t3") // revision 2003: the newest 2000 begin at 4
		wantEqual(t, "by number", w.revs(0, 9), fmt.Sprint(document.MaxLoggedEdits+3))
		w.clock.move(20 * 24 * time.Hour)
		w.edit(document.MaxLoggedEdits+3, "t4")
		w.clock.move(10 * 24 * time.Hour)
		n, err := w.DropStale(w.ctx, w.clock.Now(), 10)
		w.must(err)
		wantEqual(t, "dropped", n, 1)
		wantEqual(t, "by age", w.revs(0, 9), fmt.Sprint(document.MaxLoggedEdits+4))
		large := func(e *document.NewEdit) { e.Tx.Inverse = labeled(strings.Repeat("x", document.MaxLoggedBytes/3)) }
		for i := range int64(4) {
			w.edit(document.MaxLoggedEdits+4+i, fmt.Sprint("large", i), large)
		}
		wantEqual(t, "by size", w.revs(0, 9), fmt.Sprint(document.MaxLoggedEdits+7, " ", document.MaxLoggedEdits+8))
	})
}

func (w *fixture) editLatest(txID string) (bool, error) {
	f, err := w.FindFlow(w.ctx, ws, w.flow.ID)
	if err != nil {
		return false, err
	}
	return w.tryEdit(f.Rev, txID)
}

// With concurrent edits, each revision belongs to exactly one edit.
func TestSaveEdit_concurrent(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		const editors, each = 8, 10
		var wg sync.WaitGroup
		for i := range editors {
			wg.Go(func() {
				for n := 0; n < each; {
					saved, err := w.editLatest(fmt.Sprintf("t%d_%d", i, n))
					if err != nil {
						t.Error(err)
						return
					}
					if saved {
						n++
					}
				}
			})
		}
		wg.Wait()
		list, err := w.ListEdits(w.ctx, ws, w.flow.ID, 1, 1000)
		w.must(err)
		wantEqual(t, "transactions", len(list), editors*each)
		for i, tx := range list {
			wantEqual(t, "rev", tx.Rev, int64(i+2))
		}
	})
}

func TestFlowEdited(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		heard := make(chan string, 100)
		w.FlowEdited = func(ws flow.WorkspaceID, flowID flow.FlowID, rev int64) {
			heard <- fmt.Sprint(ws, " ", flowID, " ", rev)
		}
		want := func(what string, rev int64) {
			t.Helper()
			wantEqual(t, what, <-heard, fmt.Sprint(ws, " ", w.flow.ID, " ", rev))
		}
		w.edit(1, "t1")
		want("an edit", 2)
		w.edit(1, "t2")
		wantCode(t, w.ReplaceDraft(w.ctx, ws, w.flow.ID, 99, "New", "", []byte(`{}`)), document.CodeEditsMissed)
		w.must(w.UpdateDraft(w.ctx, ws, w.flow.ID, "New", "", []byte(`{}`)))
		want("a replaced draft, and not who came too late", 3)
		if !w.IsPostgres() {
			return // nobody else writes
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- w.Listen(ctx, func(flow.RunID) {}) }()
		wantEqual(t, "begins to listen", <-heard, "  0")
		w.edit(3, "t3")
		want("here", 4)
		want("from the database", 4)
		stop()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}

func TestPins(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		pin := func(node string, outputs map[string]any) error {
			return w.SavePin(w.ctx, ws, w.flow.ID, flow.Pin{Node: node, Outputs: outputs})
		}
		w.must(pin("b", map[string]any{"text": "first"}))
		w.must(pin("a", map[string]any{"n": 1.5}))
		w.clock.move(time.Minute)
		w.must(pin("b", map[string]any{"text": "second"}))
		list, err := w.ListPins(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "pins", len(list), 2)
		wantEqual(t, "by node", list[0].Node, "a")
		wantEqual(t, "replaced", list[1].Outputs["text"], any("second"))
		wantEqual(t, "when", list[1].CreatedAt, w.clock.Now())

		wantCode(t, w.SavePin(w.ctx, "ws_other", w.flow.ID, flow.Pin{Node: "a", Outputs: map[string]any{}}), flow.CodeNotFound)
		wantCode(t, pin("A B", map[string]any{}), flow.CodeNotFound)
		wantCode(t, pin("a", map[string]any{"text": strings.Repeat("x", flow.MaxPinBytes)}), flow.CodeBodyTooLarge)
		wantCode(t, w.RemovePin(w.ctx, "ws_other", w.flow.ID, "a"), flow.CodeNotFound)
		w.must(w.RemovePin(w.ctx, ws, w.flow.ID, "a"))
		wantCode(t, w.RemovePin(w.ctx, ws, w.flow.ID, "a"), flow.CodeNotFound)
		w.must(w.ArchiveFlow(w.ctx, ws, w.flow.ID))
		list, err = w.ListPins(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "of an archived flow", len(list), 0)
	})
}

func TestFiles_of_edits_and_pins_are_kept(t *testing.T) {
	t.Parallel()
	for name, refer := range map[string]func(w *fixture, id string) error{
		"edit": func(w *fixture, id string) error {
			_, err := w.tryEdit(1, "t1", func(e *document.NewEdit) { e.Draft = documentOf(id) })
			return err
		},
		"pin": func(w *fixture, id string) error {
			file := map[string]any{"file": id, "name": "a", "mime": "text/plain", "size": 1}
			return w.SavePin(w.ctx, ws, w.flow.ID, flow.Pin{Node: "a", Outputs: map[string]any{"file": file}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			setup(t, func(t *testing.T, w *fixture) {
				f, other := w.save("kept"), w.save("other")
				w.must(refer(w, f.ID))
				w.erase(w.startAndFinish(withFiles(f.ID, other.ID)))
				w.wantGone(other.ID)
				wantEqual(t, "content", w.content(f.ID), "kept")
			})
		})
	}
}

package db_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/db/dbtest"
	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/library"
)

// studio is a flow library over the fixture's store.
func (w *fixture) studio() *library.Library {
	return &library.Library{Store: w.Store, IDs: flow.NewIDs(), Kinds: flow.NewRegistry(flow.Kind{
		Name: "call", Title: "Call", Group: "Test", Summary: "Calls.",
		Fields: []flow.Field{{Name: "text", Type: flow.FieldText}, {Name: "secret", Type: flow.FieldSecret}},
		Run:    func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil },
	})}
}

// tab is one of several that show the same draft.
type tab struct {
	*library.Library
	flowID flow.FlowID
	name   string
	d      *flow.Document
	rev    int64
}

func (w *fixture) openTab(l *library.Library, flowID flow.FlowID, name string) *tab {
	w.t.Helper()
	f, err := l.Store.FindFlow(w.ctx, ws, flowID)
	w.must(err)
	d, _ := document.ParseDocument(f.Draft)
	return &tab{Library: l, flowID: flowID, name: name, d: d, rev: f.Rev}
}

// edit sends edits until they are accepted, applying missed edits first.
func (t *tab) edit(ctx context.Context, txID string, ops ...document.Edit) error {
	for {
		r, err := t.EditFlow(ctx, ws, t.flowID, "user_1", document.EditRequest{Base: t.rev, Tab: t.name, TxID: txID, Ops: ops})
		if missed, late := errors.AsType[*document.EditsMissed](err); late {
			if err := t.carryOut(missed.Since); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		return t.carryOut([]document.EditTx{{Rev: r.Rev, Ops: r.Ops}})
	}
}

func (t *tab) carryOut(list []document.EditTx) error {
	for _, tx := range list {
		out, err := document.ApplyEdits(t.d, tx.Ops)
		if err != nil {
			return err
		}
		t.d, t.rev = out.Document, tx.Rev
	}
	return nil
}

func (w *fixture) newStudioFlow(l *library.Library) flow.FlowID {
	w.t.Helper()
	f, err := l.Import(w.ctx, ws, "", []byte(`{"schema": "sluice.flow/v1", "name": "Studio", "nodes": [{"id": "a", "kind": "call"}]}`))
	w.must(err)
	return f.ID
}

func TestEditFlow_tabs_converge(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		l := w.studio()
		id := w.newStudioFlow(l)
		tabs := make([]*tab, 3)
		var wg sync.WaitGroup
		for i := range tabs {
			tabs[i] = w.openTab(l, id, fmt.Sprint("tab", i))
			wg.Go(func() {
				for n := range 8 {
					node := flow.Node{ID: fmt.Sprintf("n%d_%d", i, n), Kind: "call", Config: map[string]any{}}
					label := document.Edit{Op: document.OpPut, Node: "a", Member: "label", Value: node.ID}
					if err := tabs[i].edit(w.ctx, "tx_"+node.ID, document.Edit{Op: document.OpAdd, New: &node}, label); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		f, err := w.FindFlow(w.ctx, ws, id)
		w.must(err)
		for _, tab := range tabs {
			if tab.rev != f.Rev {
				since, err := l.EditsSince(w.ctx, ws, id, tab.rev, 100)
				w.must(err)
				w.must(tab.carryOut(since))
			}
			wantEqual(t, tab.name, string(tab.d.Compact()), string(f.Draft))
		}
		wantEqual(t, "nodes", len(tabs[0].d.Nodes), 1+3*8)
		_, err = l.EditsSince(w.ctx, "ws_other", id, 1, 100)
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestEditFlow_repeats_and_undoes(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		l := w.studio()
		id := w.newStudioFlow(l)
		before, err := w.FindFlow(w.ctx, ws, id)
		w.must(err)
		set := document.Edit{Op: document.OpSet, Node: "a", Field: "secret", Value: "s3cret"}
		send := func(base int64, txID, undo string, ops ...document.Edit) *document.EditResult {
			r, err := l.EditFlow(w.ctx, ws, id, "me", document.EditRequest{Base: base, Tab: "t", TxID: txID, Ops: ops, Undo: undo})
			w.must(err)
			return r
		}
		first := send(1, "t1", "", set)
		again := send(1, "t1", "", set)
		wantEqual(t, "the same answer", string(flow.EncodeJSON(again)), string(flow.EncodeJSON(first)))
		name, isRef := flow.SecretRef(first.Ops[0].Value)
		wantEqual(t, "a reference", isRef, true)
		_, secret, err := w.OpenCredential(w.ctx, ws, name)
		w.must(err)
		wantEqual(t, "what it opens", secret, "s3cret")
		send(2, "t2", "t1")
		f, err := w.FindFlow(w.ctx, ws, id)
		w.must(err)
		wantEqual(t, "undone", string(f.Draft), string(before.Draft))

		_, err = l.Import(w.ctx, ws, id, before.Draft)
		w.must(err)
		_, err = l.EditsSince(w.ctx, ws, id, 3, 10)
		wantCode(t, err, document.CodeEditsGone)
	})
}

// An acknowledged edit survives a failure of the machine. PostgreSQL syncs by default.
func TestSaveEdit_is_synced_on_SQLite(t *testing.T) {
	t.Parallel()
	w := newFixture(t, dbtest.SQLite(t), &clock{now: time.Now()})
	_, before := w.Groups()
	w.edit(1, "t1")
	_, after := w.Groups()
	wantEqual(t, "synced transactions", after-before, 1)
}

func TestReplaceDraft_takes_another_order_of_members(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		l := w.studio()
		f, err := l.Import(w.ctx, ws, "", []byte(`{"schema": "sluice.flow/v1", "name": "Studio", "nodes": [{"id": "a", "kind": "call", "config": {"text": "x", "secret": ""}}]}`))
		w.must(err)
		other, _ := document.ParseDocument(bytes.Replace(f.Draft, []byte(`"text":"x","secret":""`), []byte(`"secret":"","text":"x"`), 1))
		w.must(l.ReplaceDraft(w.ctx, f, flow.Actor{ID: "user_1"}, f.Rev, other, false))
		now, err := w.FindFlow(w.ctx, ws, f.ID)
		w.must(err)
		if bytes.Equal(now.Draft, f.Draft) || now.Rev <= f.Rev {
			t.Errorf("revision %d has the draft %s", now.Rev, now.Draft)
		}
	})
}

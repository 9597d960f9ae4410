package db_test

import (
	"context"
	"testing"

	"sluice/flow"
)

func TestTogether(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var edits []int64
		w.FlowEdited = func(_ flow.WorkspaceID, _ flow.FlowID, rev int64) { edits = append(edits, rev) }
		create := func(ctx context.Context, ws flow.WorkspaceID, name string) error {
			if err := w.SaveCredential(ctx, flow.Credential{WorkspaceID: ws, Name: name}, "secret"); err != nil {
				return err
			}
			f := &flow.Flow{WorkspaceID: ws, Name: name, Draft: []byte(`{"schema":"sluice.flow/v1"}`)}
			if err := w.CreateFlow(ctx, f); err != nil {
				return err
			}
			_, _, err := w.PublishFlow(ctx, ws, f.ID, f.Draft, "first", "me")
			return err
		}
		stored := func(flows, credentials int) {
			t.Helper()
			list, err := w.ListFlows(w.ctx, ws, "", 10)
			w.must(err)
			wantEqual(t, "flows", len(list), flows)
			all, err := w.ListCredentials(w.ctx, ws)
			w.must(err)
			wantEqual(t, "credentials", len(all), credentials)
		}

		err := w.InTransaction(w.ctx, func(ctx context.Context) error {
			w.must(create(ctx, ws, "one"))
			w.must(w.UpdateDraft(ctx, ws, w.flow.ID, "New", "", []byte(`{"name":"New"}`)))
			return create(ctx, "ws_none", "two")
		})
		wantCode(t, err, flow.CodeNotFound)
		stored(1, 0)
		f, err := w.FindFlow(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "draft", f.Name, "Answer")
		wantEqual(t, "edits that were announced", len(edits), 0)

		w.must(w.InTransaction(w.ctx, func(ctx context.Context) error {
			w.must(create(ctx, ws, "one"))
			w.must(w.UpdateDraft(ctx, ws, w.flow.ID, "New", "", []byte(`{"name":"New"}`)))
			wantEqual(t, "edits before the commit", len(edits), 0)
			return create(ctx, ws, "two")
		}))
		stored(3, 2)
		wantEqual(t, "edits that were announced", len(edits), 1)
	})
}

// TestInTransaction_in_another_announces_edits_after_the_commit checks that a transaction which is a
// part of another one announces no edit before the whole is committed.
func TestInTransaction_in_another_announces_edits_after_the_commit(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		edits := 0
		w.FlowEdited = func(flow.WorkspaceID, flow.FlowID, int64) { edits++ }
		w.must(w.InTransaction(w.ctx, func(ctx context.Context) error {
			w.must(w.InTransaction(ctx, func(ctx context.Context) error {
				return w.UpdateDraft(ctx, ws, w.flow.ID, "New", "", []byte(`{"name":"New"}`))
			}))
			wantEqual(t, "edits before the commit", edits, 0)
			return nil
		}))
		wantEqual(t, "edits after the commit", edits, 1)
	})
}

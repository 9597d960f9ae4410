package db_test

import (
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

func TestListFlowHeads(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		gone, tagged := w.newFlow(ws), w.newFlow(ws)
		w.must(w.ArchiveFlow(w.ctx, ws, gone.ID))
		w.must(w.TagFlow(w.ctx, ws, tagged.ID, []string{"billing", "Nightly"}))
		_, _, err := w.PublishFlow(w.ctx, ws, tagged.ID, []byte(`{}`), "first", "me")
		w.must(err)
		list, err := w.ListFlowHeads(w.ctx, ws)
		w.must(err)
		wantEqual(t, "flows", len(list), 3)
		for _, f := range list {
			wantEqual(t, "archived", f.ID == gone.ID, !f.ArchivedAt.IsZero())
			wantEqual(t, "draft", len(f.Draft), 0)
			if f.ID == tagged.ID {
				wantEqual(t, "tags", strings.Join(f.Tags, ","), "billing,Nightly")
				wantEqual(t, "live", f.LiveVersion, 1)
				wantEqual(t, "hash", f.LiveHash, flow.Hash([]byte(`{}`)))
			}
		}
		list, err = w.ListFlowHeads(w.ctx, "ws_other")
		w.must(err)
		wantEqual(t, "flows of others", len(list), 0)
	})
}

func TestTagFlow(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.TagFlow(w.ctx, ws, w.flow.ID, []string{"a"}))
		f, err := w.FindFlow(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "tags", strings.Join(f.Tags, ","), "a")
		w.must(w.TagFlow(w.ctx, ws, w.flow.ID, nil))
		f, err = w.FindFlow(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "no tags", len(f.Tags), 0)
		wantCode(t, w.TagFlow(w.ctx, "ws_other", w.flow.ID, nil), flow.CodeNotFound)
	})
}

func TestRestoreFlow(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		w.must(w.ArchiveFlow(w.ctx, ws, w.flow.ID))
		w.clock.move(time.Minute)
		w.must(w.RestoreFlow(w.ctx, ws, w.flow.ID))
		f, err := w.FindFlow(w.ctx, ws, w.flow.ID)
		w.must(err)
		wantEqual(t, "archived", f.ArchivedAt.IsZero(), true)
		wantEqual(t, "updated", f.UpdatedAt, w.clock.Now())
		wantCode(t, w.RestoreFlow(w.ctx, "ws_other", w.flow.ID), flow.CodeNotFound)
	})
}

package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/document"
)

// A draft is stored as its current document and a log of the last edits. Each edit
// increments the revision of the draft and is stored with its inverse, so that it can
// be undone. Editors that show the same draft read the edits after their revision.
// An edit is only accepted on top of the current revision; an editor that is behind
// applies the missed edits first and sends its own again.

// SaveEdit stores an edit of a draft and the resulting draft. It stores nothing and
// returns false if the draft is no longer at the base revision.
func (s *Edits) SaveEdit(ctx context.Context, e document.NewEdit) (saved bool, err error) {
	files := documentFiles(e.Draft)
	row := gen.InsertEditParams{
		FlowID: e.FlowID, Rev: e.Base + 1, WorkspaceID: e.WorkspaceID, TxID: e.Tx.TxID, Tab: e.Tx.Tab, UserID: dbconn.ValidText(e.Tx.UserID),
		Ops: string(flow.EncodeJSON(e.Tx.Ops)), Inverse: string(flow.EncodeJSON(e.Tx.Inverse)), Skipped: string(flow.EncodeJSON(e.Tx.Skipped)),
	}
	logged := int64(len(row.Ops) + len(row.Inverse) + len(row.Skipped))
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		row.CreatedAt = s.DB.NowMicros()
		held, err := tx.Queries.HoldFlow(tx.Ctx, gen.HoldFlowParams{ID: e.FlowID, WorkspaceID: e.WorkspaceID})
		if saved = err == nil && held.Rev == e.Base; !saved {
			if dbconn.IsNoRows(err) {
				err = nil
			}
			return err
		}
		n, err := tx.Queries.EditDraft(tx.Ctx, gen.EditDraftParams{
			ID: e.FlowID, WorkspaceID: e.WorkspaceID, Base: e.Base, Name: dbconn.ValidText(e.Name), Description: dbconn.ValidText(e.Description),
			Draft: string(e.Draft), UpdatedAt: row.CreatedAt,
		})
		// Being too late is no error: an error would make the other members of the
		// transaction repeat their work.
		if saved = n > 0; err != nil || !saved {
			return err
		}
		return dbconn.FirstError(
			func() error { return tx.Queries.InsertEdit(tx.Ctx, row) },
			func() error {
				last, err := lastDropped(tx, e.FlowID, row.Rev, logged)
				if err != nil {
					return err
				}
				dropped, err := tx.Queries.ShortenEdits(tx.Ctx, gen.ShortenEditsParams{FlowID: e.FlowID, LastRev: last})
				tx.TrackBytes(e.WorkspaceID, logged-sum(dropped))
				return err
			},
			func() error { return keepFiles(tx, e.WorkspaceID, files) },
			func() error { return notifyEdited(tx, e.WorkspaceID, e.FlowID, row.Rev) },
			// Growth of the edit log only is allowed: otherwise a draft could
			// not be made smaller.
			func() error {
				return tx.TrackWithinQuota(e.WorkspaceID, flow.Storage{Bytes: int64(len(e.Draft)) - held.Bytes})
			},
		)
	})
	if saved = saved && err == nil; saved {
		s.DB.AfterCommit(ctx, func() { s.DB.Edited(e.WorkspaceID, e.FlowID, row.Rev) })
	}
	return saved, err
}

// largeEdit is the size of an edit, in bytes, from which on the size of the log is
// checked. Smaller edits are bounded by their number.
const largeEdit = 16 << 10

// lastDropped returns the revision up to which edits must be dropped from the log of a
// flow, after an edit of logged bytes was stored at rev.
func lastDropped(tx *core.Tx, flowID flow.FlowID, rev, logged int64) (int64, error) {
	last := rev - document.MaxLoggedEdits
	if logged < largeEdit {
		return last, nil
	}
	sizes, err := tx.Queries.ListEditSizes(tx.Ctx, flowID)
	left := int64(document.MaxLoggedBytes)
	for _, r := range sizes {
		if left -= r.Bytes; left < 0 && r.Rev > last {
			return r.Rev, err
		}
	}
	return last, err
}

// FindEdit returns an edit of the log with its inverse.
func (s *Edits) FindEdit(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, txID string) (*document.EditTx, error) {
	r, err := s.DB.Reads.FindEdit(ctx, gen.FindEditParams{FlowID: flowID, TxID: txID, WorkspaceID: ws})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "change")
	}
	tx := &document.EditTx{Rev: r.Rev, TxID: r.TxID, Tab: r.Tab, UserID: r.UserID, CreatedAt: dbconn.TimeOf(r.CreatedAt)}
	err = dbconn.FirstError(
		func() (err error) { tx.Ops, err = dbconn.Decode[[]document.Edit](r.Ops); return err },
		func() (err error) { tx.Inverse, err = dbconn.Decode[[]document.Edit](r.Inverse); return err },
		func() (err error) { tx.Skipped, err = dbconn.Decode[[]document.Skipped](r.Skipped); return err },
	)
	return tx, err
}

// ListEdits returns the edits after a revision, oldest first and without their
// inverses.
func (s *Edits) ListEdits(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, afterRev int64, limit int) ([]document.EditTx, error) {
	rows, err := s.DB.Reads.ListEdits(ctx, gen.ListEditsParams{FlowID: flowID, WorkspaceID: ws, AfterRev: afterRev, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list edits of %s: %w", flowID, err)
	}
	list := make([]document.EditTx, len(rows))
	for i, r := range rows {
		list[i] = document.EditTx{Rev: r.Rev, TxID: r.TxID, Tab: r.Tab, UserID: r.UserID, CreatedAt: dbconn.TimeOf(r.CreatedAt)}
		if list[i].Ops, err = dbconn.Decode[[]document.Edit](r.Ops); err != nil {
			return nil, fmt.Errorf("edit %d of %s: %w", r.Rev, flowID, err)
		}
	}
	return list, nil
}

// ListUndoable returns up to limit edits of a tab since a time that were not undone, newest
// first and without their contents.
func (s *Edits) ListUndoable(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, tab string, since time.Time, limit int) ([]document.EditTx, error) {
	rows, err := s.DB.Reads.ListUndoable(ctx, gen.ListUndoableParams{FlowID: flowID, WorkspaceID: ws, Tab: tab, Since: dbconn.Micros(since), MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list the edits of %s that can be undone: %w", flowID, err)
	}
	return dbconn.MapRows(rows, func(r gen.ListUndoableRow) document.EditTx {
		return document.EditTx{Rev: r.Rev, TxID: r.TxID, Tab: tab, UserID: r.UserID, CreatedAt: dbconn.TimeOf(r.CreatedAt)}
	}), nil
}

// deleteEdits removes the edits and pinned outputs of a flow.
func deleteEdits(tx *core.Tx, ws flow.WorkspaceID, flowID flow.FlowID) error {
	for _, forget := range []func(context.Context, flow.FlowID) ([]int64, error){tx.Queries.DeleteEditsOfFlow, tx.Queries.DeletePinsOfFlow} {
		sizes, err := forget(tx.Ctx, flowID)
		if err != nil {
			return err
		}
		tx.TrackBytes(ws, -sum(sizes))
	}
	return nil
}

func sum(list []int64) (n int64) {
	for _, v := range list {
		n += v
	}
	return n
}

// notifyEdited notifies the other instances when the transaction commits.
func notifyEdited(tx *core.Tx, ws flow.WorkspaceID, flowID flow.FlowID, rev int64) error {
	if !tx.Store.IsPostgres() {
		return nil
	}
	_, err := tx.DBTX.ExecContext(tx.Ctx, "SELECT pg_notify($1, $2)", core.EditChannel, fmt.Sprintf("%d %s %s", rev, flowID, ws))
	return err
}

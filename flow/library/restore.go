package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"sluice/flow"
	"sluice/flow/document"
)

// Restored is the result of restoring a version.
type Restored struct {
	Changed  bool                 // the draft differed from the version
	Edit     *document.EditResult // the transaction; nil if the draft was replaced
	Replaced bool                 // the previous draft was unreadable; editors must load the new one
}

// restoreTries bounds the retries of a restore after concurrent edits.
const restoreTries = 5

// RestoreVersion makes the draft equal to a version. It uses a transaction of the edit log, so that
// it can be undone and open editors show the change. An unreadable draft is replaced, so other
// editors get CodeEditsGone.
func (l *Library) RestoreVersion(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, flowID flow.FlowID, n int64, txID string) (out *Restored, err error) {
	d, err := l.Document(ctx, ws, flowID, n)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		e := entry(ws, "flow.revert", string(flowID), fmt.Sprintf("v%d to the draft", n))
		err := record(ctx, l.Store, by, e, func(ctx context.Context) error {
			if out, err = l.restore(ctx, ws, flowID, d, by.ID, txID); err == nil && !out.Changed {
				e.Action = ""
			}
			return err
		})
		if err == nil || try == restoreTries || !errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
			return out, err
		}
	}
}

// UndoEdit undoes a transaction of the edit log. Later edits of other fields stay. It is idempotent.
// After concurrent edits it retries, up to restoreTries times.
func (l *Library) UndoEdit(ctx context.Context, by flow.Actor, ws flow.WorkspaceID, flowID flow.FlowID, txID string) error {
	r := document.EditRequest{Tab: "undo", TxID: document.UndoTx(txID), Undo: txID}
	if _, err := l.Store.FindEdit(ctx, ws, flowID, r.TxID); err == nil || !flow.IsNotFound(err) {
		return err
	}
	for try := 1; ; try++ {
		f, err := l.Store.FindFlow(ctx, ws, flowID)
		if err != nil {
			return err
		}
		r.Base = f.Rev
		err = record(ctx, l.Store, by, entry(ws, "flow.edit", string(flowID), f.Name), func(ctx context.Context) error {
			_, err := l.EditFlow(ctx, ws, flowID, by.ID, r)
			return err
		})
		if err == nil || try == restoreTries || !errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
			return err
		}
	}
}

// restore makes the draft equal to another document by one undoable transaction of edits, so
// that open editors show the change like any other.
func (l *Library) restore(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, to *flow.Document, user, txID string) (*Restored, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	if err := l.keepSecrets(ctx, f, to); err != nil { // it may be older than secret detection
		return nil, err
	}
	want := to.Compact()
	if bytes.Equal(f.Draft, want) {
		return &Restored{}, nil
	}
	if from, _ := document.ParseDocument(f.Draft); from != nil {
		if ops, ok := document.EditsBetween(from, to); ok {
			out, err := l.EditFlow(ctx, ws, flowID, user, document.EditRequest{Base: f.Rev, Tab: "versions", TxID: txID, Ops: ops, Whole: to})
			if err != nil {
				return nil, err
			}
			return &Restored{Changed: true, Edit: out}, nil
		}
	}
	return &Restored{Changed: true, Replaced: true}, l.Store.ReplaceDraft(ctx, ws, flowID, f.Rev, to.Name, to.Description, want)
}

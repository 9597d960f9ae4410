package library

import (
	"bytes"
	"context"
	"errors"

	"sluice/flow"
	"sluice/flow/document"
)

// Restored says how a version came back to the draft.
type Restored struct {
	Changed  bool                 // the draft was not equal to the version already
	Edit     *document.EditResult // the transaction; nil when the draft was replaced as a whole
	Replaced bool                 // the former draft could not be read; tabs have to load the new one
}

// restoreTries bounds how often a restore starts over because other edits were faster.
const restoreTries = 5

// RestoreVersion makes the draft equal to a version. It does so by a
// transaction of the log, so that it can be undone and other tabs follow it. A draft that
// cannot be read is replaced, which others hear of as CodeEditsGone.
func (l *Library) RestoreVersion(ctx context.Context, ws flow.WorkspaceID, flowID string, n int64, user, txID string) (*Restored, error) {
	d, err := l.Document(ctx, ws, flowID, n)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		out, err := l.restore(ctx, ws, flowID, d, user, txID)
		if err == nil || try == restoreTries || !errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
			return out, err
		}
	}
}

// UndoEdit undoes a transaction of the edit log. Later edits of other fields stay. Undoing it
// again changes nothing. Concurrent edits make it try again, up to restoreTries times.
func (l *Library) UndoEdit(ctx context.Context, ws flow.WorkspaceID, flowID, user, txID string) error {
	r := document.EditRequest{Tab: "undo", TxID: document.UndoTx(txID), Undo: txID}
	if _, err := l.Store.FindEdit(ctx, ws, flowID, r.TxID); err == nil || !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return err
	}
	for try := 1; ; try++ {
		f, err := l.Store.FindFlow(ctx, ws, flowID)
		if err != nil {
			return err
		}
		r.Base = f.Rev
		_, err = l.EditFlow(ctx, ws, flowID, user, r)
		if err == nil || try == restoreTries || !errors.Is(err, &flow.Error{Code: document.CodeEditsMissed}) {
			return err
		}
	}
}

// restore makes the draft equal to another document by one undoable transaction of edits, so
// that open editors show the change like any other.
func (l *Library) restore(ctx context.Context, ws flow.WorkspaceID, flowID string, to *flow.Document, user, txID string) (*Restored, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	if err := l.keepSecrets(ctx, f, to); err != nil { // it may be older than a rule that finds them
		return nil, err
	}
	want := to.Canonical()
	if bytes.Equal(f.Draft, want) {
		return &Restored{}, nil
	}
	if from, _ := document.ParseDocument(f.Draft); from != nil {
		if ops, ok := document.EditsBetween(from, to); ok {
			out, err := l.EditFlow(ctx, ws, flowID, user, document.EditRequest{Base: f.Rev, Tab: "versions", TxID: txID, Ops: ops, Whole: true})
			if err != nil {
				return nil, err
			}
			return &Restored{Changed: true, Edit: out}, nil
		}
	}
	return &Restored{Changed: true, Replaced: true}, l.Store.ReplaceDraft(ctx, ws, flowID, f.Rev, to.Name, to.Description, want)
}

package library

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"sluice/flow"
	"sluice/flow/document"
)

// EditStore stores the edit log of drafts.
type EditStore interface {
	SaveEdit(ctx context.Context, e document.NewEdit) (saved bool, err error)
	FindEdit(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, txID string) (*document.EditTx, error)
	ListEdits(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, afterRev int64, limit int) ([]document.EditTx, error)
}

const maxMissed = 100 // missed transactions above which a client must load the draft again

// EditFlow applies a transaction to the draft. When it returns, the draft is on disk. It returns
// *EditsMissed if the draft has newer edits than the base, or CodeEditsGone if the log no longer
// has them.
func (l *Library) EditFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, user string, r document.EditRequest) (*document.EditResult, error) {
	return l.editFlow(ctx, ws, flowID, user, r, func(*document.Edit) {})
}

// editFlow is EditFlow with hide, which removes secrets from each edit of the
// logged inverse.
func (l *Library) editFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, user string, r document.EditRequest, hide func(*document.Edit)) (*document.EditResult, error) {
	if err := document.EditsInvalid(r.Problems()); err != nil {
		return nil, err
	}
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	if !f.ArchivedAt.IsZero() {
		return nil, flow.Errorf(flow.CodeNotFound, "There is no such flow.")
	}
	if f.Rev != r.Base {
		return l.overtaken(ctx, f, &r)
	}
	if r.Undo != "" {
		if r.Ops, err = l.inverseOf(ctx, f, r.Undo); err != nil {
			return nil, err
		}
	}
	out, err := l.editDraft(ctx, f, r.Ops, r.Undo == "")
	if err != nil {
		return nil, err
	}
	for i := range out.Inverse {
		hide(&out.Inverse[i])
	}
	return l.saveEdit(ctx, f, user, &r, out)
}

// maxNumbered is how many numbered slugs of a name followName tries.
const maxNumbered = 20

// followName renames the slug of a flow with its name, as long as nothing calls the flow: it was
// never published, and its slug is the one of its former name.
func followName(ctx context.Context, l *Library, f *flow.Flow, name string) error {
	before, now := document.Slugify(f.Name), document.Slugify(name)
	if f.LiveVersion != 0 || before == now {
		return nil
	}
	derived := false
	for n := 1; n <= maxNumbered && !derived; n++ {
		derived = f.Slug == document.NumberedSlug(before, n)
	}
	if !derived {
		return nil
	}
	for n := 1; n <= maxNumbered; n++ {
		err := l.Store.RenameSlug(ctx, f.WorkspaceID, f.ID, document.NumberedSlug(now, n), false)
		if e, ok := errors.AsType[*flow.Error](err); !ok || e.Code != flow.CodeSlugTaken {
			return err
		}
	}
	return nil // all numbers are taken: the slug stays
}

// inverseOf returns the edits that undo a transaction. Old transactions are deleted, see
// flow.EditLife.
func (l *Library) inverseOf(ctx context.Context, f *flow.Flow, txID string) ([]document.Edit, error) {
	tx, err := l.Store.FindEdit(ctx, f.WorkspaceID, f.ID, txID)
	if flow.IsNotFound(err) {
		return nil, flow.Errorf(document.CodeEditsGone, "This change is too old to be undone. Load the page again.")
	}
	if err != nil {
		return nil, fmt.Errorf("find the transaction to undo: %w", err)
	}
	return tx.Inverse, nil
}

// editDraft applies the edits and moves literal secrets to encrypted storage. If contracts is set,
// it adds the contracts of selected flows.
func (l *Library) editDraft(ctx context.Context, f *flow.Flow, ops []document.Edit, contracts bool) (_ *document.Edited, err error) {
	d, _ := document.ParseDocument(f.Draft)
	if d == nil || d.Schema != flow.Schema {
		return nil, flow.Errorf(flow.CodeDocumentInvalid, "The draft of this flow is written in a format that this version of Sluice does not read. Import it again.")
	}
	if contracts {
		if ops, err = l.addContracts(ctx, f.WorkspaceID, d, ops); err != nil {
			return nil, err
		}
	}
	// Always use new names, because a published version may use the previous ones.
	names := &secretNamer{library: l, flow: f, title: d.Name}
	out, extracted, err := document.ApplyAndExtract(d, ops, l.Kinds, names.of(ctx))
	if err != nil {
		return nil, err
	}
	return out, names.keep(ctx, extracted)
}

// saveEdit stores the result of a transaction unless the draft is unchanged. It checks limits on
// the canonical document, the form that is stored.
func (l *Library) saveEdit(ctx context.Context, f *flow.Flow, user string, r *document.EditRequest, out *document.Edited) (*document.EditResult, error) {
	d := out.Document
	if r.Whole != nil {
		d = document.InOrderOf(d, r.Whole)
	}
	result := &document.EditResult{Rev: f.Rev, Ops: []document.Edit{}, Inverse: []document.Edit{}, Skipped: out.Skipped, Problems: []flow.Problem{}, Document: d}
	draft := d.Compact()
	if len(draft) > flow.MaxDocumentBytes {
		return nil, document.EditsInvalid([]flow.Problem{{Code: "too_large", Detail: "the flow would become larger than " + flow.Size(flow.MaxDocumentBytes)}})
	}
	if !bytes.Equal(draft, f.Draft) {
		tx := document.EditTx{TxID: r.TxID, Tab: r.Tab, UserID: user, Ops: out.Ops, Inverse: out.Inverse, Skipped: out.Skipped}
		e := document.NewEdit{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Base: r.Base, Name: d.Name, Description: d.Description, Draft: draft, Tx: tx}
		former := *f
		saved, err := l.Store.SaveEdit(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("save an edit of %s: %w", f.ID, err)
		}
		if !saved {
			return l.overtakenNow(ctx, f, r)
		}
		if err := followName(ctx, l, &former, d.Name); err != nil {
			return nil, err
		}
		result.Rev, result.Ops, result.Inverse = f.Rev+1, out.Ops, out.Inverse
	}
	calls, err := l.CallProblems(ctx, f, d)
	if err != nil {
		return nil, err
	}
	result.Problems = append(append(result.Problems, document.Validate(d, l.Kinds)...), calls...)
	return result, nil
}

// overtakenNow reads the draft again after another edit was saved, and returns the edits that the
// client has missed.
func (l *Library) overtakenNow(ctx context.Context, f *flow.Flow, r *document.EditRequest) (*document.EditResult, error) {
	f, err := l.Store.FindFlow(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	return l.overtaken(ctx, f, r)
}

// overtaken handles a transaction whose base is not the current revision: it was applied before
// and the response was lost, or other edits came first.
func (l *Library) overtaken(ctx context.Context, f *flow.Flow, r *document.EditRequest) (*document.EditResult, error) {
	tx, err := l.Store.FindEdit(ctx, f.WorkspaceID, f.ID, r.TxID)
	if err == nil {
		return l.repeated(f, tx), nil
	}
	if !flow.IsNotFound(err) {
		return nil, fmt.Errorf("look for the transaction: %w", err)
	}
	since, err := l.editsSince(ctx, f, r.Base, maxMissed)
	if err != nil {
		return nil, err
	}
	if since[len(since)-1].Rev < f.Rev {
		return nil, editsGone()
	}
	return nil, &document.EditsMissed{Since: since}
}

// repeated returns the result of a transaction that was saved before: its response was lost, and
// the client sent it again under the same ID.
func (l *Library) repeated(f *flow.Flow, tx *document.EditTx) *document.EditResult {
	d, _ := document.ParseDocument(f.Draft)
	result := &document.EditResult{Rev: tx.Rev, Ops: tx.Ops, Skipped: tx.Skipped, Inverse: tx.Inverse, Problems: []flow.Problem{}, Document: d}
	if d != nil {
		result.Problems = append(result.Problems, document.Validate(d, l.Kinds)...)
	}
	return result
}

// EditsSince returns up to limit transactions after a revision, oldest first. It returns
// CodeEditsGone if the log has a gap there, because it was truncated or the draft was replaced.
func (l *Library) EditsSince(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, rev int64, limit int) ([]document.EditTx, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	if rev == f.Rev {
		return []document.EditTx{}, nil
	}
	return l.editsSince(ctx, f, rev, limit)
}

// editsSince is EditsSince for a revision that is not the current one. It returns at least one
// transaction.
func (l *Library) editsSince(ctx context.Context, f *flow.Flow, rev int64, limit int) ([]document.EditTx, error) {
	list, err := l.Store.ListEdits(ctx, f.WorkspaceID, f.ID, rev, limit)
	if err != nil {
		return nil, fmt.Errorf("list the edits of %s: %w", f.ID, err)
	}
	for i := range list {
		if list[i].Rev != rev+int64(i)+1 {
			return nil, editsGone()
		}
	}
	last := rev + int64(len(list))
	if len(list) == 0 || last < f.Rev && len(list) < limit {
		return nil, editsGone()
	}
	return list, nil
}

// editsGone is the error for a base so old that its later edits are deleted.
func editsGone() error {
	return flow.Errorf(document.CodeEditsGone, "The draft has changed too much elsewhere. Load the page again.")
}

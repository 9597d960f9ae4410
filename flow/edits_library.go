package flow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
)

// Codes of refused edits.
const (
	CodeEditsInvalid Code = "edits_invalid" // an edit is malformed or would break the document's form
	CodeEditsMissed  Code = "edits_missed"  // others were faster; see EditsMissed
	CodeEditsGone    Code = "edits_gone"    // the log does not reach that far: load the draft again
)

// EditRequest is a transaction that somebody wants to carry out on a draft.
type EditRequest struct {
	Base int64  // the revision that the edits were made on
	Tab  string // who hears of it need not carry it out again
	TxID string // repeating it carries nothing out twice
	Ops  []Edit
	Undo string // in the place of Ops: a transaction to take back, by its TxID
}

// EditResult is a transaction that was carried out.
type EditResult struct {
	Rev      int64     `json:"rev"` // of the draft; the base when nothing changed
	Ops      []Edit    `json:"ops"` // what was carried out, secrets replaced by references
	Skipped  []Skipped `json:"skipped"`
	Inverse  []Edit    `json:"inverse"`
	Problems []Problem `json:"problems"` // what keeps the draft from running
	Document *Document `json:"-"`
}

// EditsMissed refuses a transaction that was made on an older draft. The one
// who asks carries these out, then his own once more, and asks again.
type EditsMissed struct{ Since []EditTx }

// Error says what happened.
func (m *EditsMissed) Error() string { return m.refusal().Message }

// Unwrap is the refusal as an *Error of CodeEditsMissed.
func (m *EditsMissed) Unwrap() error { return m.refusal() }

func (m *EditsMissed) refusal() *Error {
	return Errorf(CodeEditsMissed, "The draft was changed elsewhere: %s came first.", count(len(m.Since), "other change"))
}

// NewEdit is a transaction to be stored with the draft that it leads to.
type NewEdit struct {
	WorkspaceID, FlowID string
	Base                int64 // nothing is stored unless the draft is at this revision
	Name, Description   string
	Draft               []byte
	Tx                  EditTx // Rev and CreatedAt are the store's to set
}

// EditStore keeps the log of a draft.
type EditStore interface {
	SaveEdit(ctx context.Context, e NewEdit) (saved bool, err error)
	FindEdit(ctx context.Context, ws, flowID, txID string) (*EditTx, error)
	ListEdits(ctx context.Context, ws, flowID string, afterRev int64, limit int) ([]EditTx, error)
}

// Bounds of the log.
const (
	MaxLoggedEdits = 2000 // transactions kept of a flow
	maxMissed      = 100  // transactions that are not worth more than loading the draft again
)

var editName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (r *EditRequest) problems() (list []Problem) {
	add := func(pointer, code, detail string) {
		list = append(list, Problem{Pointer: pointer, Code: code, Detail: detail})
	}
	for _, name := range []struct{ pointer, text string }{{"/tab", r.Tab}, {"/txid", r.TxID}} {
		if !editName.MatchString(name.text) {
			add(name.pointer, "invalid", "wanted 1 to 64 letters, digits, _ and -")
		}
	}
	if (len(r.Ops) == 0) == (r.Undo == "") {
		add("/ops", "required", `wanted either at least one edit in "ops", or "undo"`)
	}
	if len(r.Ops) > MaxEdits {
		add("/ops", "too_many", fmt.Sprintf("at most %d edits at once, got %d", MaxEdits, len(r.Ops)))
	}
	return list
}

// EditFlow carries out a transaction on the draft. When it returns, the draft
// is on disk. A draft that has moved on since the base is an *EditsMissed, or
// CodeEditsGone when what was missed is not known any more.
func (l *Library) EditFlow(ctx context.Context, ws, flowID, user string, r EditRequest) (*EditResult, error) {
	return l.editFlow(ctx, ws, flowID, user, r, func(*Edit) {})
}

// editFlow is EditFlow with hide, which removes secrets from each edit of the
// logged inverse.
func (l *Library) editFlow(ctx context.Context, ws, flowID, user string, r EditRequest, hide func(*Edit)) (*EditResult, error) {
	if err := editsInvalid(r.problems()); err != nil {
		return nil, err
	}
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	if !f.ArchivedAt.IsZero() {
		return nil, Errorf(CodeNotFound, "There is no such flow.")
	}
	if f.Rev != r.Base {
		return l.overtaken(ctx, f, &r)
	}
	if r.Undo != "" {
		if r.Ops, err = l.inverseOf(ctx, f, r.Undo); err != nil {
			return nil, err
		}
	}
	out, err := l.editDraft(ctx, f, r.Ops)
	if err != nil {
		return nil, err
	}
	for i := range out.Inverse {
		hide(&out.Inverse[i])
	}
	return l.saveEdit(ctx, f, user, &r, out)
}

func (l *Library) inverseOf(ctx context.Context, f *Flow, txID string) ([]Edit, error) {
	tx, err := l.Store.FindEdit(ctx, f.WorkspaceID, f.ID, txID)
	if errors.Is(err, &Error{Code: CodeNotFound}) {
		return nil, Errorf(CodeEditsGone, "This change is too old to be undone. Load the page again.")
	}
	if err != nil {
		return nil, fmt.Errorf("find what is to be undone: %w", err)
	}
	return tx.Inverse, nil
}

// editDraft carries the edits out and moves literal secrets to where they are safe.
func (l *Library) editDraft(ctx context.Context, f *Flow, ops []Edit) (*Edited, error) {
	d, _ := ParseDocument(f.Draft)
	if d == nil || d.Schema != Schema {
		return nil, Errorf(CodeDocumentInvalid, "The draft of this flow is written in a format that this version of Sluice does not read. Import it again.")
	}
	// Always new names: a published version may use the previous ones.
	names := &secretNamer{library: l, flow: f, title: d.Name}
	out, lifted, err := applyAndLift(d, ops, l.Kinds, names.of(ctx))
	if err != nil {
		return nil, err
	}
	return out, names.keep(ctx, lifted)
}

func (l *Library) saveEdit(ctx context.Context, f *Flow, user string, r *EditRequest, out *Edited) (*EditResult, error) {
	d := out.Document
	result := &EditResult{Rev: f.Rev, Ops: []Edit{}, Inverse: []Edit{}, Skipped: out.Skipped, Problems: []Problem{}, Document: d}
	draft := d.Canonical()
	if len(draft) > MaxDocumentBytes {
		return nil, editsInvalid([]Problem{{Code: "too_large", Detail: "the flow would become larger than " + Size(MaxDocumentBytes)}})
	}
	if !bytes.Equal(draft, f.Draft) {
		tx := EditTx{TxID: r.TxID, Tab: r.Tab, UserID: user, Ops: out.Ops, Inverse: out.Inverse, Skipped: out.Skipped}
		e := NewEdit{WorkspaceID: f.WorkspaceID, FlowID: f.ID, Base: r.Base, Name: d.Name, Description: d.Description, Draft: draft, Tx: tx}
		saved, err := l.Store.SaveEdit(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("save an edit of %s: %w", f.ID, err)
		}
		if !saved {
			return l.overtakenNow(ctx, f, r)
		}
		result.Rev, result.Ops, result.Inverse = f.Rev+1, out.Ops, out.Inverse
	}
	result.Problems = append(result.Problems, Validate(d, l.Kinds)...)
	return result, nil
}

func (l *Library) overtakenNow(ctx context.Context, f *Flow, r *EditRequest) (*EditResult, error) {
	f, err := l.Store.FindFlow(ctx, f.WorkspaceID, f.ID)
	if err != nil {
		return nil, err
	}
	return l.overtaken(ctx, f, r)
}

// overtaken answers a transaction whose base is not the draft's revision: it
// was carried out before and its answer got lost, or others came first.
func (l *Library) overtaken(ctx context.Context, f *Flow, r *EditRequest) (*EditResult, error) {
	tx, err := l.Store.FindEdit(ctx, f.WorkspaceID, f.ID, r.TxID)
	if err == nil {
		return l.repeated(f, tx), nil
	}
	if !errors.Is(err, &Error{Code: CodeNotFound}) {
		return nil, fmt.Errorf("look for the transaction: %w", err)
	}
	since, err := l.editsSince(ctx, f, r.Base, maxMissed)
	if err != nil {
		return nil, err
	}
	if since[len(since)-1].Rev < f.Rev {
		return nil, editsGone()
	}
	return nil, &EditsMissed{Since: since}
}

func (l *Library) repeated(f *Flow, tx *EditTx) *EditResult {
	d, _ := ParseDocument(f.Draft)
	result := &EditResult{Rev: tx.Rev, Ops: tx.Ops, Skipped: tx.Skipped, Inverse: tx.Inverse, Problems: []Problem{}, Document: d}
	if d != nil {
		result.Problems = append(result.Problems, Validate(d, l.Kinds)...)
	}
	return result
}

// EditsSince lists up to limit transactions after a revision, oldest first.
// When the log has a gap there, because it is shortened or the draft was
// replaced as a whole, that is CodeEditsGone.
func (l *Library) EditsSince(ctx context.Context, ws, flowID string, rev int64, limit int) ([]EditTx, error) {
	f, err := l.Store.FindFlow(ctx, ws, flowID)
	if err != nil {
		return nil, err
	}
	if rev == f.Rev {
		return []EditTx{}, nil
	}
	return l.editsSince(ctx, f, rev, limit)
}

// editsSince expects a revision that is not the draft's, and returns at least
// one transaction.
func (l *Library) editsSince(ctx context.Context, f *Flow, rev int64, limit int) ([]EditTx, error) {
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

func editsGone() error {
	return Errorf(CodeEditsGone, "The draft has changed too much elsewhere. Load the page again.")
}

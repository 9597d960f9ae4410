package document

import (
	"fmt"
	"regexp"

	"sluice/flow"
)

// Codes of rejected edits.
const (
	CodeEditsInvalid flow.Code = "edits_invalid" // an edit is malformed or would break the document's form
	CodeEditsMissed  flow.Code = "edits_missed"  // the draft has newer edits; see EditsMissed
	CodeEditsGone    flow.Code = "edits_gone"    // the log no longer has the edits since the base: load the draft again
)

// EditRequest is a request to apply a transaction to a draft.
type EditRequest struct {
	Base int64  // the revision that the edits are based on
	Tab  string // ID of the requesting editor tab, which must not apply the edits again
	TxID string // makes the request idempotent
	Ops  []Edit
	Undo string // instead of Ops: TxID of a transaction to undo
	// Whole is the document that edits of EditsBetween make. They are as many as it needs.
	Whole *flow.Document
}

// EditResult is the result of an applied transaction.
type EditResult struct {
	Rev      int64          `json:"rev"` // new revision of the draft; the base if nothing changed
	Ops      []Edit         `json:"ops"` // as applied, with secrets replaced by references
	Skipped  []Skipped      `json:"skipped"`
	Inverse  []Edit         `json:"inverse"`
	Problems []flow.Problem `json:"problems"` // problems that prevent the draft from running
	Document *flow.Document `json:"-"`
}

// EditsMissed rejects a transaction that is based on an older draft. The client must apply the
// missed transactions, rebase its own, and retry.
type EditsMissed struct{ Since []EditTx }

// Error returns the message for users.
func (m *EditsMissed) Error() string { return m.refusal().Message }

// Unwrap returns an *Error with CodeEditsMissed.
func (m *EditsMissed) Unwrap() error { return m.refusal() }

// refusal returns the error of a request whose base is older than the draft.
func (m *EditsMissed) refusal() *flow.Error {
	return flow.Errorf(CodeEditsMissed, "The draft was changed elsewhere: %s came first.", flow.Count(len(m.Since), "other change"))
}

// NewEdit is a transaction to store, with the resulting draft.
type NewEdit struct {
	WorkspaceID       flow.WorkspaceID
	FlowID            flow.FlowID
	Base              int64 // expected revision of the draft; otherwise nothing is stored
	Name, Description string
	Draft             []byte
	Tx                EditTx // Rev and CreatedAt are the store's to set
}

// Limits of the edit log of a flow.
const (
	MaxLoggedEdits = 2000     // transactions
	MaxLoggedBytes = 32 << 20 // of all transactions; the newest is always kept and is smaller
)

// TabAPI is the tab of transactions through the API. No browser tab has this ID, so all open
// editors apply them.
const TabAPI = "api"

// UndoTx returns the ID of the transaction that undoes another one. It is derived from
// the other ID, so that nothing is undone twice. The query ListUndoable relies on it.
func UndoTx(txID string) string { return "undo-" + txID }

var editName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Problems returns all problems of a request that can be found without the document.
func (r *EditRequest) Problems() (list []flow.Problem) {
	add := func(pointer, code, detail string) {
		list = append(list, flow.Problem{Pointer: pointer, Code: code, Detail: detail})
	}
	for _, name := range []struct{ pointer, text string }{{"/tab", r.Tab}, {"/txid", r.TxID}} {
		if !editName.MatchString(name.text) {
			add(name.pointer, "invalid", "wanted 1 to 64 letters, digits, _ and -")
		}
	}
	if (len(r.Ops) == 0) == (r.Undo == "") {
		add("/ops", "required", `wanted either at least one edit in "ops", or "undo"`)
	}
	if len(r.Ops) > MaxEdits && r.Whole == nil {
		add("/ops", "too_many", fmt.Sprintf("at most %d edits at once, got %d", MaxEdits, len(r.Ops)))
	}
	return list
}

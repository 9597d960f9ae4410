package document

import (
	"fmt"
	"regexp"

	"sluice/flow"
)

// Codes of refused edits.
const (
	CodeEditsInvalid flow.Code = "edits_invalid" // an edit is malformed or would break the document's form
	CodeEditsMissed  flow.Code = "edits_missed"  // others were faster; see EditsMissed
	CodeEditsGone    flow.Code = "edits_gone"    // the log does not reach that far: load the draft again
)

// EditRequest is a transaction that somebody wants to carry out on a draft.
type EditRequest struct {
	Base int64  // the revision that the edits were made on
	Tab  string // who hears of it need not carry it out again
	TxID string // repeating it carries nothing out twice
	Ops  []Edit
	Undo string // in the place of Ops: a transaction to take back, by its TxID
	// Whole marks edits of EditsBetween, which are as many as a document needs.
	Whole bool
}

// EditResult is a transaction that was carried out.
type EditResult struct {
	Rev      int64          `json:"rev"` // of the draft; the base when nothing changed
	Ops      []Edit         `json:"ops"` // what was carried out, secrets replaced by references
	Skipped  []Skipped      `json:"skipped"`
	Inverse  []Edit         `json:"inverse"`
	Problems []flow.Problem `json:"problems"` // what keeps the draft from running
	Document *flow.Document `json:"-"`
}

// EditsMissed refuses a transaction that was made on an older draft. The one
// who asks carries these out, then his own once more, and asks again.
type EditsMissed struct{ Since []EditTx }

// Error says what happened.
func (m *EditsMissed) Error() string { return m.refusal().Message }

// Unwrap is the refusal as an *Error of CodeEditsMissed.
func (m *EditsMissed) Unwrap() error { return m.refusal() }

// refusal returns the error of a request whose base is older than the draft.
func (m *EditsMissed) refusal() *flow.Error {
	return flow.Errorf(CodeEditsMissed, "The draft was changed elsewhere: %s came first.", flow.Count(len(m.Since), "other change"))
}

// NewEdit is a transaction to be stored with the draft that it leads to.
type NewEdit struct {
	WorkspaceID       flow.WorkspaceID
	FlowID            string
	Base              int64 // nothing is stored unless the draft is at this revision
	Name, Description string
	Draft             []byte
	Tx                EditTx // Rev and CreatedAt are the store's to set
}

// Bounds of the log.
const (
	MaxLoggedEdits = 2000     // transactions kept of a flow
	MaxLoggedBytes = 32 << 20 // of them all; the newest is always kept, and smaller
)

// TabAPI is the tab of transactions that a program made over the API. It is no tab of a
// browser: open editors apply these like edits of others.
const TabAPI = "api"

// UndoTx returns the ID of the transaction that undoes another one. It is derived from
// the other ID, so that nothing is undone twice. The query ListUndoable relies on it.
func UndoTx(txID string) string { return "undo-" + txID }

var editName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Problems returns all problems of a request that show without the flow document.
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
	if len(r.Ops) > MaxEdits && !r.Whole {
		add("/ops", "too_many", fmt.Sprintf("at most %d edits at once, got %d", MaxEdits, len(r.Ops)))
	}
	return list
}

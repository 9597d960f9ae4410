package flow

import (
	"context"
	"fmt"
	"iter"
)

// A child run executes another flow for a step of its caller run: once, or once per item of a
// list. It is a normal run with its own steps, worker and cost, so the items of a list can use
// all instances, and an item can wait for an approval. The calling step waits without a worker.

// Limits of child runs.
const (
	MaxChildDepth       = 8       // levels of callers above a child run
	MaxChildItems       = 100_000 // items of one step
	MaxChildConcurrency = 1_000
)

// ChildVersions says which versions of other flows the steps of a run execute. The
// numbers are stored.
type ChildVersions int

// The versions of other flows that steps can run.
const (
	// ChildrenRecorded runs the version that a node names, or the one that is live when the
	// step first starts. A rerun runs the one that the first run recorded.
	ChildrenRecorded ChildVersions = iota
	// ChildrenLive is for reruns: the version that a node names, or the one that is live now.
	ChildrenLive
	// ChildrenDraft runs the drafts of other flows, and of the flows below them, so that a
	// change of several flows can be tried before any of it is published. Only runs of a
	// draft may ask for it.
	ChildrenDraft
)

// ParseChildVersions reads "live" and "draft"; everything else is ChildrenRecorded.
func ParseChildVersions(s string) ChildVersions {
	return map[string]ChildVersions{"live": ChildrenLive, "draft": ChildrenDraft}[s]
}

// CallingStep names the step that started a child run, and the item that the child is for.
type CallingStep struct {
	RunID RunID
	Path  string // of the step
	Round int    // how often the step had failed when it started the child
	Item  int    // counted from 0
}

// Children are the child runs of one step as a whole.
type Children struct {
	WorkspaceID  WorkspaceID
	Caller       CallingStep // its Item has no meaning
	RootRunID    RunID       // the run without a caller at the top
	Depth        int         // 1 for the children of a root run
	FlowID       FlowID      // that the children run
	Version      int64       // 0 for the draft
	DocumentHash string
	Document     []byte // stored if it is a draft; never read back
	Concurrency  int    // how many run at once
	Paused       bool   // no further items start
	MaxFailed    int    // percent of the items; with more failures the others do not start. 0 means any number
	KeepErrors   bool   // a failed item does not stop the others
	Total        int    // items; -1 until all are stored
	Pending      int    // have not started
	Running      int
	Succeeded    int // reused results included
	Failed       int // canceled items included
	Reused       int
	Stopped      bool  // pending items will not start
	Usage        Usage // of the children that have ended, and of their children
}

// Ended reports whether no child runs any more and none will start.
func (c *Children) Ended() bool { return c.Total >= 0 && c.Pending == 0 && c.Running == 0 }

// NotStarted returns how many items have not started, those that will not start included.
func (c *Children) NotStarted() int { return max(0, c.Total-c.Running-c.Succeeded-c.Failed) }

// ChildUsage returns the total usage of the children of several steps.
func ChildUsage(steps []Children) (sum Usage) {
	for i := range steps {
		sum = sum.Add(steps[i].Usage)
	}
	return sum
}

// Decided reports whether the step can stop waiting: all children have ended, or so many have
// failed that the step fails with them.
func (c *Children) Decided() bool { return c.Ended() || c.Total >= 0 && c.TooManyFailed() }

// TooManyFailed reports whether more items have failed than may.
func (c *Children) TooManyFailed() bool {
	return c.Failed > 0 && (!c.KeepErrors || c.MaxFailed > 0 && c.Failed*100 > c.MaxFailed*c.Total)
}

// ChildTemplate holds the settings that all child runs of a step share, besides the flow.
type ChildTemplate struct {
	Version       int64         `json:"version,omitempty"`
	Draft         bool          `json:"draft,omitempty"` // the children and their children run drafts
	FlowsAbove    []FlowID      `json:"flows_above,omitempty"`
	Budgets       []RunBudgetID `json:"budgets,omitempty"`
	StepBudget    NanoUSD       `json:"-"` // see In.Budget; it is in Budgets, too
	KeyID         string        `json:"key_id,omitempty"`
	UserID        string        `json:"user_id,omitempty"`
	Metadata      *Object       `json:"metadata,omitempty"`
	Save          bool          `json:"save"`
	TimeoutMicros int64         `json:"timeout_us"`
	Nodes         int           `json:"nodes"` // of the document
	MaxFailed     int           `json:"max_failed,omitempty"`
	Untrusted     bool          `json:"untrusted,omitempty"` // the inputs have content from outside
	Batch         bool          `json:"batch,omitempty"`     // the items are rows of a batch
	Case          *CaseRun      `json:"case,omitempty"`      // see Run; the items of a test are its cases
	Traceparent   string        `json:"traceparent,omitempty"`
}

// ChildItem is an item that has no run yet.
type ChildItem struct {
	Item   int
	Inputs *Object
	Error  *Error // why it cannot start; nil if it can
	Reused RunID  // ID of a run whose result is reused
}

// ChildResult is the result of an item.
type ChildResult struct {
	Item    int
	RunID   RunID // empty for an item that could not start
	State   RunState
	Reused  bool // the result is from the run that this rerun repeats
	Inputs  *Object
	Outputs *Object
	Error   *Error // set unless the item succeeded
	Usage   Usage  // without that of its own children
	// Untrusted reports that the outputs have content from outside.
	Untrusted bool
}

// OpenChild is a child run that has not ended.
type OpenChild struct {
	RunID  RunID
	FlowID FlowID
}

// ChildRequest asks for child runs.
type ChildRequest struct {
	Flow        string // slug or ID
	Version     int64  // 0 for the live one
	Items       []*Object
	Concurrency int
	KeepErrors  bool
	MaySkip     bool // the step can go on without the items that Rerun.SkipFailed leaves out
	MaxFailed   int  // see Children
	// Document is set for children that execute an internal document instead of a version. Flow is then the ID of their flow, which
	// may be hidden, and no earlier results are reused.
	Document []byte
	// Case is set for children that are runs of the cases of a test.
	Case *CaseRun
	// Rows is set instead of Items for children that are rows of a table. Their values may be texts,
	// as in forms.
	Rows iter.Seq2[ChildRow, error]
	// AllRows means that nothing starts if any row is invalid; the error then has CodeBatchInvalid.
	AllRows bool
}

// MaxRowErrors is how many invalid rows of a table an error lists.
const MaxRowErrors = 100

// RowProblem returns the problem of a row, whose number is its place in the file.
func RowProblem(number, item int, detail string) Problem {
	return Problem{Pointer: Pointer("rows", item), Code: "invalid", Detail: fmt.Sprintf("Row %d: %s", number, detail)}
}

// ChildRow is a row of a table.
type ChildRow struct {
	Number int // in the file, for people
	Inputs *Object
	Error  *Error // why there are no inputs
}

// ChildRuns lets a step start child runs and read their results.
type ChildRuns interface {
	// Start starts a child for each item, or returns the children that an earlier
	// attempt has started.
	Start(ctx context.Context, r ChildRequest) (*Children, error)
	// Read calls each with all results, in the order of items.
	Read(ctx context.Context, each func(*ChildResult) error) error
	// Stop keeps pending items from starting and cancels the children that run.
	Stop(ctx context.Context) error
}

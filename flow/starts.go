package flow

import (
	"errors"
	"slices"
	"time"
)

// Start asks for a run of a flow.
type Start struct {
	WorkspaceID    WorkspaceID
	FlowID         FlowID
	Key            *Key // the authenticated key; nil for a user
	UserID         string
	Trigger        Trigger
	Given          *Object // raw values by input name
	Coerce         bool    // values are texts of a form or a command line
	Options        RunOptions
	IdempotencyKey string
	Fingerprint    string        // of method, path and body; compared when the idempotency key repeats
	Wait           time.Duration // delay the response until the run ends, at most this long
	Stored         func()        // called when the run is stored, before the wait; nil: not called
	TestRun        *TestRun      // a test run of the draft in the editor; otherwise nil
	Work           *WorkStart    // a work run; otherwise nil
	Occurrence     *Occurrence   // of a trigger that starts the run; otherwise nil
}

// Occurrence is a time at which a trigger starts a run. The transaction that accepts the run adds its event, and decides the
// planned time.
type Occurrence struct {
	TriggerID   string
	TriggerName string
	ScheduledAt time.Time
	Key         string // of the event
	Detail      string // of the event
	Position    string // of the event
	Request     string // of the event
	Fresh       bool   // no other event has the key
	// Rev, Before and After decide a planned time: the start fails with ErrFenced unless the trigger is at Rev and Before. A
	// zero Rev starts without that.
	Rev           int64
	Before, After TriggerTimes
	// While the last run of the trigger is in progress, the start fails with an OverlapError, unless it is canceled with
	// Replace, or Overlap is set.
	Overlap, Replace bool
}

// TriggerTimes are the times of a trigger that change when one is decided.
type TriggerTimes struct {
	Next    time.Time // planned time that is decided next
	Due     time.Time // when an instance looks at the trigger
	Waiting time.Time // planned time that waits for its start
	Decided time.Time // the last planned time that was decided
}

// OverlapError is returned for a start by a trigger whose last run is in progress.
type OverlapError struct{ RunID RunID }

// Error names the run.
func (e *OverlapError) Error() string {
	return "the last run of the trigger, " + string(e.RunID) + ", is in progress"
}

// TestRun runs the draft with pinned outputs in place of its pinned nodes.
type TestRun struct {
	Until string // run only this node and its dependencies; empty: all nodes
}

// WorkStart starts a work run for a flow. Start.Trigger says which.
type WorkStart struct {
	Document []byte // internal
	Version  int64  // of the flow, which the run works with
	Test     string // ID of the stored test that the run executes; otherwise empty
	Free     bool   // see NewRun.Free
}

// Rerun asks for a new run of the document of another run, or with a TestRun of the current
// draft.
type Rerun struct {
	Start
	ParentRunID RunID
	From        string // node or sub-step to run again with its dependents; empty: everything that did not succeed
	// Arguments replace those of the call at From; nil keeps what the model wrote.
	Arguments *Object
	// ChildVersions selects the versions of other flows that steps run. A rerun of a run with
	// drafts uses drafts unless it is ChildrenLive.
	ChildVersions ChildVersions
	// SkipFailed continues without the items of a list that failed in the parent: they
	// stay failed, and the steps that run the list go on with the others.
	SkipFailed bool
}

// RunOptions are the reserved members of a start request.
type RunOptions struct {
	Version  int64 // 0 means the live version
	Draft    bool
	Children ChildVersions // ChildrenDraft only together with Draft or a TestRun
	Webhook  *RunWebhook
	Metadata *Object
	Continue RunID         // an earlier run of the flow, whose conversations of agents the run continues
	Timeout  time.Duration // 0 means RunTimeout
	MaxUSD   NanoUSD       // what the run and everything below it may cost; 0 means any amount
	Discard  bool          // save: false
}

// RunWebhook is a webhook that is called when the run has ended.
type RunWebhook struct{ URL, Secret string }

// NewRun is a run to accept. The store writes it in one transaction with its idempotency row
// and its job.
type NewRun struct {
	Run            Run
	Document       []byte // stored if its hash is new; nil if it is stored already
	Context        []byte // JSON with Run.ContextHash; nil if it is stored already, or the run continues no other
	Steps          []Step // initial steps, all of them ended
	IdempotencyKey string
	Fingerprint    string
	Webhook        *NewDelivery // URL and Secret of the per-run webhook
	Files          []string     // IDs of the files in its inputs; an erased one causes CodeNotFound
	Live           bool         // Version and FlowSlug are from a cached live version: ErrFlowOutdated if it has changed
	// Prices reports whether Unpriced, the models of the run without a price, is known. A
	// budget in dollars needs it and otherwise causes ErrPricesWanted.
	Prices   bool
	Unpriced []string
	Secrets  map[string]string // values of secret inputs, which Run.Inputs refers to
	Key      *Key              // the key that starts the run, whose limits apply; nil for a user
	// Occurrence is what a trigger decides with this start; otherwise nil.
	Occurrence *Occurrence
	Test       string // ID of the stored test that the run executes, which gets the ID of the run; otherwise empty
	// Free means that the run repeats recorded results: a used-up budget in dollars does not refuse its start. Steps that cost
	// something, such as judges, are refused when they start.
	Free bool
}

// NeedsPrices reports whether Unpriced must be known because of the key or of a limit of the run. The
// budget of the flow, which only the store knows, may need it too.
func (n *NewRun) NeedsPrices() bool {
	return n.Run.MaxUSD > 0 || n.Key != nil && (n.Key.NeedsPrices() || slices.ContainsFunc(n.Key.Makers, func(k Key) bool { return k.NeedsPrices() }))
}

// Errors of a start whose cached key or live version is outdated. The caller may read it again
// and retry.
var (
	ErrKeyOutdated  = errors.New("the key has changed since it was read")
	ErrFlowOutdated = errors.New("the live version of the flow has changed since it was read")
)

// RememberedRefusal is a refused start that was decided from memory, because an equal start was
// refused a moment ago. Its key was valid then.
type RememberedRefusal struct{ Err *Error }

// Error returns the message of the refusal.
func (r *RememberedRefusal) Error() string { return r.Err.Error() }

// Unwrap returns the refusal.
func (r *RememberedRefusal) Unwrap() error { return r.Err }

// LiveVersion is the live version of a flow. Starts use a cached one, which the transaction that
// accepts the run compares with the database.
type LiveVersion struct {
	Number       int64
	DocumentHash string
	Slug         string // of the flow
}

// Started is an accepted run. Replayed means that an earlier request with the same idempotency
// key started it.
type Started struct {
	Run      *Run
	Replayed bool
}

// RunFilter selects runs, newest first.
type RunFilter struct {
	WorkspaceID                 WorkspaceID
	FlowID                      FlowID
	KeyID                       string
	Trigger                     Trigger // empty: all but those of child runs and work runs
	States                      []RunState
	CreatedAfter, CreatedBefore time.Time
	BeforeID                    string // continue below this ID
	Limit                       int
}

// KeyUse records uses of a key.
type KeyUse struct {
	KeyID, IP string
	Previous  string // hash of the key's previous secret, if that one was presented
	At        time.Time
	Count     int64
}

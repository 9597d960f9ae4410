package flow

import (
	"errors"
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
}

// TestRun runs the draft with pinned outputs in place of its pinned nodes.
type TestRun struct {
	Until string // run only this node and its dependencies; empty: all nodes
}

// Rerun asks for a new run of the document of another run, or with a TestRun of the current
// draft.
type Rerun struct {
	Start
	ParentRunID RunID
	From        string // node to run again with its dependents; empty: everything that did not succeed
	// ChildVersions selects the versions of other flows that steps run. A rerun of a run with
	// drafts uses drafts unless it is ChildrenLive.
	ChildVersions ChildVersions
}

// RunOptions are the reserved members of a start request.
type RunOptions struct {
	Version  int64 // 0 means the live version
	Draft    bool
	Children ChildVersions // ChildrenDraft only together with Draft or a TestRun
	Webhook  *RunWebhook
	Metadata *Object
	Timeout  time.Duration // 0 means RunTimeout
	Discard  bool          // save: false
}

// RunWebhook is a webhook that is called when the run has ended.
type RunWebhook struct{ URL, Secret string }

// NewRun is a run to accept. The store writes it in one transaction with its idempotency row
// and its job.
type NewRun struct {
	Run            Run
	Document       []byte // stored if its hash is new; nil if it is stored already
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
}

// Errors of a start whose cached key or live version is outdated. The caller may read it again
// and retry.
var (
	ErrKeyOutdated  = errors.New("the key has changed since it was read")
	ErrFlowOutdated = errors.New("the live version of the flow has changed since it was read")
)

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

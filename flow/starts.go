package flow

import (
	"errors"
	"time"
)

// Start asks for a run of a flow.
type Start struct {
	WorkspaceID    WorkspaceID
	FlowID         string
	Key            *Key // who asks; nil for a person
	UserID         string
	Trigger        Trigger
	Given          map[string]any // values by input name, as they came
	Coerce         bool           // given values are texts of a form or a command line
	Options        RunOptions
	IdempotencyKey string
	Fingerprint    string        // of method, path and body; compared when the key repeats
	Wait           time.Duration // hold the answer until the run ends, at most this long
	TestRun        *TestRun      // the builder tries the draft out; nil for everybody else
}

// TestRun runs the draft with what is pinned standing in for its nodes.
type TestRun struct {
	Until string // carry out this node and what it depends on; empty: everything
}

// Rerun asks for a new run of another run's document, or with a TestRun of the
// draft as it is now.
type Rerun struct {
	Start
	ParentRunID string
	From        string // node to run again with all that depends on it; empty: what did not succeed
	// ChildVersions are the versions that steps run of other flows. Reruns of a run with
	// drafts keep to drafts unless the live versions are asked for.
	ChildVersions ChildVersions
}

// RunOptions are the reserved part of a start.
type RunOptions struct {
	Version  int64 // 0 means the live one
	Draft    bool
	Children ChildVersions // ChildrenDraft only together with Draft or a TestRun
	Webhook  *RunWebhook
	Metadata map[string]any
	Timeout  time.Duration // 0 means RunTimeout
	Discard  bool          // save: false
}

// RunWebhook is called when the run has ended.
type RunWebhook struct{ URL, Secret string }

// NewRun is a run to be accepted: the store writes it in one transaction with
// its idempotency row and its job.
type NewRun struct {
	Run            Run
	Document       []byte // stored when its hash is new; nil when it is known to be stored
	Steps          []Step // that the run has from its start, all of them ended
	IdempotencyKey string
	Fingerprint    string
	Webhook        *NewDelivery // URL and Secret of the per-run webhook
	Files          []string     // IDs of the files in its inputs; one that is erased meanwhile is CodeNotFound
	Live           bool         // Version and FlowSlug are those of the live version as it was read: ErrFlowOutdated if they have changed
	// Prices reports whether Unpriced is known: the models of the run without a price.
	// A budget in dollars needs to know; then ErrPricesWanted asks for it.
	Prices   bool
	Unpriced []string
	Secrets  map[string]string // texts of secret inputs, which Run.Inputs refers to
	Key      *Key              // who asks, whose limits and budgets hold; nil for a person
}

// Refusals of a start whose key or live version was remembered and has changed
// since: it may be tried again with what is read now.
var (
	ErrKeyOutdated  = errors.New("the key has changed since it was read")
	ErrFlowOutdated = errors.New("the live version of the flow has changed since it was read")
)

// LiveVersion is what a start of a run needs to know about a flow. It is cached: the
// transaction that accepts the run compares it with the database.
type LiveVersion struct {
	Number       int64
	DocumentHash string
	Slug         string // of the flow
}

// Started is an accepted run. Replayed means that its idempotency key had
// started it before.
type Started struct {
	Run      *Run
	Replayed bool
}

// RunFilter selects runs, newest first.
type RunFilter struct {
	WorkspaceID                 WorkspaceID
	FlowID, KeyID               string
	States                      []RunState
	CreatedAfter, CreatedBefore time.Time
	BeforeID                    string // continue below this ID
	Limit                       int
}

// KeyUse is that a key was used.
type KeyUse struct {
	KeyID, IP string
	Previous  string // hash of the key's previous secret, if that one was presented
	At        time.Time
	Count     int64
}

package flow

import (
	"slices"
	"time"
)

// Limits that hold where a document or key sets none.
const (
	RunTimeout   = time.Hour
	StepTimeout  = time.Minute
	ModelTimeout = 10 * time.Minute
	StepParallel = 16
	MaxNodes     = 1000
	MaxEdges     = 10_000
	// HeldBackoff is the longest back-off that keeps its worker; a longer one
	// releases it and the run waits.
	HeldBackoff = 30 * time.Second
)

// RunState is where a run stands.
type RunState string

const (
	RunQueued    RunState = "queued"
	RunRunning   RunState = "running"
	RunWaiting   RunState = "waiting"
	RunSucceeded RunState = "succeeded"
	RunFailed    RunState = "failed"
	RunCanceled  RunState = "canceled"
)

// runMoves is the state table of a run.
var runMoves = map[RunState][]RunState{
	RunQueued:  {RunRunning, RunFailed, RunCanceled},
	RunRunning: {RunWaiting, RunSucceeded, RunFailed, RunCanceled},
	RunWaiting: {RunRunning, RunFailed, RunCanceled},
}

// Ended reports whether the state is final.
func (s RunState) Ended() bool {
	return s == RunSucceeded || s == RunFailed || s == RunCanceled
}

// Known reports whether there is such a state.
func (s RunState) Known() bool { return s.Ended() || runMoves[s] != nil }

// CanBecome reports whether the state table allows the move.
func (s RunState) CanBecome(next RunState) bool { return slices.Contains(runMoves[s], next) }

// StepState is where a step stands.
type StepState string

const (
	StepPending   StepState = "pending"
	StepRunning   StepState = "running"
	StepRetrying  StepState = "retrying"
	StepWaiting   StepState = "waiting"
	StepSucceeded StepState = "succeeded"
	StepReused    StepState = "reused"
	StepSkipped   StepState = "skipped"
	StepFailed    StepState = "failed"
	StepCanceled  StepState = "canceled"
)

// Ended reports whether the state is final.
func (s StepState) Ended() bool {
	switch s {
	case StepSucceeded, StepReused, StepSkipped, StepFailed, StepCanceled:
		return true
	}
	return false
}

// WaitsFor is what a waiting run waits for.
type WaitsFor string

// What runs wait for. A step of a kind without one waits to be retried.
const (
	WaitsForApproval   WaitsFor = "approval"
	WaitsForChildren   WaitsFor = "children"
	WaitsForPrediction WaitsFor = "prediction"
	WaitsForDelay      WaitsFor = "delay"
	WaitsForRetry      WaitsFor = "retry"
)

// Trigger is what started a run.
type Trigger string

const (
	TriggerAPI     Trigger = "api"
	TriggerBuilder Trigger = "builder"
	TriggerForm    Trigger = "form"
	TriggerMCP     Trigger = "mcp"
	TriggerCLI     Trigger = "cli"
	TriggerRerun   Trigger = "rerun"
	TriggerFlow    Trigger = "flow" // a step of another run
)

// Usage is what a step or run consumed. Cost is in nano-dollars (1e-9 USD).
type Usage struct {
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostNanoUSD  NanoUSD `json:"-"`
	// CachedTokens are the input tokens that the provider read from its cache, and
	// ReasoningTokens the output tokens that a model thought with. They are included
	// in the numbers above.
	CachedTokens    int64 `json:"cached_tokens"`
	ReasoningTokens int64 `json:"reasoning_tokens"`
	// UnpricedSteps counts steps that called a paid model whose price is unknown: the
	// cost is incomplete by what they cost.
	UnpricedSteps int64 `json:"-"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CostNanoUSD + v.CostNanoUSD,
		u.CachedTokens + v.CachedTokens, u.ReasoningTokens + v.ReasoningTokens, u.UnpricedSteps + v.UnpricedSteps,
	}
}

// Sub returns what is more than in v.
func (u Usage) Sub(v Usage) Usage {
	return Usage{
		u.InputTokens - v.InputTokens, u.OutputTokens - v.OutputTokens, u.CostNanoUSD - v.CostNanoUSD,
		u.CachedTokens - v.CachedTokens, u.ReasoningTokens - v.ReasoningTokens, u.UnpricedSteps - v.UnpricedSteps,
	}
}

// Progress counts ended steps among all that the flow has.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// Run is one execution of one document with one set of inputs.
type Run struct {
	ID              string
	WorkspaceID     WorkspaceID
	FlowID          string
	FlowSlug        string // slug of the flow when the run was read or accepted; empty where that was not loaded
	Version         int64  // 0 for a draft run
	Draft           bool
	DocumentHash    string
	State           RunState
	Attempt         int64 // counts hand-overs to a worker and fences their writes
	Trigger         Trigger
	KeyID, UserID   string
	ParentRunID     string       // of a rerun: the run that it repeats
	Caller          *CallingStep // of a child run; nil for a root run
	FlowsAbove      []string     // IDs of the flows above a child run's own, from the top, each once
	RerunFrom       string       // the node a rerun was asked from
	ChildVersions   ChildVersions
	Inputs          map[string]any
	Outputs         map[string]any
	Error           *Error
	Metadata        map[string]any
	Usage           Usage
	Models          []string // that answered, as provider/model, in the order of their first answer
	Progress        Progress
	Seq             int64 // number of the newest event of the run
	RunSeq          int64 // number of the event that tells the present run state
	Writes          int64 // counts its writes by a worker, so that one that is repeated is known; 0: not counted
	Save            bool  // false: content is erased once the run and its deliveries have ended
	Timeout         time.Duration
	CancelRequested bool
	Crashes         int // crashes in a row that cut it short with nothing recorded between
	CreatedAt       time.Time
	StartedAt       time.Time // zero until then, as are those below
	EndedAt         time.Time
	ExpiresAt       time.Time
	DeadlineAt      time.Time
	WaitingSince    time.Time
	Erased          Code // why the content is gone (result_not_saved, run_expired); empty while it is there
	// Sizes are the stored bytes of each step by its path, and of outputs and
	// error under "". The store maintains them while the run is worked on; nil
	// means not loaded.
	Sizes map[string]int64
	// NoWebhook reports that no webhook of its own announces its end. It is false
	// where that was not loaded.
	NoWebhook bool
	// NoChildren reports that none of its steps starts child runs. It is false where the
	// document was not looked at.
	NoChildren bool
}

// Step is what one node did in one run.
type Step struct {
	Path, Node, Kind string
	State            StepState
	Attempt          int       // starts, those cut by a crash included
	Failures         int       // failed attempts, which the retry policy counts
	Attempts         []Attempt // see Tries; empty while there was one
	NodeHash         string
	InputHash        string
	Input            map[string]any
	Outputs          map[string]any
	Bulky            bool // set for a write: outputs that are too large for the row are stored apart
	Error            *Error
	Usage            Usage
	Spent            Usage // what of it is new since the step was last written
	Saved            any   // what a suspension keeps
	Seq              int64 // number of the event that tells the present state
	OutputSeq        int64 // number of the output event, for output nodes
	StartedAt        time.Time
	EndedAt          time.Time
	WaitUntil        time.Time
}

// RunWrite is one step of progress of a run, written in one transaction. It is
// refused with ErrFenced when the run's attempt is no longer Run.Attempt.
type RunWrite struct {
	Run        *Run // the new row
	Steps      []Step
	Deliveries []NewDelivery
	Durable    bool      // must be synced to disk before Write returns
	Progressed bool      // something ended: the crash count is reset
	Busy       bool      // the run works inside the process after this write, as opposed to waiting
	End        bool      // the run's state is final
	WakeAt     time.Time // when a waiting run continues; zero unless Run.State is waiting
	Draining   bool      // the run waits only for its child runs, and ends after the last of them
}

// NewDelivery is a webhook message to be sent once its transaction is durable.
type NewDelivery struct {
	ID        string // the same each time the step is carried out; empty: a fresh one
	Node      string // the webhook node; empty for the per-run webhook
	OfRun     bool   // sent to the per-run webhook, if the run has one; only ID and Body are used
	URL       string
	Host      string // as of WebhookOwner: of a URL that is typed in the node, else empty
	Body      []byte
	Secret    any    // secret value; nil for the secret of the node, or of the key that started the run
	Header    string // custom signature header
	Signature any    // its value: secret reference or text
}

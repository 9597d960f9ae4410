package flow

import (
	"slices"
	"time"
)

// Limits that apply unless a document or key sets its own.
const (
	RunTimeout   = time.Hour
	StepTimeout  = time.Minute
	ModelTimeout = 10 * time.Minute
	StepParallel = 16
	MaxNodes     = 1000
	MaxPorts     = 1000 // inputs, and outputs, that the config of one node declares
	MaxEdges     = 10_000
	// HeldBackoff is the longest back-off during which a run keeps its worker. During a longer
	// one it waits without a worker.
	HeldBackoff = 30 * time.Second
)

// RunState is the state of a run.
type RunState string

const (
	RunQueued    RunState = "queued"
	RunRunning   RunState = "running"
	RunWaiting   RunState = "waiting"
	RunSucceeded RunState = "succeeded"
	RunFailed    RunState = "failed"
	RunCanceled  RunState = "canceled"
)

// runTransitions lists the next states of each state that is not final.
var runTransitions = map[RunState][]RunState{
	RunQueued:  {RunRunning, RunFailed, RunCanceled},
	RunRunning: {RunWaiting, RunSucceeded, RunFailed, RunCanceled},
	RunWaiting: {RunRunning, RunFailed, RunCanceled},
}

// Ended reports whether the state is final.
func (s RunState) Ended() bool {
	return s == RunSucceeded || s == RunFailed || s == RunCanceled
}

// Known reports whether the state exists.
func (s RunState) Known() bool { return s.Ended() || runTransitions[s] != nil }

// CanBecome reports whether a run may move from this state to the next.
func (s RunState) CanBecome(next RunState) bool { return slices.Contains(runTransitions[s], next) }

// StepState is the state of a step.
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

// The reasons for waiting. A step of a kind without one waits for a retry.
const (
	WaitsForApproval   WaitsFor = "approval"
	WaitsForChildren   WaitsFor = "children"
	WaitsForPrediction WaitsFor = "prediction"
	WaitsForDelay      WaitsFor = "delay"
	WaitsForRetry      WaitsFor = "retry"
	WaitsForBudget     WaitsFor = "budget" // the next day of a daily budget; see Children
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
	// TriggerSchedule is a schedule of the flow; see package triggers.
	TriggerSchedule Trigger = "schedule"
	// TriggerHook is an incoming webhook of the flow.
	TriggerHook Trigger = "hook"
	// TriggerAlarm is an alarm that has a flow among its receivers. Alarms do not look at these runs.
	TriggerAlarm Trigger = "alarm"
	// Work runs, and the reruns of them, have triggers of their own.
	TriggerBatch    Trigger = "batch"
	TriggerTest     Trigger = "test"
	TriggerIndex    Trigger = "index"
	TriggerBackfill Trigger = "backfill"
)

// WorkTriggers are the triggers of work runs. A work run executes an internal document, which Sluice
// itself wrote: it runs a flow for many rows, tests it or indexes for it. It belongs to that flow, but lists of
// runs, counts of runs and rates of success leave it out; its cost counts.
var WorkTriggers = []Trigger{TriggerBatch, TriggerTest, TriggerIndex, TriggerBackfill}

// Work returns the kind of work of a work run, and "" for any other.
func (t Trigger) Work() string {
	if slices.Contains(WorkTriggers, t) {
		return string(t)
	}
	return ""
}

// Usage is the consumption of a step or run.
type Usage struct {
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens"`
	CostNanoUSD  NanoUSD `json:"-"`
	// CachedTokens are input tokens that the provider read from its cache, ReasoningTokens
	// hidden output tokens of reasoning. The fields above include them.
	CachedTokens    int64 `json:"cached_tokens"`
	ReasoningTokens int64 `json:"reasoning_tokens"`
	// UnpricedSteps counts steps that called a paid model without a known price. The cost
	// excludes them.
	UnpricedSteps int64 `json:"-"`
	// LostNanoUSD is the estimate of calls whose bill is unknown, beyond CostNanoUSD. It counts
	// against budgets only, and is stored with them.
	LostNanoUSD NanoUSD `json:"-"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, u.CostNanoUSD + v.CostNanoUSD,
		u.CachedTokens + v.CachedTokens, u.ReasoningTokens + v.ReasoningTokens, u.UnpricedSteps + v.UnpricedSteps, u.LostNanoUSD + v.LostNanoUSD,
	}
}

// Sub returns the difference of both.
func (u Usage) Sub(v Usage) Usage {
	return Usage{
		u.InputTokens - v.InputTokens, u.OutputTokens - v.OutputTokens, u.CostNanoUSD - v.CostNanoUSD,
		u.CachedTokens - v.CachedTokens, u.ReasoningTokens - v.ReasoningTokens, u.UnpricedSteps - v.UnpricedSteps, u.LostNanoUSD - v.LostNanoUSD,
	}
}

// Billed reports whether anything was consumed at a known amount.
func (u Usage) Billed() bool { return u.InputTokens+u.OutputTokens > 0 || u.CostNanoUSD != 0 }

// Progress counts the ended steps and all nodes of the flow.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// Run is one execution of one document with one set of inputs. A start fills in what a caller chose, the
// engine the state and the times, the store the numbers of events. Content (inputs, outputs, error,
// steps) is erased by retention before the row itself.
type Run struct {
	ID          RunID
	WorkspaceID WorkspaceID
	// FlowID is the flow that the run belongs to. A work run belongs to the flow that it works for, though
	// it executes an internal document.
	FlowID   FlowID
	FlowSlug string // slug of the flow when the run was read or accepted; empty if not loaded
	Version  int64  // 0 for a draft run
	Draft    bool
	// DocumentHash identifies the document, which never changes under its hash. So a run finishes on
	// what it started with, whatever is published meanwhile.
	DocumentHash string
	State        RunState
	// Attempt counts claims by workers. A write with an older attempt is rejected (ErrFenced), so that a
	// worker that was presumed dead cannot overwrite the work of its successor.
	Attempt int64
	Trigger Trigger
	// What a schedule or incoming webhook recorded about its start. All are empty for other runs.
	TriggerID   string
	TriggerName string    // at the time of the start; a trigger can be renamed
	ScheduledAt time.Time // the planned time, which can be long before CreatedAt after an outage
	EventKey    string    // identifies the event within the trigger, so that none starts two runs
	// KeyID and UserID are the key or the person that started the run. Both are empty if a trigger did.
	KeyID, UserID string
	ParentRunID   RunID        // of a rerun: the run that it repeats
	Caller        *CallingStep // of a child run; nil for a root run
	Case          *CaseRun     // of a run of a test case, and of the runs below it; otherwise nil
	FlowsAbove    []FlowID     // of a child run: IDs of the flows of its callers, from the top, without duplicates
	Depth         int          // how many runs are above it: the callers of a child run, and runs that called each other over HTTP
	MaxUSD        NanoUSD      // see RunOptions
	// Budgets are the limits that the steps of the run count against: its own and those of its callers, from the top.
	Budgets   []RunBudgetID
	RerunFrom string // of a rerun: the node to start from
	Continues RunID  // the run whose conversations this one continues
	// ContextHash identifies these conversations, and Context has them by node ID. It is loaded for a worker only.
	ContextHash   string
	Traceparent   string // trace context that the run belongs to; empty if it begins a trace. See package trace
	Context       map[string]any
	ChildVersions ChildVersions
	SkipFailed    bool // see Rerun.SkipFailed
	// Inputs are the checked inputs by name, with defaults filled in. Values of secret inputs are
	// references, see SecretInputRef.
	Inputs       *Object
	InputSummary string // beginning of the inputs; set by the store
	// Outputs are the results by name. A flow whose output is skipped has no member for it.
	Outputs  *Object
	Error    *Error   // why the run failed or was canceled; nil otherwise
	Metadata *Object  // what the caller stored with the run; no code reads it
	Usage    Usage    // of all steps so far
	Models   []string // models that were used (provider/model), in the order of first use
	Progress Progress
	Seq      int64 // number of the newest event of the run
	RunSeq   int64 // number of the event with the current run state
	Writes   int64 // counts the writes of a worker, to detect repeated ones; 0: not counted
	Save     bool  // false: content is erased once the run and its deliveries have ended
	// Timeout is the time limit of the run. Time in the queue and time that the run waits do not count;
	// DeadlineAt moves with every wait.
	Timeout         time.Duration
	CancelRequested bool // stored by the caller that cancels; the worker of the run ends it
	StopRequested   bool // the run is canceled once its agents have ended their turns
	Untrusted       Untrusted
	Crashes         int // consecutive crashes without progress in between; a suspect ends as poisoned
	CreatedAt       time.Time
	StartedAt       time.Time // zero until then, like the times below
	EndedAt         time.Time
	ExpiresAt       time.Time // when retention erases the content
	DeadlineAt      time.Time
	WaitingSince    time.Time // begin of the current wait without a worker; zero while a step runs
	Erased          Code      // why the content was erased (result_not_saved, run_expired); empty while it exists
	// Sizes holds the stored bytes of each step by its path, and of outputs and error under "".
	// The store maintains it while a worker has the run; nil means not loaded.
	Sizes map[string]int64
	// NoWebhook means that the run has no per-run webhook. It is false if that was not loaded.
	NoWebhook bool
	// NoChildren means that no step can start child runs. It is false if the document was not
	// checked.
	NoChildren bool
}

// Step is the execution of one node in one run, or of one sub-step of a node. Its state machine is in
// docs/design.md; only Plan moves it along.
type Step struct {
	// Path identifies the step in its run: the ID of the node, and for a sub-step the path of its parent,
	// SubSeparator and its own name, such as agent.3.1. Node is the node whose kind is executed.
	Path, Node, Kind string
	State            StepState
	Attempt          int       // number of starts, including attempts that a crash ended
	Failures         int       // failed attempts, for the retry policy
	Attempts         []Attempt // see Tries; empty for a single attempt
	// NodeHash and InputHash identify what was executed: the declaration of the node, and its
	// resolved input. A rerun reuses the outputs of a step if both are equal.
	NodeHash  string
	InputHash string
	Input     map[string]any // by port, as the kind received it; secrets are references
	Outputs   map[string]any // by port; nil unless the step succeeded
	Bulky     bool           // set for a write: outputs too large for the row are stored separately
	Untrusted bool           // the outputs have content from outside
	// Interrupted is set for a write: a worker died during a paid call, so what the step had reserved is lost.
	Interrupted bool
	InBudget    bool   // set for a write: a sub-step counts against the budget of the step that it belongs to
	Error       *Error // of the last attempt, also while the step retries
	Usage       Usage  // of all attempts
	Spent       Usage  // usage since the previous write of the step
	Saved       any    // saved state; see In.Save and Suspension
	Seq         int64  // number of the event with the current state
	OutputSeq   int64  // number of the output event, for output nodes
	StartedAt   time.Time
	EndedAt     time.Time
	WaitUntil   time.Time // when a waiting or retrying step continues at the latest
}

// RunWrite is progress of a run that is committed in one transaction. It fails with ErrFenced
// if the attempt of the run is no longer Run.Attempt. The end of a run whose cancellation was
// requested fails with ErrCancelRequested, unless its state is canceled.
type RunWrite struct {
	Run        *Run // the new row
	Steps      []Step
	Deliveries []NewDelivery
	Durable    bool      // must be synced to disk before the write returns
	Progressed bool      // a step has ended, so the crash count is reset
	Busy       bool      // the run executes code inside the process after this write
	End        bool      // the state of the run is final
	WakeAt     time.Time // when a waiting run continues; zero unless Run.State is waiting
	Draining   bool      // the run waits only for its child runs, and ends after the last of them
}

// NewDelivery is a webhook message that is sent once its transaction is durable.
type NewDelivery struct {
	ID        string // derived from the step, so that a repeated step does not send twice; empty: a new one
	Node      string // the webhook node; empty for the per-run webhook
	OfRun     bool   // sent to the per-run webhook, if the run has one; only ID and Body are used
	URL       string
	Host      string // see WebhookOwner: host of a URL that is typed in the node, otherwise empty
	Body      []byte
	Secret    any    // secret value; nil for the secret of the node, or of the key that started the run
	Header    string // custom signature header
	Signature any    // value of that header: secret reference or text
}

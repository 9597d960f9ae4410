package jobs

import (
	"context"
	"time"

	"sluice/flow"
	"sluice/flow/engine"
)

// Store is the part of the database that this package needs. Its transactions
// insert the jobs that they cause into the Queue, so that both commit together.
//
// Methods with an attempt number return flow.ErrFenced if the run or the delivery
// has been taken over under a newer one. Methods with a limit change at most that
// many rows and return how many they changed.
type Store interface {
	flow.BudgetStore
	engine.CallLimiter
	flowStore
	runStore
	recoveryStore
	expiryStore
	fileStore
	deliveryStore
	triggerStore
	alarmStore
	knowledgeStore
	caseStore

	// AllCan reports whether all live instances understand a feature.
	AllCan(ctx context.Context, f flow.Feature) (bool, error)
	// Now returns the time of a clock that all instances share.
	Now() time.Time
	// Changes returns a number that differs from an earlier one if workers may have to
	// react to a write. On PostgreSQL a lost notification hides the writes of other
	// instances, so callers must also poll.
	Changes(ctx context.Context) (int64, error)
	// PublicError returns a flow.Error for a database error that has a public code,
	// and other errors unchanged.
	PublicError(err error) error
	// Listen calls notify with the ID of each run that another instance writes, or
	// with "" if any run may have been written. It blocks until ctx ends or the
	// connection is lost.
	Listen(ctx context.Context, notify func(runID flow.RunID)) error
	// FindPeer returns the instance that works on a run, or the zero Peer if no
	// instance does or it accepts no connections.
	FindPeer(ctx context.Context, runID flow.RunID) (flow.Peer, error)
}

// flowStore finds flows, their versions and documents.
type flowStore interface {
	FindFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (*flow.Flow, error)
	FindFlowID(ctx context.Context, ws flow.WorkspaceID, slug string) (flow.FlowID, error)
	// RecentLiveVersion returns the live version from a cache, or false if it is not
	// cached. The cache may be stale: StartRun and CheckLiveVersion verify it.
	RecentLiveVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) (flow.LiveVersion, bool, error)
	CheckLiveVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, number int64) error
	FindVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64) (*flow.Version, error)
	FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error)
	ListPins(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]flow.Pin, error)
}

// runStore starts, reads and writes runs.
type runStore interface {
	// WeighRun returns the workspace of a run, and how many bytes LoadRun would read.
	WeighRun(ctx context.Context, runID flow.RunID) (flow.WorkspaceID, int64, error)
	engine.Journal // also sets Run.ExpiresAt when it commits an end

	SaveApproval(ctx context.Context, tokenHash string, a *flow.Approval) error
	TakeDecision(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string, now time.Time) (*flow.Decision, error)

	ListApprovals(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Approval, error)

	FindChildren(ctx context.Context, step flow.CallingStep) (*flow.Children, error)
	// TreeDocuments returns the root of the tree that a run belongs to, and the hashes of the
	// documents that the runs of the tree execute, that of the root first.
	TreeDocuments(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (root flow.RunID, hashes []string, err error)
	ListChildren(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Children, error)
	// InBatch reports whether a run is below a batch.
	InBatch(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (bool, error)
	BeginChildren(ctx context.Context, c *flow.Children, t flow.ChildTemplate) error
	AddChildItems(ctx context.Context, step flow.CallingStep, items []flow.ChildItem) error
	StartChildren(ctx context.Context, step flow.CallingStep, total, failed, reused int) (*flow.Children, error)
	RecountChildren(ctx context.Context, step flow.CallingStep) (*flow.Children, error)
	MarkChildrenRead(ctx context.Context, step flow.CallingStep) error
	StopChildren(ctx context.Context, step flow.CallingStep) ([]flow.OpenChild, error)
	LinkFiles(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, ids ...string) error
	ReadChildren(ctx context.Context, ws flow.WorkspaceID, step flow.CallingStep, from, to int) ([]flow.ChildResult, error)

	RunSecrets(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (map[string]string, error)
	// FindRunContext returns the conversations that a run continues, as JSON.
	FindRunContext(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error)
	FindStarted(ctx context.Context, ws flow.WorkspaceID, idempotencyKey, fingerprint string) (*flow.Run, error)
	StartRun(ctx context.Context, n flow.NewRun) (flow.Started, error)
	FindRun(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
	// FindRunHead is FindRun without large inputs, outputs and metadata; whole reports that the run has them.
	FindRunHead(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (run *flow.Run, whole bool, err error)
	FindSteps(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) ([]flow.Step, error)
	FindStep(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string) (*flow.Step, error)
	FindStepHeads(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, prefix string) ([]flow.Step, error)
	LoadRun(ctx context.Context, runID flow.RunID, attempt int64) (*flow.Run, []flow.Step, error)
	// HoldRun records that this instance still holds the run, or returns flow.ErrFenced
	// if another attempt is the current one.
	HoldRun(ctx context.Context, runID flow.RunID, attempt int64) error
	FailRun(ctx context.Context, runID flow.RunID, attempt int64, cause *flow.Error) (*flow.Run, error)

	RequestCancel(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, runID flow.RunID) (*flow.Run, error)
	// StopRequested lists the runs that the instance works on and that are to be canceled after
	// the turns of their agents.
	StopRequested(ctx context.Context, instance string) ([]flow.RunID, error)
	// CancelRequested lists the canceled runs that the instance still works on.
	CancelRequested(ctx context.Context, instance string) ([]flow.RunID, error)

	AdmitRuns(ctx context.Context, limit int) (int, error)
	DueWakes(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error)
}

// recoveryStore records which instance works on which run or delivery.
type recoveryStore interface {
	Heartbeat(ctx context.Context, instance string, workers int) error
	LeaveInstance(ctx context.Context, instance string) error
	Recover(ctx context.Context, instance string) (flow.Recovery, error)
	// RequeueRuns returns runs to the queue without counting a crash.
	RequeueRuns(ctx context.Context, attempts map[flow.RunID]int64) error

	TrySuspects(ctx context.Context, runIDs []flow.RunID) (attempts map[flow.RunID]int64, err error)
	SaveBusy(ctx context.Context, started, ended []flow.RunID) error

	ListHolds(ctx context.Context, instance string) ([]flow.Hold, error)
	ReleaseHolds(ctx context.Context, instance string, list []flow.Hold) error
	TakeOverRun(ctx context.Context, runID flow.RunID, attempt int64) (next int64, err error)
}

// expiryStore erases expired data.
type expiryStore interface {
	ExpireRuns(ctx context.Context, now time.Time, limit int) (int, error)
	EraseUnsaved(ctx context.Context, formsEnded time.Time, limit int) (int, error)
	FoldUsage(ctx context.Context) error
	DropStale(ctx context.Context, now time.Time, limit int) (int, error)
	DropTombstones(ctx context.Context, olderThan time.Time, limit int) (int, error)
}

// fileStore is the part of the store that runs and retention need of files.
type fileStore interface {
	FindFiles(ctx context.Context, ws flow.WorkspaceID, ids []string) (map[string]*flow.File, error)
	FileUses(ctx context.Context, ws flow.WorkspaceID, id string) ([]flow.FileUse, error)
	ExpireFiles(ctx context.Context, now time.Time, limit int) (int, error)
	RemoveErasedFiles(ctx context.Context, limit int) (int, error)
	SweepFiles(ctx context.Context, before time.Time) error
}

// deliveryStore is the part of the store that sends deliveries.
type deliveryStore interface {
	// DueDeliveries creates jobs for due deliveries that have a free slot.
	DueDeliveries(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error)
	FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error)
	ReturnDelivery(ctx context.Context, id string, attempt int64) error
	RecordAttempt(ctx context.Context, a flow.DeliveryAttempt, next flow.DeliveryOutcome) error
	DeliverySecrets(ctx context.Context, d *flow.Delivery) ([]flow.SigningSecret, error)
}

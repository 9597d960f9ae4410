package jobs

import (
	"context"
	"time"

	"sluice/flow"
)

// Store is what this package needs of the database. Its transactions hand the
// jobs they cause to the Queue, in the same commit.
type Store interface {
	flow.Journal // and sets Run.ExpiresAt once an end is committed
	flow.BudgetStore

	FindFlow(ctx context.Context, ws, flowID string) (*flow.Flow, error)
	RecentLiveVersion(ctx context.Context, ws, flowID string) (flow.LiveVersion, bool, error)
	CheckLiveVersion(ctx context.Context, ws, flowID string, number int64) error
	FindVersion(ctx context.Context, ws, flowID string, n int64) (*flow.Version, error)
	FindDocument(ctx context.Context, ws, hash string) ([]byte, error)
	ListPins(ctx context.Context, ws, flowID string) ([]flow.Pin, error)

	FindStarted(ctx context.Context, ws, idempotencyKey, fingerprint string) (*flow.Run, error)
	StartRun(ctx context.Context, n flow.NewRun) (flow.Started, error)
	FindRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	FindSteps(ctx context.Context, ws, runID string) ([]flow.Step, error)
	LoadRun(ctx context.Context, runID string, attempt int64) (*flow.Run, []flow.Step, error)
	HoldRun(ctx context.Context, runID string, attempt int64) error
	RequestCancel(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	CancelRequested(ctx context.Context, instance string) ([]string, error)
	HandBack(ctx context.Context, attempts map[string]int64) error
	FailRun(ctx context.Context, runID string, attempt int64, cause *flow.Error) (*flow.Run, error)

	Recover(ctx context.Context, instance string) (flow.Recovery, error)
	TrySuspects(ctx context.Context, runIDs []string) (attempts map[string]int64, err error)
	ListHolds(ctx context.Context, instance string) ([]flow.Hold, error)
	ReleaseHolds(ctx context.Context, instance string, list []flow.Hold) error
	TakeHold(ctx context.Context, runID string, attempt int64) (next int64, err error)
	SaveBusy(ctx context.Context, begun, over []string) error
	Now() time.Time // shared by all instances
	// NameError gives an error of the database its public code, if it has one.
	NameError(err error) error
	Heartbeat(ctx context.Context, instance string, workers int) error
	LeaveInstance(ctx context.Context, instance string) error
	AdmitRuns(ctx context.Context, limit int) (int, error)
	Changes(ctx context.Context) (int64, error)
	DueWakes(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error)
	ExpireRuns(ctx context.Context, now time.Time, limit int) (int, error)
	EraseUnsaved(ctx context.Context, limit int) (int, error)
	FoldUsage(ctx context.Context) error
	DropStale(ctx context.Context, now time.Time, limit int) (int, error)
	DropTombstones(ctx context.Context, olderThan time.Time, limit int) (int, error)

	FindFiles(ctx context.Context, ws string, ids []string) (map[string]*flow.File, error)
	FileUses(ctx context.Context, ws, id string) ([]flow.FileUse, error)
	ExpireFiles(ctx context.Context, now time.Time, limit int) (int, error)
	RemoveErasedFiles(ctx context.Context, limit int) (int, error)
	SweepFiles(ctx context.Context, before time.Time) error

	DueDeliveries(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error)
	FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error)
	ReturnDelivery(ctx context.Context, id string, attempt int64) error
	RecordAttempt(ctx context.Context, a flow.DeliveryAttempt, next flow.DeliveryOutcome) error
	DeliverySecrets(ctx context.Context, d *flow.Delivery) ([]flow.SigningSecret, error)

	FindPeer(ctx context.Context, runID string) (flow.Peer, error)
	Listen(ctx context.Context, told func(runID string)) error
}

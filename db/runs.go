package db

import (
	"context"
	"time"

	"sluice/flow"
)

// NewRun is a run to be started.
type NewRun struct {
	Run            flow.Run
	Document       []byte // pinned when it is not stored yet; only draft runs need it
	IdempotencyKey string
	Fingerprint    string            // of the request, compared when the key is used again
	Webhook        *flow.NewDelivery // URL and secret of the per-run webhook
	KeyConcurrency int64             // open runs that the key may have; 0 means no limit
}

// Started is the run that a start led to. Replayed tells that an earlier start
// with the same idempotency key made it.
type Started struct {
	Run      *flow.Run
	Replayed bool
}

// RunFilter chooses runs. Zero fields choose all; WorkspaceID is needed.
type RunFilter struct {
	WorkspaceID, FlowID, KeyID  string
	States                      []flow.RunState
	CreatedAfter, CreatedBefore time.Time
	BeforeID                    string // for the next page: the last ID of the one before
	Limit                       int
}

// FindRun returns a run; an empty flowID means any flow of the workspace.
func (s *Store) FindRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error) {
	panic("unfinished")
}

// ListRuns returns the chosen runs, newest first.
func (s *Store) ListRuns(ctx context.Context, f RunFilter) ([]flow.Run, error) { panic("unfinished") }

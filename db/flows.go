package db

import (
	"context"

	"sluice/flow"
)

// CreateFlow adds a flow and makes its signing secret. An empty ID is filled in.
func (s *Store) CreateFlow(ctx context.Context, f *flow.Flow) error { panic("unfinished") }

// UpdateDraft replaces the draft and counts its revision up.
func (s *Store) UpdateDraft(ctx context.Context, ws, flowID, name, description string, draft []byte) error {
	panic("unfinished")
}

// SetFlowLimits bounds the flow's running and queued runs; 0 lifts a bound.
func (s *Store) SetFlowLimits(ctx context.Context, ws, flowID string, maxRunning, maxQueued int64) error {
	panic("unfinished")
}

// ArchiveFlow takes the flow out of every list; its runs stay.
func (s *Store) ArchiveFlow(ctx context.Context, ws, flowID string) error { panic("unfinished") }

// FindFlow returns a flow with the hash of its live version.
func (s *Store) FindFlow(ctx context.Context, ws, id string) (*flow.Flow, error) { panic("unfinished") }

// ListFlows returns the flows after an ID that are not archived, by ID.
func (s *Store) ListFlows(ctx context.Context, ws, afterID string, limit int) ([]flow.Flow, error) {
	panic("unfinished")
}

// SigningSecret is the whsec_ secret that was generated with the flow.
func (s *Store) SigningSecret(ctx context.Context, ws, flowID string) (string, error) {
	panic("unfinished")
}

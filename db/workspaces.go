package db

import (
	"context"
	"fmt"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
)

// CreateOwnedWorkspace creates a workspace with an owner. It sets ID and time.
func (s *Workspaces) CreateOwnedWorkspace(ctx context.Context, w *flow.Workspace, ownerID string) error {
	s.newWorkspace(w)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := insertWorkspace(tx, w); err != nil {
			return err
		}
		return addMember(tx, w.ID, ownerID, flow.MemberOwner)
	})
}

// newWorkspace sets the ID, the time and defaults.
func (s *Workspaces) newWorkspace(w *flow.Workspace) {
	w.ID, w.Name, w.CreatedAt = flow.WorkspaceID(s.DB.IDs().New(flow.PrefixWorkspace)), dbconn.ValidText(strings.TrimSpace(w.Name)), dbconn.TimeOf(s.DB.NowMicros())
	if w.MaxQueued == 0 {
		w.MaxQueued = fairness.DefaultMaxQueued
	}
}

func insertWorkspace(tx *core.Tx, w *flow.Workspace) error {
	return tx.Queries.InsertWorkspace(tx.Ctx, gen.InsertWorkspaceParams{
		ID: w.ID, Name: w.Name, MaxRunning: w.MaxRunning, MaxQueued: w.MaxQueued, CreatedAt: dbconn.Micros(w.CreatedAt),
	})
}

// RenameWorkspace sets the name of a workspace.
func (s *Workspaces) RenameWorkspace(ctx context.Context, ws flow.WorkspaceID, name string) error {
	return s.DB.Update(ctx, "workspace", func(tx *core.Tx) (int64, error) {
		return tx.Queries.RenameWorkspace(tx.Ctx, gen.RenameWorkspaceParams{ID: ws, Name: dbconn.ValidText(strings.TrimSpace(name))})
	})
}

// SetWorkspaceLimits limits the running and queued runs of all flows together. 0
// means no limit of running runs, and flow.DefaultMaxQueued queued ones.
func (s *Workspaces) SetWorkspaceLimits(ctx context.Context, ws flow.WorkspaceID, maxRunning, maxQueued int64) error {
	return s.DB.Update(ctx, "workspace", func(tx *core.Tx) (int64, error) {
		clear(tx.Batch.Counts.Limits)
		tx.Batch.LimitsChanged = true
		return tx.Queries.SetWorkspaceLimits(tx.Ctx, gen.SetWorkspaceLimitsParams{ID: ws, MaxRunning: maxRunning, MaxQueued: maxQueued})
	})
}

// CreateWorkspace adds a workspace unless one with this ID exists.
func (s *Workspaces) CreateWorkspace(ctx context.Context, w flow.Workspace) error {
	w.Name, w.CreatedAt = dbconn.ValidText(w.Name), dbconn.TimeOf(s.DB.NowMicros())
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error { return insertWorkspace(tx, &w) })
}

// FindWorkspace returns a workspace.
func (s *Workspaces) FindWorkspace(ctx context.Context, id flow.WorkspaceID) (*flow.Workspace, error) {
	w, err := s.DB.Reads.FindWorkspace(ctx, id)
	return dbconn.ConvertRow(w, err, "workspace", func(w gen.Workspace) flow.Workspace {
		return flow.Workspace{ID: w.ID, Name: w.Name, MaxRunning: w.MaxRunning, MaxQueued: w.MaxQueued, Timezone: w.Timezone, CreatedAt: dbconn.TimeOf(w.CreatedAt)}
	})
}

// SetTimezone sets the time zone of schedules that name none.
func (s *Workspaces) SetTimezone(ctx context.Context, ws flow.WorkspaceID, timezone string) error {
	return s.DB.Update(ctx, "workspace", func(tx *core.Tx) (int64, error) {
		return tx.Queries.SetTimezone(tx.Ctx, gen.SetTimezoneParams{ID: ws, Timezone: timezone})
	})
}

// ListWorkspaceIDs returns the IDs of all workspaces.
func (s *Workspaces) ListWorkspaceIDs(ctx context.Context) ([]flow.WorkspaceID, error) {
	ids, err := s.DB.Reads.ListWorkspaceIDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("list workspaces: %w", err)
	}
	return ids, nil
}

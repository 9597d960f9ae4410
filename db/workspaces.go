package db

import (
	"context"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// FoundWorkspace creates a workspace with an owner. It sets ID and time.
func (s Workspaces) FoundWorkspace(ctx context.Context, w *flow.Workspace, ownerID string) error {
	s.newWorkspace(w)
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := insertWorkspace(tx, w); err != nil {
			return err
		}
		return addMember(tx, w.ID, ownerID, flow.MemberOwner)
	})
}

// newWorkspace sets the ID, the time and defaults.
func (s Workspaces) newWorkspace(w *flow.Workspace) {
	w.ID, w.Name, w.CreatedAt = s.IDs().New(flow.PrefixWorkspace), dbconn.ValidText(strings.TrimSpace(w.Name)), dbconn.TimeOf(s.NowMicros())
	if w.MaxQueued == 0 {
		w.MaxQueued = flow.DefaultMaxQueued
	}
}

func insertWorkspace(tx *core.Tx, w *flow.Workspace) error {
	return tx.InsertWorkspace(tx.Ctx, gen.InsertWorkspaceParams{
		ID: w.ID, Name: w.Name, MaxRunning: w.MaxRunning, MaxQueued: w.MaxQueued, CreatedAt: dbconn.Micros(w.CreatedAt),
	})
}

// RenameWorkspace sets the name of a workspace.
func (s Workspaces) RenameWorkspace(ctx context.Context, ws, name string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.RenameWorkspace(tx.Ctx, gen.RenameWorkspaceParams{ID: ws, Name: dbconn.ValidText(strings.TrimSpace(name))})
		return dbconn.MustAffect(n, err, "workspace")
	})
}

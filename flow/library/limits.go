package library

import (
	"context"

	"sluice/flow"
	"sluice/flow/audit"
)

// LimitStore stores the limits of flows and the quotas of workspaces.
type LimitStore interface {
	Recorder
	SetFlowLimits(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, l flow.Limits) error
	SetQuota(ctx context.Context, ws flow.WorkspaceID, own flow.Storage) error
}

// Limits changes the limits of flows and the quotas of workspaces.
type Limits struct{ Store LimitStore }

// SetFlow changes the limits of a flow. caller is the key in the request, or nil: a key with limits
// may only lower them. A change of nothing has no audit entry.
func (s *Limits) SetFlow(ctx context.Context, by flow.Actor, caller *flow.Key, f *flow.Flow, to flow.Limits) error {
	if caller != nil && Limited(caller) && loosensFlow(f.Limits, to) {
		return errLoosens("a flow")
	}
	changes := audit.LimitChanges(f.Limits, to)
	if changes == "" {
		return nil
	}
	return record(ctx, s.Store, by, entry(f.WorkspaceID, "flow.limits", string(f.ID), changes), func(ctx context.Context) error {
		return s.Store.SetFlowLimits(ctx, f.WorkspaceID, f.ID, to)
	})
}

// loosensFlow reports whether any limit of a flow is higher than before or was removed, or
// models without a price are newly allowed.
func loosensFlow(before, after flow.Limits) bool {
	return loosens(before.MaxRunning, after.MaxRunning) || loosens(before.MaxQueued, after.MaxQueued) || loosens(before.RunsPerDay, after.RunsPerDay) ||
		loosens(int64(before.USDPerDay), int64(after.USDPerDay)) || after.AllowUnpriced && !before.AllowUnpriced
}

// SetWorkspace changes the quotas of a workspace. The change is in its audit log, so that its members
// see it, and in that of the workspace from which the operator acts, if that is another one.
func (s *Limits) SetWorkspace(ctx context.Context, by flow.Actor, from flow.WorkspaceID, w *flow.WorkspaceStorage, to flow.Storage) error {
	changes := audit.QuotaChanges(w.Own, to)
	if changes == "" {
		return nil
	}
	ws := flow.WorkspaceID(w.ID)
	return record(ctx, s.Store, by, entry(ws, "workspace.limits", w.ID, changes), func(ctx context.Context) error {
		if from != ws {
			if err := record(ctx, s.Store, by, entry(from, "workspace.limits", w.ID, changes), nothing); err != nil {
				return err
			}
		}
		return s.Store.SetQuota(ctx, ws, to)
	})
}

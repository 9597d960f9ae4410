package db

import (
	"context"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/slugs"
	"sluice/flow"
	"sluice/flow/alarms"
	"sluice/flow/document"
	"sluice/flow/triggers"
)

// CreateFlow adds a flow and creates its signing secret. It sets empty ID and
// times, a revision of at least 1, and an empty slug from the name. A slug that is
// set must be free, otherwise the error is CodeSlugTaken.
func (s *Flows) CreateFlow(ctx context.Context, f *flow.Flow) error {
	if f.ID == "" {
		f.ID = s.DB.IDs().NewFlow()
	}
	if f.CreatedAt.IsZero() {
		f.CreatedAt = dbconn.TimeOf(s.DB.NowMicros())
	}
	f.UpdatedAt, f.Rev = f.CreatedAt, max(f.Rev, 1)
	signing, err := s.DB.Seal([]byte(core.NewSigningSecret()), f.WorkspaceID, string(f.ID), "signing")
	if err != nil {
		return err
	}
	files, slug := documentFiles(f.Draft), ""
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) (err error) {
		if _, err := tx.Queries.FindWorkspace(tx.Ctx, f.WorkspaceID); err != nil {
			return dbconn.NotFoundErr(err, "workspace")
		}
		if err := keepFiles(tx, f.WorkspaceID, files); err != nil {
			return err
		}
		if slug, err = slugs.New(tx, f); err != nil {
			return err
		}
		err = tx.Queries.InsertFlow(tx.Ctx, gen.InsertFlowParams{
			ID: f.ID, Slug: slug, WorkspaceID: f.WorkspaceID, Name: dbconn.ValidText(f.Name), Description: dbconn.ValidText(f.Description), Tags: dbconn.EncodeList(f.Tags), Draft: string(f.Draft),
			Rev: f.Rev, MaxRunning: f.MaxRunning, MaxQueued: f.MaxQueued, RunsPerDay: f.RunsPerDay, UsdPerDay: f.USDPerDay, AllowUnpriced: dbconn.BoolInt(f.AllowUnpriced), Signing: signing, CreatedAt: dbconn.Micros(f.CreatedAt),
		})
		if err != nil {
			return err
		}
		return tx.TrackWithinQuota(f.WorkspaceID, flow.Storage{Bytes: flow.StorageItem + int64(len(f.Draft)), Flows: 1})
	})
	if err == nil {
		f.Slug = slug
	}
	return err
}

// anyRev stands for a draft at whatever revision it is.
const anyRev int64 = -1

// UpdateDraft replaces the draft and increments its revision.
func (s *Flows) UpdateDraft(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, name, description string, draft []byte) error {
	return s.ReplaceDraft(ctx, ws, flowID, anyRev, name, description, draft)
}

// ReplaceDraft is UpdateDraft for a draft that is still at a revision. Otherwise it
// returns CodeEditsMissed and changes nothing.
func (s *Flows) ReplaceDraft(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, base int64, name, description string, draft []byte) error {
	files := documentFiles(draft)
	var rev int64
	err := s.DB.Write(ctx, core.Durable, func(tx *core.Tx) (err error) {
		held, err := tx.Queries.HoldFlow(tx.Ctx, gen.HoldFlowParams{ID: flowID, WorkspaceID: ws})
		if err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		if base != anyRev && base != held.Rev {
			return flow.Errorf(document.CodeEditsMissed, "The draft has changed since it was read. Read it again.")
		}
		if err := keepFiles(tx, ws, files); err != nil {
			return err
		}
		rev, err = tx.Queries.UpdateDraft(tx.Ctx, gen.UpdateDraftParams{
			ID: flowID, WorkspaceID: ws, Name: dbconn.ValidText(name), Description: dbconn.ValidText(description), Draft: string(draft), UpdatedAt: s.DB.NowMicros(),
		})
		if err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		if err := notifyEdited(tx, ws, flowID, rev); err != nil {
			return err
		}
		return tx.TrackWithinQuota(ws, flow.Storage{Bytes: int64(len(draft)) - held.Bytes})
	})
	if err == nil {
		s.DB.AfterCommit(ctx, func() { s.DB.Edited(ws, flowID, rev) })
	}
	return err
}

// ArchiveFlow removes the flow from all lists and deletes its edits and pinned
// outputs. Its runs and versions stay, and its triggers and alarms are turned off.
func (s *Flows) ArchiveFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		held, err := tx.Queries.HoldFlow(tx.Ctx, gen.HoldFlowParams{ID: flowID, WorkspaceID: ws})
		if err != nil {
			return dbconn.NotFoundErr(err, "flow")
		}
		n, err := tx.Queries.ArchiveFlow(tx.Ctx, gen.ArchiveFlowParams{ID: flowID, WorkspaceID: ws, ArchivedAt: s.DB.NowMicros()})
		if err := dbconn.MustAffect(n, err, "flow"); err != nil {
			return err
		}
		if err := tx.Queries.TurnOffTriggers(tx.Ctx, gen.TurnOffTriggersParams{FlowID: flowID, WorkspaceID: ws, Reason: triggers.ReasonArchived, ChangedAt: s.DB.NowMicros()}); err != nil {
			return err
		}
		if err := tx.Queries.TurnOffAlarms(tx.Ctx, gen.TurnOffAlarmsParams{FlowID: flowID, WorkspaceID: ws, Reason: alarms.ReasonArchived, ChangedAt: s.DB.NowMicros()}); err != nil {
			return err
		}
		if err := endWaiting(tx, flowID, "", "The flow was archived."); err != nil {
			return err
		}
		tx.TrackStorage(ws, flow.Storage{Flows: -dbconn.BoolInt(held.ArchivedAt == 0)})
		return deleteEdits(tx, ws, flowID)
	})
}

// FindFlow returns a flow with the hash of its live version, archived or not.
func (s *Flows) FindFlow(ctx context.Context, ws flow.WorkspaceID, id flow.FlowID) (*flow.Flow, error) {
	r, err := s.DB.Reads.FindFlow(ctx, gen.FindFlowParams{ID: id, WorkspaceID: ws})
	return dbconn.ConvertRow(gen.ListFlowsRow(r), err, "flow", flowOf)
}

// ListFlows returns the flows after an ID that are not archived, by ID.
func (s *Flows) ListFlows(ctx context.Context, ws flow.WorkspaceID, afterID flow.FlowID, limit int) ([]flow.Flow, error) {
	rows, err := s.DB.Reads.ListFlows(ctx, gen.ListFlowsParams{WorkspaceID: ws, AfterID: afterID, MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, flowOf, "list flows")
}

// HadFlows reports whether the workspace has or ever had a flow.
func (s *Flows) HadFlows(ctx context.Context, ws flow.WorkspaceID) (bool, error) {
	_, err := s.DB.Reads.AnyFlow(ctx, ws)
	if dbconn.IsNoRows(err) {
		return false, nil
	}
	return err == nil, err
}

func flowOf(r gen.ListFlowsRow) flow.Flow {
	return flow.Flow{
		ID: r.ID, Slug: r.Slug, AppliedRev: r.AppliedRev, AppliedSource: r.AppliedSource, WorkspaceID: r.WorkspaceID, Name: r.Name, Description: r.Description, Tags: dbconn.DecodeList[string](r.Tags), Draft: []byte(r.Draft), Rev: r.Rev,
		LiveVersion: r.LiveVersion, LiveHash: r.LiveHash, Limits: flow.Limits{MaxRunning: r.MaxRunning, MaxQueued: r.MaxQueued, RunsPerDay: r.RunsPerDay, USDPerDay: r.UsdPerDay, AllowUnpriced: r.AllowUnpriced != 0},
		CreatedAt: dbconn.TimeOf(r.CreatedAt), UpdatedAt: dbconn.TimeOf(r.UpdatedAt), ArchivedAt: dbconn.TimeOf(r.ArchivedAt),
	}
}

package db

import (
	"context"
	"fmt"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/companion"
)

// LockCompanion returns the state of a companion and locks it until the end of the transaction of the context, so that the
// changes of two callers follow each other.
func (s *Companions) LockCompanion(ctx context.Context, id companion.ID) (state companion.State, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		r, err := tx.Queries.LockCompanion(tx.Ctx, gen.LockCompanionParams{OwnerID: id.Owner, Name: id.Name, WorkspaceID: id.WorkspaceID, ChangedAt: s.DB.NowMicros()})
		if err != nil {
			return fmt.Errorf("lock the companion %s of %s: %w", id.Name, id.Owner, err)
		}
		state = companionOf(r)
		return nil
	})
	return state, err
}

// SaveCompanion stores the state of a companion, and a new revision of its body if there is one.
func (s *Companions) SaveCompanion(ctx context.Context, c companion.State, body *companion.Body) error {
	now := s.DB.NowMicros()
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		changed := dbconn.Micros(c.ChangedAt)
		if body != nil {
			changed = now
			err := tx.Queries.InsertCompanionBody(tx.Ctx, gen.InsertCompanionBodyParams{
				OwnerID: c.Owner, Name: c.Name, Rev: c.Rev, WorkspaceID: c.WorkspaceID, Hash: c.Hash, Body: string(body.Content), MadeBy: body.By, CreatedAt: now,
			})
			if err != nil {
				return fmt.Errorf("save the companion %s of %s: %w", c.Name, c.Owner, err)
			}
			if err := tx.Queries.PruneCompanionBodies(tx.Ctx, gen.PruneCompanionBodiesParams{OwnerID: c.Owner, Name: c.Name, Rev: c.Rev - companion.MaxBodies}); err != nil {
				return fmt.Errorf("prune the companion %s of %s: %w", c.Name, c.Owner, err)
			}
		}
		return tx.Queries.UpdateCompanion(tx.Ctx, gen.UpdateCompanionParams{OwnerID: c.Owner, Name: c.Name, Rev: c.Rev, Hash: c.Hash, AppliedRev: c.AppliedRev, Source: c.Source, ChangedAt: changed})
	})
}

// FindCompanion returns the state of a companion; its revision is 0 if nothing was ever in it.
func (s *Companions) FindCompanion(ctx context.Context, id companion.ID) (companion.State, error) {
	r, err := s.DB.Reads.FindCompanion(ctx, gen.FindCompanionParams{OwnerID: id.Owner, Name: id.Name, WorkspaceID: id.WorkspaceID})
	if dbconn.IsNoRows(err) {
		return companion.State{ID: id}, nil
	}
	if err != nil {
		return companion.State{}, fmt.Errorf("find the companion %s of %s: %w", id.Name, id.Owner, err)
	}
	return companionOf(r), nil
}

// ListCompanions returns the companions of a workspace.
func (s *Companions) ListCompanions(ctx context.Context, ws flow.WorkspaceID) ([]companion.State, error) {
	rows, err := s.DB.Reads.ListCompanions(ctx, ws)
	return dbconn.ConvertRows(rows, err, companionOf, "list the companions of %s", ws)
}

// FindCompanionBody returns a revision of a companion that is still kept.
func (s *Companions) FindCompanionBody(ctx context.Context, id companion.ID, rev int64) (*companion.Body, error) {
	r, err := s.DB.Reads.FindCompanionBody(ctx, gen.FindCompanionBodyParams{OwnerID: id.Owner, Name: id.Name, WorkspaceID: id.WorkspaceID, Rev: rev})
	return dbconn.ConvertRow(r, err, "revision", func(r gen.CompanionBody) companion.Body {
		return companion.Body{Rev: r.Rev, Hash: r.Hash, Content: []byte(r.Body), By: r.MadeBy, CreatedAt: dbconn.TimeOf(r.CreatedAt)}
	})
}

// ListCompanionBodies returns the revisions of a companion that are kept, newest first, without their content.
func (s *Companions) ListCompanionBodies(ctx context.Context, id companion.ID) ([]companion.Body, error) {
	rows, err := s.DB.Reads.ListCompanionBodies(ctx, gen.ListCompanionBodiesParams{OwnerID: id.Owner, Name: id.Name, WorkspaceID: id.WorkspaceID, MaxRows: companion.MaxBodies})
	return dbconn.ConvertRows(rows, err, func(r gen.ListCompanionBodiesRow) companion.Body {
		return companion.Body{Rev: r.Rev, Hash: r.Hash, By: r.MadeBy, CreatedAt: dbconn.TimeOf(r.CreatedAt)}
	}, "list the revisions of %s of %s", id.Name, id.Owner)
}

func companionOf(r gen.Companion) companion.State {
	return companion.State{
		ID:  companion.ID{WorkspaceID: r.WorkspaceID, Owner: r.OwnerID, Name: r.Name},
		Rev: r.Rev, Hash: r.Hash, AppliedRev: r.AppliedRev, Source: r.Source, ChangedAt: dbconn.TimeOf(r.ChangedAt),
	}
}

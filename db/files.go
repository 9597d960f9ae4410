package db

import (
	"context"
	"fmt"

	"sluice/db/gen"
	"sluice/flow"
)

// CreateFile adds a file. Empty ID and time are filled in.
func (s *Store) CreateFile(ctx context.Context, f *flow.File) error {
	if f.ID == "" {
		f.ID = s.ids.New(flow.PrefixFile)
	}
	if f.CreatedAt.IsZero() {
		f.CreatedAt = timeOf(s.now())
	}
	return s.write(ctx, durable, func(tx *Tx) error {
		return tx.InsertFile(tx.ctx, gen.InsertFileParams{
			ID: f.ID, WorkspaceID: f.WorkspaceID, Name: clean(f.Name), Mime: clean(f.MIME), Size: f.Size, Hash: f.Hash,
			KeyID: f.KeyID, CreatedAt: micros(f.CreatedAt),
		})
	})
}

// FindFile returns a file that is not erased.
func (s *Store) FindFile(ctx context.Context, ws, id string) (*flow.File, error) {
	r, err := s.read.FindFile(ctx, gen.FindFileParams{ID: id, WorkspaceID: ws})
	if err != nil {
		return nil, missing(err, "file")
	}
	f := fileOf(r)
	return &f, nil
}

// EraseFile makes a file gone for everybody; its content follows.
func (s *Store) EraseFile(ctx context.Context, ws, id string) error {
	return s.write(ctx, durable, func(tx *Tx) error {
		n, err := tx.EraseFile(tx.ctx, gen.EraseFileParams{ID: id, WorkspaceID: ws, ErasedAt: s.now()})
		return touched(n, err, "file")
	})
}

// LinkFiles says that files belong to a run, and are erased with the last run
// that they belong to.
func (s *Store) LinkFiles(ctx context.Context, ws, runID string, fileIDs ...string) error {
	return s.write(ctx, durable, func(tx *Tx) error {
		for _, id := range fileIDs {
			if err := tx.LinkFile(tx.ctx, gen.LinkFileParams{RunID: runID, FileID: id, WorkspaceID: ws}); err != nil {
				return fmt.Errorf("link %s to %s: %w", id, runID, err)
			}
		}
		return nil
	})
}

// ErasedFiles returns files whose content is still to be removed.
func (s *Store) ErasedFiles(ctx context.Context, limit int) ([]flow.File, error) {
	rows, err := s.read.ListErasedFiles(ctx, int32(limit))
	return mapRows(rows, fileOf), err
}

// DropFiles forgets erased files whose content is gone.
func (s *Store) DropFiles(ctx context.Context, ids ...string) error {
	return s.write(ctx, relaxed, func(tx *Tx) error {
		for _, id := range ids {
			if err := tx.DropFile(tx.ctx, id); err != nil {
				return fmt.Errorf("drop %s: %w", id, err)
			}
		}
		return nil
	})
}

func fileOf(r gen.File) flow.File {
	return flow.File{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Name: r.Name, MIME: r.Mime, Size: r.Size, Hash: r.Hash,
		KeyID: r.KeyID, CreatedAt: timeOf(r.CreatedAt),
	}
}

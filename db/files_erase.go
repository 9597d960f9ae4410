package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// EraseFile makes a file gone for everybody; its content follows.
func (s Files) EraseFile(ctx context.Context, ws, id string) error {
	return s.write(ctx, durable, func(tx *Tx) error {
		size, err := tx.EraseFile(tx.ctx, gen.EraseFileParams{ID: id, WorkspaceID: ws, ErasedAt: s.now()})
		if err != nil {
			return dbconn.NotFoundErr(err, "file")
		}
		tx.storeBytes(ws, -size-flow.StorageItem)
		return nil
	})
}

// eraseFiles erases the files of a run that belong to nothing else. They are
// held first: a run that is just being started with one of them would not be
// seen in one statement.
func (tx *Tx) eraseFiles(runID string) error {
	return dbconn.FirstError(
		func() error { return tx.HoldFilesOfRun(tx.ctx, runID) },
		func() error {
			erased, err := tx.EraseFilesOfRun(tx.ctx, gen.EraseFilesOfRunParams{RunID: runID, ErasedAt: tx.s.now()})
			for _, f := range erased {
				tx.storeBytes(f.WorkspaceID, -f.Size-flow.StorageItem)
			}
			return err
		},
		func() error { return tx.UnlinkFiles(tx.ctx, runID) },
	)
}

// ExpireFiles erases up to limit files that are as old as a run's content may
// become and belong to no run and no flow.
func (s Files) ExpireFiles(ctx context.Context, now time.Time, limit int) (n int, err error) {
	loose := gen.ListLooseFilesParams{CreatedBefore: dbconn.Micros(now.Add(-s.cfg.Retention)), MaxRows: int32(limit)}
	rows, err := s.read.ListLooseFiles(ctx, loose)
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return len(rows), s.write(ctx, durable, func(tx *Tx) error {
		for _, r := range rows {
			if err := tx.expireFile(r); err != nil {
				return fmt.Errorf("expire %s: %w", r.ID, err)
			}
		}
		return nil
	})
}

func (tx *Tx) expireFile(r gen.ListLooseFilesRow) error {
	if n, err := tx.HoldFile(tx.ctx, gen.HoldFileParams(r)); err != nil || n == 0 {
		return err
	}
	f, err := tx.EraseLooseFile(tx.ctx, gen.EraseLooseFileParams{ID: r.ID, ErasedAt: tx.s.now()})
	if dbconn.IsNoRows(err) {
		return nil // a run or a flow uses it now
	}
	if err == nil {
		tx.storeBytes(f.WorkspaceID, -f.Size-flow.StorageItem)
	}
	return err
}

// RemoveErasedFiles removes the content of up to limit erased files, unless
// another file has the same, and forgets the files. One whose content cannot
// be removed does not hold up the others.
func (s Files) RemoveErasedFiles(ctx context.Context, limit int) (n int, err error) {
	rows, err := s.read.ListErasedFiles(ctx, int32(limit))
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	var failed error
	gone := slices.DeleteFunc(rows, func(r gen.File) bool {
		err := s.bucket.remove(ctx, r.Hash)
		if err != nil {
			failed = fmt.Errorf("remove the content of %s: %w", r.ID, err)
		}
		return err != nil
	})
	err = s.write(ctx, relaxed, func(tx *Tx) error { return tx.dropFiles(gone) })
	return len(gone), errors.Join(failed, err)
}

func (tx *Tx) dropFiles(rows []gen.File) error {
	for _, r := range rows {
		if err := tx.UnlinkFile(tx.ctx, r.ID); err != nil {
			return fmt.Errorf("unlink %s: %w", r.ID, err)
		}
		if err := tx.DropFile(tx.ctx, r.ID); err != nil {
			return fmt.Errorf("drop %s: %w", r.ID, err)
		}
	}
	return nil
}

// SweepFiles removes content that a crash left without a file, if it is from
// before that time. Content that is just being saved is left alone.
func (s Files) SweepFiles(ctx context.Context, before time.Time) error {
	if err := s.bucket.sweep(ctx, before); err != nil {
		return fmt.Errorf("sweep files: %w", err)
	}
	return nil
}

var _ flow.FileStore = (*Store)(nil)

package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sluice/db/blobs"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Files are removed in two steps. Erasing marks the row in a transaction, which makes
// the file inaccessible. Later RemoveErasedFiles removes the content, unless another
// file has the same content, and then the row. So a crash between the two steps
// leaves only content that is removed at the next attempt.

// EraseFile erases a file. RemoveErasedFiles removes its content later.
func (s *Files) EraseFile(ctx context.Context, ws flow.WorkspaceID, id string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		size, err := tx.Queries.EraseFile(tx.Ctx, gen.EraseFileParams{ID: id, WorkspaceID: ws, ErasedAt: s.DB.NowMicros()})
		if err != nil {
			return dbconn.NotFoundErr(err, "file")
		}
		tx.TrackBytes(ws, -size-flow.StorageItem)
		return nil
	})
}

// ExpireFiles erases up to limit files that are older than the retention of runs
// and belong to no run and no flow.
func (s *Files) ExpireFiles(ctx context.Context, now time.Time, limit int) (n int, err error) {
	loose := gen.ListLooseFilesParams{CreatedBefore: dbconn.Micros(now.Add(-s.DB.Config.Retention)), MaxRows: int32(limit)}
	rows, err := core.ReadRows(ctx, s.DB, "files", func(ctx context.Context) ([]gen.ListLooseFilesRow, error) {
		return s.DB.Reads.ListLooseFiles(ctx, loose)
	})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	return len(rows), s.DB.WriteRows(ctx, core.Durable, "files", func(tx *core.Tx) error {
		idOf := func(r gen.ListLooseFilesRow) string { return r.ID }
		return core.Each(tx, "files", "expire", rows, idOf, func(r gen.ListLooseFilesRow) error { return expireFile(tx, r) })
	})
}

// expireFile erases an upload that no run used within the retention time. It holds the row
// first, so that a run which links the file at the same moment keeps it.
func expireFile(tx *core.Tx, r gen.ListLooseFilesRow) error {
	if n, err := tx.Queries.HoldFile(tx.Ctx, gen.HoldFileParams(r)); err != nil || n == 0 {
		return err
	}
	f, err := tx.Queries.EraseLooseFile(tx.Ctx, gen.EraseLooseFileParams{ID: r.ID, ErasedAt: tx.Store.NowMicros()})
	if dbconn.IsNoRows(err) {
		return nil // a run or a flow uses it now
	}
	if err == nil {
		tx.TrackBytes(f.WorkspaceID, -f.Size-flow.StorageItem)
	}
	return err
}

// RemoveErasedFiles removes the content of up to limit erased files, unless another
// file has the same content, and deletes their rows. If the content of one cannot
// be removed, the others are still processed.
func (s *Files) RemoveErasedFiles(ctx context.Context, limit int) (n int, err error) {
	rows, err := core.ReadRows(ctx, s.DB, "files", func(ctx context.Context) ([]gen.File, error) { return s.DB.Reads.ListErasedFiles(ctx, int32(limit)) })
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	var failed error
	gone := slices.DeleteFunc(rows, func(r gen.File) bool {
		err := s.bucket.Remove(ctx, r.Hash)
		if err != nil {
			failed = fmt.Errorf("remove the content of %s: %w", r.ID, err)
		}
		return err != nil
	})
	err = s.DB.WriteRows(ctx, core.Relaxed, "files", func(tx *core.Tx) error {
		idOf := func(r gen.File) string { return r.ID }
		return core.Each(tx, "files", "drop", gone, idOf, func(r gen.File) error { return dropFile(tx, r.ID) })
	})
	return len(gone), errors.Join(failed, err)
}

// dropFile deletes the row of an erased file and its links to runs.
func dropFile(tx *core.Tx, id string) error {
	return dbconn.FirstError(
		func() error { return tx.Queries.UnlinkFile(tx.Ctx, id) },
		func() error { return tx.Queries.DropFile(tx.Ctx, id) },
	)
}

// SweepFiles removes content without a file that was left by a crash before the
// given time. It does not touch content that is being saved.
func (s *Files) SweepFiles(ctx context.Context, before time.Time) error {
	if err := s.bucket.Sweep(ctx, before); err != nil {
		return fmt.Errorf("sweep files: %w", err)
	}
	return nil
}

// errNoObjects is returned for an act on object storage without one.
var errNoObjects = errors.New("there is no object storage: set SLUICE_FILES as on the server")

// MoveFiles moves the content of all files to object storage or back.
func (s *Files) MoveFiles(ctx context.Context, in bool) (blobs.Moved, error) {
	o, ok := s.bucket.(*blobs.Objects)
	if !ok {
		return blobs.Moved{}, errNoObjects
	}
	return o.Move(ctx, in)
}

// CheckObjects returns blobs.ErrForeign if the object storage belongs to another database.
func (s *Files) CheckObjects(ctx context.Context) error {
	o, ok := s.bucket.(*blobs.Objects)
	if !ok {
		return errNoObjects
	}
	return o.CheckOwner(ctx)
}

// MissingObjects returns the number of contents that should be in object storage but are not there, and the
// hashes of the first few.
func (s *Files) MissingObjects(ctx context.Context) (n int64, some []string, err error) {
	o, ok := s.bucket.(*blobs.Objects)
	if !ok {
		return 0, nil, errNoObjects
	}
	err = o.Missing(ctx, func(m blobs.Stored) {
		if n++; len(some) < 10 {
			some = append(some, m.Hash)
		}
	})
	return n, some, err
}

var _ flow.FileStore = (*Store)(nil)

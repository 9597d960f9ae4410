package core

import (
	"fmt"
	"slices"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// LinkFiles holds each file first, so that it is not erased at the same time.
func (tx *Tx) LinkFiles(ws, runID string, ids []string) error {
	for _, id := range slices.Sorted(slices.Values(ids)) {
		held, err := tx.HoldFile(tx.Ctx, gen.HoldFileParams{ID: id, WorkspaceID: ws})
		if err := dbconn.MustAffect(held, err, "file"); err != nil {
			return err
		}
		if err := tx.LinkFile(tx.Ctx, gen.LinkFileParams{RunID: runID, FileID: id, WorkspaceID: ws}); err != nil {
			return fmt.Errorf("link %s to %s: %w", id, runID, err)
		}
	}
	return nil
}

// inheritFiles links all that the parent of a rerun has: the results that are
// taken over refer to it.
func (tx *Tx) inheritFiles(ws, runID, parentID string) error {
	if parentID == "" {
		return nil
	}
	if err := tx.HoldFilesOfRun(tx.Ctx, parentID); err != nil {
		return fmt.Errorf("hold the files of %s: %w", parentID, err)
	}
	return tx.LinkFilesOfRun(tx.Ctx, gen.LinkFilesOfRunParams{RunID: runID, ParentRunID: parentID, WorkspaceID: ws})
}

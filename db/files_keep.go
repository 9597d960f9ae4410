package db

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow"
)

// keepFiles marks files that a flow document refers to: they are not erased with
// the runs that use them, only by EraseFile. Files that do not exist are skipped.
func keepFiles(tx *core.Tx, ws flow.WorkspaceID, ids []string) error {
	for _, id := range ids {
		if err := tx.Queries.KeepFile(tx.Ctx, gen.KeepFileParams{ID: id, WorkspaceID: ws}); err != nil {
			return fmt.Errorf("keep %s: %w", id, err)
		}
	}
	return nil
}

// documentFiles returns the IDs of the files that a document refers to, sorted, so
// that transactions lock them in the same order.
func documentFiles(document []byte) []string {
	if !bytes.Contains(document, []byte(flow.PrefixFile)) {
		return nil
	}
	v, err := flow.DecodeJSON(document)
	if err != nil {
		return nil // such a document cannot be run either
	}
	return slices.Sorted(slices.Values(flow.FileIDs(v)))
}

// LinkFiles records that a run uses files. They are erased with the last run that
// uses them. It returns CodeNotFound if a file is already erased.
func (s *Files) LinkFiles(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, ids ...string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error { return tx.LinkFiles(ws, runID, ids) })
}

package core

import (
	"fmt"
	"slices"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// LinkFiles records that a run uses files. It locks each file first, so that it
// is not erased concurrently.
func (tx *Tx) LinkFiles(ws flow.WorkspaceID, runID flow.RunID, ids []string) error {
	for _, id := range slices.Sorted(slices.Values(ids)) {
		held, err := tx.Queries.HoldFile(tx.Ctx, gen.HoldFileParams{ID: id, WorkspaceID: ws})
		if err := dbconn.MustAffect(held, err, "file"); err != nil {
			return err
		}
		if err := tx.Queries.LinkFile(tx.Ctx, gen.LinkFileParams{RunID: runID, FileID: id, WorkspaceID: ws}); err != nil {
			return fmt.Errorf("link %s to %s: %w", id, runID, err)
		}
	}
	return nil
}

// inheritFiles links all files of the parent of a rerun, because the reused
// results refer to them.
func (tx *Tx) inheritFiles(run *gen.InsertRunParams) error {
	if run.ParentRunID == "" {
		return nil
	}
	return linkFilesOf(tx, run.ParentRunID, run)
}

// linkFilesOf links all files of an earlier run to a new one.
func linkFilesOf(tx *Tx, earlier flow.RunID, run *gen.InsertRunParams) error {
	if err := tx.Queries.HoldFilesOfRun(tx.Ctx, earlier); err != nil {
		return fmt.Errorf("hold the files of %s: %w", earlier, err)
	}
	return tx.Queries.LinkFilesOfRun(tx.Ctx, gen.LinkFilesOfRunParams{RunID: string(run.ID), ParentRunID: earlier, WorkspaceID: run.WorkspaceID})
}

// AddDocument stores a document under its hash and returns the number of bytes
// added, which is 0 if the workspace already has the document.
func (tx *Tx) AddDocument(ws flow.WorkspaceID, hash string, document []byte) (added int64, err error) {
	n, err := tx.Queries.PinDocument(tx.Ctx, gen.PinDocumentParams{WorkspaceID: ws, Hash: hash, Body: string(document)})
	if err != nil {
		return 0, fmt.Errorf("pin document: %w", err)
	}
	return n * int64(len(document)), nil
}

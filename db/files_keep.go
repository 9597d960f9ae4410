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

// KeepFiles says that a flow document refers to files: runs that use them do
// not take them along, only EraseFile removes them. Files that are not there
// are passed over.
func (s Files) KeepFiles(ctx context.Context, ws string, ids ...string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error { return keepFiles(tx, ws, ids) })
}

func keepFiles(tx *core.Tx, ws string, ids []string) error {
	for _, id := range ids {
		if err := tx.KeepFile(tx.Ctx, gen.KeepFileParams{ID: id, WorkspaceID: ws}); err != nil {
			return fmt.Errorf("keep %s: %w", id, err)
		}
	}
	return nil
}

// documentFiles lists the files that a document refers to, in an order that is
// always the same, so that transactions which hold them do not lock each other.
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

// LinkFiles says that files belong to a run, and are erased with the last run
// that they belong to. One that is erased already is CodeNotFound.
func (s Files) LinkFiles(ctx context.Context, ws, runID string, ids ...string) error {
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error { return tx.LinkFiles(ws, runID, ids) })
}

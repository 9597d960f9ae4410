package core

import (
	"context"
	"fmt"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// FindRunContext returns the conversations that a run continues, as JSON.
func (s Execution) FindRunContext(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error) {
	content, err := s.DB.Reads.FindRunContext(ctx, gen.FindRunContextParams{WorkspaceID: ws, Hash: hash})
	return []byte(content), dbconn.NotFoundErr(err, "conversation to continue")
}

// addContext stores the conversations that a run continues, unless another run has them already, and returns the bytes that it
// added. The run to continue must have its content still: erasing it also erases what continues it.
func (w *StartWrite) addContext(tx *Tx) (added int64, err error) {
	r := &w.Row
	if r.Continues == "" {
		return 0, nil
	}
	if w.N.Context != nil {
		held, err := tx.Queries.HoldRunContent(tx.Ctx, gen.HoldRunContentParams{ID: r.Continues, WorkspaceID: r.WorkspaceID})
		if err != nil {
			return 0, fmt.Errorf("hold %s: %w", r.Continues, err)
		}
		if held == 0 {
			return 0, flow.Errorf(flow.CodeRunExpired, "The content of the run to continue is gone. Start a new run.")
		}
	}
	for {
		n := int64(0)
		if w.N.Context != nil {
			n, err = tx.Queries.AddRunContext(tx.Ctx, gen.AddRunContextParams{WorkspaceID: r.WorkspaceID, Hash: r.ContextHash, Content: string(w.N.Context)})
			if err != nil {
				return 0, fmt.Errorf("store what %s continues: %w", r.ID, err)
			}
		}
		held, err := tx.Queries.LockRunContext(tx.Ctx, gen.LockRunContextParams{WorkspaceID: r.WorkspaceID, Hash: r.ContextHash})
		switch {
		case err != nil:
			return 0, fmt.Errorf("hold what %s continues: %w", r.ID, err)
		case held > 0:
			return n * int64(len(w.N.Context)), linkFilesOf(tx, r.Continues, r)
		case w.N.Context == nil: // of a rerun, whose parent was erased meanwhile
			return 0, flow.Errorf(flow.CodeRunExpired, "The content of this run is gone, so it cannot be run again. Start a new run.")
		}
	}
}

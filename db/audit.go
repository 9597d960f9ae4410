package db

import (
	"context"
	"time"

	"sluice/db/gen"
	"sluice/flow"
)

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	ID, WorkspaceID, Actor, Action, Target, Detail string
	CreatedAt                                      time.Time
}

// Audit adds a line to the audit log.
func (s *Store) Audit(ctx context.Context, ws, actor, action, target, detail string) error {
	row := gen.InsertAuditParams{
		ID: s.ids.New(flow.PrefixAudit), WorkspaceID: ws, Actor: clean(actor), Action: action,
		Target: clean(target), Detail: clean(detail), CreatedAt: s.now(),
	}
	return s.write(ctx, durable, func(tx *Tx) error { return tx.InsertAudit(tx.ctx, row) })
}

// ListAudit returns the audit log before an ID, newest first.
func (s *Store) ListAudit(ctx context.Context, ws, beforeID string, limit int) ([]AuditEntry, error) {
	rows, err := s.read.ListAudit(ctx, gen.ListAuditParams{WorkspaceID: ws, BeforeID: before(beforeID), MaxRows: int32(limit)})
	return mapRows(rows, func(r gen.Audit) AuditEntry {
		return AuditEntry{r.ID, r.WorkspaceID, r.Actor, r.Action, r.Target, r.Detail, timeOf(r.CreatedAt)}
	}), err
}

package db

import (
	"context"
	"slices"

	"sluice/db/gen"
	"sluice/flow"
)

// Audit adds a line of the command line to the audit log.
func (s AuditLog) Audit(ctx context.Context, ws, actor, action, target, detail string) error {
	return s.AddAudit(ctx, flow.AuditEntry{WorkspaceID: ws, Actor: actor, Action: action, Target: target, Detail: detail})
}

// AddAudit adds a line to the audit log. ID and time are filled in.
func (s AuditLog) AddAudit(ctx context.Context, e flow.AuditEntry) error {
	row := gen.Audit{
		ID: s.ids.New(flow.PrefixAudit), WorkspaceID: e.WorkspaceID, Actor: clean(e.Actor), Action: e.Action,
		Target: clean(e.Target), Detail: clean(e.Detail), Ip: clean(e.IP), CreatedAt: s.now(),
	}
	return s.write(ctx, durable, func(tx *Tx) error { return tx.appendAudit(row) })
}

// ListAudit returns the audit log before an ID, newest first.
func (s AuditLog) ListAudit(ctx context.Context, ws, beforeID string, limit int) ([]flow.AuditEntry, error) {
	rows, err := s.read.ListAudit(ctx, gen.ListAuditParams{WorkspaceID: ws, BeforeID: before(beforeID), MaxRows: int32(limit)})
	return mapRows(rows, auditOf), err
}

// ListAuditAfter returns the lines that follow an ID, newest first too.
func (s AuditLog) ListAuditAfter(ctx context.Context, ws, afterID string, limit int) ([]flow.AuditEntry, error) {
	rows, err := s.read.ListAuditAfter(ctx, gen.ListAuditAfterParams{WorkspaceID: ws, AfterID: afterID, MaxRows: int32(limit)})
	slices.Reverse(rows)
	return mapRows(rows, func(r gen.ListAuditAfterRow) flow.AuditEntry { return auditOf(gen.ListAuditRow(r)) }), err
}

func auditOf(r gen.ListAuditRow) flow.AuditEntry {
	return flow.AuditEntry{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Actor: r.Actor, Person: r.Person, Action: r.Action,
		Target: r.Target, Detail: r.Detail, IP: r.Ip, CreatedAt: timeOf(r.CreatedAt),
	}
}

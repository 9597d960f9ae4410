package db

import (
	"context"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// AddAudit adds an entry to the audit log. It sets ID and time.
func (s *AuditLog) AddAudit(ctx context.Context, e flow.AuditEntry) error {
	row := gen.Audit{
		ID: s.DB.IDs().New(flow.PrefixAudit), WorkspaceID: e.WorkspaceID, Actor: dbconn.ValidText(e.Actor), Action: e.Action,
		Target: dbconn.ValidText(e.Target), Detail: dbconn.ValidText(e.Detail), Ip: dbconn.ValidText(e.IP), CreatedAt: s.DB.NowMicros(),
	}
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error { return appendAudit(tx, row) })
}

// ListAudit returns the entries before an ID, newest first. An empty ID starts at
// the newest entry.
func (s *AuditLog) ListAudit(ctx context.Context, ws flow.WorkspaceID, beforeID string, limit int) ([]flow.AuditEntry, error) {
	rows, err := core.FromReplica(ctx, s.DB, func(ctx context.Context) ([]gen.ListAuditRow, error) {
		return s.DB.Reads.ListAudit(ctx, gen.ListAuditParams{WorkspaceID: ws, BeforeID: dbconn.CursorOrEnd(beforeID), MaxRows: int32(limit)})
	})
	return dbconn.MapRows(rows, auditOf), err
}

// ListAuditAfter returns the entries that follow an ID, newest first.
func (s *AuditLog) ListAuditAfter(ctx context.Context, ws flow.WorkspaceID, afterID string, limit int) ([]flow.AuditEntry, error) {
	rows, err := s.DB.Reads.ListAuditAfter(ctx, gen.ListAuditAfterParams{WorkspaceID: ws, AfterID: afterID, MaxRows: int32(limit)})
	slices.Reverse(rows)
	return dbconn.MapRows(rows, func(r gen.ListAuditAfterRow) flow.AuditEntry { return auditOf(gen.ListAuditRow(r)) }), err
}

func auditOf(r gen.ListAuditRow) flow.AuditEntry {
	return flow.AuditEntry{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Actor: r.Actor, Person: r.Person, Action: r.Action,
		Target: r.Target, Detail: r.Detail, IP: r.Ip, CreatedAt: dbconn.TimeOf(r.CreatedAt),
	}
}

// ExportAudit returns the entries after a number, oldest first. Entries that are older than the chain have no number.
func (s *AuditLog) ExportAudit(ctx context.Context, ws flow.WorkspaceID, after int64, limit int) ([]flow.AuditRecord, error) {
	rows, err := s.DB.Reads.ListAuditChain(ctx, gen.ListAuditChainParams{WorkspaceID: ws, AfterSeq: after, MaxRows: int32(limit)})
	return dbconn.MapRows(rows, recordOf), err
}

func recordOf(r gen.Audit) flow.AuditRecord {
	return flow.AuditRecord{Seq: r.Seq, MAC: r.Mac, AuditEntry: flow.AuditEntry{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Actor: r.Actor, Action: r.Action, Target: r.Target, Detail: r.Detail, IP: r.Ip, CreatedAt: dbconn.TimeOf(r.CreatedAt),
	}}
}

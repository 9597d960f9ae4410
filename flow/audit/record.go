package audit

import (
	"context"

	"sluice/flow"
)

// Recorder is the part of a store that makes an act and its entry in the audit log one write.
type Recorder interface {
	AddAudit(ctx context.Context, e flow.AuditEntry) error
	// InTransaction runs the writes that fn makes with its context in one transaction.
	InTransaction(ctx context.Context, fn func(ctx context.Context) error) error
}

// Record performs an act and adds its entry to the audit log in one transaction, so that neither
// exists without the other. act may complete the entry, and leaves it out by removing its action.
// An act outside of workspaces has no log.
func Record(ctx context.Context, s Recorder, by flow.Actor, e *flow.AuditEntry, act func(ctx context.Context) error) error {
	return s.InTransaction(ctx, func(ctx context.Context) error {
		if err := act(ctx); err != nil || e.Action == "" || e.WorkspaceID == "" {
			return err
		}
		e.Actor, e.IP = by.ID, by.IP
		return s.AddAudit(ctx, *e)
	})
}

// Entry returns an entry of the audit log, whose actor Record sets.
func Entry(ws flow.WorkspaceID, action, target, detail string) *flow.AuditEntry {
	return &flow.AuditEntry{WorkspaceID: ws, Action: action, Target: target, Detail: detail}
}

// Nothing is an act that changes nothing in the store.
func Nothing(context.Context) error { return nil }

package library

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

// record performs an act and adds its entry to the audit log in one transaction, so that neither
// exists without the other. act may complete the entry, and leaves it out by removing its action.
// An act outside of workspaces has no log.
func record(ctx context.Context, s Recorder, by flow.Actor, e *flow.AuditEntry, act func(ctx context.Context) error) error {
	return s.InTransaction(ctx, func(ctx context.Context) error {
		if err := act(ctx); err != nil || e.Action == "" || e.WorkspaceID == "" {
			return err
		}
		e.Actor, e.IP = by.ID, by.IP
		return s.AddAudit(ctx, *e)
	})
}

// entry returns an entry of the audit log, whose actor record sets.
func entry(ws flow.WorkspaceID, action, target, detail string) *flow.AuditEntry {
	return &flow.AuditEntry{WorkspaceID: ws, Action: action, Target: target, Detail: detail}
}

// nothing is an act that changes nothing in the store.
func nothing(context.Context) error { return nil }

// loosens reports whether a limit would allow more than before; 0 means no limit.
func loosens(before, after int64) bool { return before > 0 && (after == 0 || after > before) }

// errLoosens returns the error for a key with limits that tries to raise a limit, and so to bypass
// its own. of is a noun with an article.
func errLoosens(of string) error {
	return flow.Errorf(flow.CodeExceedsKey, "The key in the request, or a key that made it, has limits, so it may only lower the limits of %s. Use a key without limits.", of)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/db"
	"sluice/flow"
)

// auditCmd groups the commands for audit logs. Each workspace has one: who changed
// what, and when. Commands that change something write an entry with the actor "cli".
type auditCmd struct {
	Verify auditVerifyCmd `cmd:"" help:"Verify that no entry of the audit logs was changed, inserted or deleted since it was written; with --workspace, of one workspace."`
}

// auditVerifyCmd checks the chains of the audit logs. Each entry has an HMAC over
// its content and the HMAC before it, so a change, an insertion or a deletion breaks
// the chain from there on. Entries that the retention deleted are accounted for by
// an authenticated record of where the chain now starts.
type auditVerifyCmd struct {
	JSON bool `help:"Print as JSON."`
}

// errAuditBroken is returned after the breaks have been printed for each
// workspace.
var errAuditBroken = errors.New("an audit log does not match its chain; see above")

// Run verifies the audit logs. The server may be running.
func (c auditVerifyCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	chains, err := store.VerifyAudit(ctx, flow.WorkspaceID(cfg.Workspace))
	if err != nil {
		return err
	}
	if len(chains) == 0 && cfg.Workspace != "" {
		return fmt.Errorf("workspace %s does not exist or has no audit log; 'sluice workspace limits list' lists the workspaces", cfg.Workspace)
	}
	broken := false
	for _, one := range chains {
		broken = broken || one.Break != nil
	}
	if c.JSON {
		err = printJSON(s.out, auditObject(chains, !broken))
	} else {
		err = printChains(s.out, chains)
	}
	if err == nil && broken {
		err = errAuditBroken
	}
	return err
}

// auditObject returns the result as JSON: whether all chains are intact, and each
// chain with its break, or null.
func auditObject(chains []flow.AuditChain, intact bool) map[string]any {
	list := make([]map[string]any, 0, len(chains))
	for _, c := range chains {
		one := map[string]any{
			"workspace_id": c.WorkspaceID, "intact": c.Break == nil, "entries": c.Entries, "last_entry": c.LastSeq,
			"began_at": stampOrNull(c.BeganAt), "adopted": c.Adopted, "pruned": c.Pruned, "pruned_at": stampOrNull(c.PrunedAt), "break": nil,
		}
		if b := c.Break; b != nil {
			one["break"] = map[string]any{"entry": b.Seq, "id": b.ID, "reason": b.Reason}
		}
		list = append(list, one)
	}
	return map[string]any{"intact": intact, "workspaces": list}
}

// stampOrNull returns a time in whole seconds, or nil for the zero time.
func stampOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// printChains prints one or two lines for each chain: whether it is intact, and what
// it cannot prove because entries are older than the chain or were deleted.
func printChains(w io.Writer, chains []flow.AuditChain) error {
	for _, c := range chains {
		line := fmt.Sprintf("%s: intact, %s", c.WorkspaceID, count(c.Entries, "entry", "entries"))
		if c.Break == nil && c.LastSeq > 0 {
			line += fmt.Sprintf(", last is number %d", c.LastSeq)
		}
		if b := c.Break; b != nil {
			line = fmt.Sprintf("%s: BROKEN", c.WorkspaceID)
			if b.Seq > 0 {
				line += fmt.Sprintf(" at entry %d", b.Seq)
			}
			if b.ID != "" {
				line += " (" + b.ID + ")"
			}
			line += ". " + b.Reason
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
		if c.BeganAt.IsZero() {
			continue
		}
		fmt.Fprintf(w, "  The chain began %s.", c.BeganAt.UTC().Format("2 Jan 2006, 15:04 UTC"))
		if c.Adopted > 0 {
			fmt.Fprintf(w, " %s older than the chain: it cannot prove that they were not changed before.", count(c.Adopted, "entry was", "entries were"))
		}
		if c.Pruned > 0 {
			fmt.Fprintf(w, " Entries up to number %d were deleted when their retention ended, the last one %s.", c.Pruned, c.PrunedAt.UTC().Format("2 Jan 2006, 15:04 UTC"))
		}
		fmt.Fprintln(w)
	}
	if len(chains) == 0 {
		fmt.Fprintln(w, "There are no entries yet.")
	}
	return nil
}

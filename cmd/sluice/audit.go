package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow/wording"
	"sluice/handlers/admin"
)

// auditCmd groups the commands for audit logs. Each workspace has one: who changed
// what, and when. Commands that change something write an entry with the actor "cli".
type auditCmd struct {
	Export auditExportCmd `cmd:"" help:"Print the entries of the audit log of a workspace, one JSON object per line."`
	Verify auditVerifyCmd `cmd:"" help:"Verify that no entry of the audit logs was changed, inserted or deleted since it was written; with --workspace, of one workspace."`
}

// auditVerifyCmd checks the chains of the audit logs. Each entry has an HMAC over
// its content and the HMAC before it, so a change, an insertion or a deletion breaks
// the chain from there on. For entries deleted at the end of their retention, an
// authenticated record states where the chain now starts.
type auditVerifyCmd struct {
	JSON bool `help:"Print as JSON."`
}

// errAuditBroken is returned after the breaks have been printed for each
// workspace.
var errAuditBroken = errors.New("an audit log does not match its chain; see above")

// RunAPI has the server verify the audit log of the workspace, for the operator those of all
// workspaces unless --workspace is given. That detects damage and changes that bypassed the server,
// but not a compromised server: only a verification on another machine does. A broken chain is an
// error, so that the exit code reports it.
func (c auditVerifyCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	report, err := fetch[admin.AuditReport](ctx, api, "GET", "/v1/audit/verify", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		err = printJSON(s.Out, report)
	} else {
		err = printChains(s.Out, report.Workspaces)
	}
	if err == nil && !report.Intact {
		err = errAuditBroken
	}
	return err
}

// printChains prints one or two lines for each chain: whether it is intact, and which
// entries it does not cover because they are older than the chain or were deleted.
func printChains(w io.Writer, chains []admin.AuditChain) error {
	for _, c := range chains {
		line := fmt.Sprintf("%s: intact, %s", c.WorkspaceID, count(c.Entries, "entry", "entries"))
		if c.Break == nil && c.LastEntry > 0 {
			line += fmt.Sprintf(", last is number %d", c.LastEntry)
		}
		if b := c.Break; b != nil {
			line = fmt.Sprintf("%s: BROKEN", c.WorkspaceID)
			if b.Entry > 0 {
				line += fmt.Sprintf(" at entry %d", b.Entry)
			}
			if b.ID != "" {
				line += " (" + b.ID + ")"
			}
			line += ". " + b.Reason
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
		began, pruned := time.Time(c.BeganAt), time.Time(c.PrunedAt)
		if began.IsZero() {
			continue
		}
		fmt.Fprintf(w, "  The chain began %s.", wording.Moment(began))
		if c.Adopted > 0 {
			fmt.Fprintf(w, " %s older than the chain: it cannot prove that they were not changed before.", count(c.Adopted, "entry was", "entries were"))
		}
		if c.Pruned > 0 {
			fmt.Fprintf(w, " Entries up to number %d were deleted when their retention ended, the last one %s.", c.Pruned, wording.Moment(pruned))
		}
		fmt.Fprintln(w)
	}
	if len(chains) == 0 {
		fmt.Fprintln(w, "There are no entries yet.")
	}
	return nil
}

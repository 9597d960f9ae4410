package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/handlers/admin"
)

// auditExportCmd prints the audit log, for a log server or an archive.
type auditExportCmd struct {
	After  int64 `help:"Number of the last entry that you have; entries after it are printed." placeholder:"N"`
	Follow bool  `help:"Wait for new entries until interrupted."`
}

// auditPollInterval is the time between two requests for new entries.
const auditPollInterval = 2 * time.Second

// RunAPI prints the entries, oldest first. Following ends with the context, which is no error.
func (c auditExportCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if c.After < 0 {
		return usageError("--after is the number of an entry; write 0 for all")
	}
	for after := c.After; ; {
		page, err := fetch[struct {
			Entries []json.RawMessage
			Next    int64
		}](ctx, api, "GET", "/v1/audit?after="+strconv.FormatInt(after, 10), nil)
		if err != nil {
			if c.Follow && ctx.Err() != nil {
				return nil
			}
			return err
		}
		for _, line := range page.Entries {
			if _, err := fmt.Fprintf(s.Out, "%s\n", line); err != nil {
				return err
			}
		}
		if after = page.Next; len(page.Entries) > 0 {
			continue
		}
		if !c.Follow {
			return nil
		}
		select {
		case <-time.After(auditPollInterval):
		case <-ctx.Done():
			return nil
		}
	}
}

// auditLog returns what writes entries of the audit logs to standard error, or nil.
func (c *Config) auditLog() func(flow.AuditRecord) {
	if c.AuditLog != "stderr" {
		return nil
	}
	return auditWriter(os.Stderr)
}

// auditWriter returns a function that writes an entry as a line of JSON. It is safe for concurrent use.
func auditWriter(w io.Writer) func(flow.AuditRecord) {
	var mu sync.Mutex
	return func(r flow.AuditRecord) {
		line, err := json.Marshal(struct {
			Audit admin.AuditRecord `json:"audit"`
		}{admin.NewAuditRecord(r)})
		if err != nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		_, _ = w.Write(append(line, '\n')) // a log that cannot be written must not stop the server
	}
}

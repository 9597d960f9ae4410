package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
)

// TestExportAudit_pages_through_the_chain reads the log in pages, and compares it with what was announced after the commits.
func TestExportAudit_pages_through_the_chain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var told []flow.AuditRecord
	s := dbtest.SQLite(t, func(c *db.Config) {
		c.Audited = func(r flow.AuditRecord) { mu.Lock(); defer mu.Unlock(); told = append(told, r) }
	})
	ctx := t.Context()
	for _, action := range []string{"key.create", "key.change", "key.revoke"} {
		if err := s.AddAudit(ctx, flow.AuditEntry{WorkspaceID: ws, Actor: "cli", Action: action}); err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("rolled back")
	err := s.InTransaction(ctx, func(ctx context.Context) error {
		return errors.Join(s.AddAudit(ctx, flow.AuditEntry{WorkspaceID: ws, Action: "key.lost"}), failed)
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	var all []flow.AuditRecord
	for after := int64(0); ; {
		page, err := s.ExportAudit(ctx, ws, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		all, after = append(all, page...), page[len(page)-1].Seq
	}
	mu.Lock()
	defer mu.Unlock()
	if len(all) != 3 || len(told) != 3 {
		t.Fatalf("exported %d, announced %d", len(all), len(told))
	}
	for i, r := range all {
		if r.Seq != int64(i+1) || r.MAC == "" || r != told[i] {
			t.Errorf("entry %d is %+v, announced as %+v", i, r, told[i])
		}
	}
}

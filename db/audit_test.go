package db_test

import (
	"testing"
	"time"

	"sluice/flow"
)

func TestAddAudit_lists_newest_first(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ada := w.newUser("ada@example.com", flow.MemberOwner)
		w.must(w.Audit(w.ctx, ws, "cli", "key.create", "key_a", "Site"))
		w.clock.move(time.Second)
		w.must(w.AddAudit(w.ctx, flow.AuditEntry{WorkspaceID: ws, Actor: ada.ID, Action: "key.revoke", Target: "key_a", IP: "192.0.2.1"}))
		w.must(w.Audit(w.ctx, "ws_other", "cli", "key.create", "key_b", ""))
		first, err := w.ListAudit(w.ctx, ws, "", 1)
		w.must(err)
		wantEqual(t, "newest", first[0].Action, "key.revoke")
		wantEqual(t, "who", first[0].Person, ada.Name)
		wantEqual(t, "where", first[0].IP, "192.0.2.1")
		older, err := w.ListAudit(w.ctx, ws, first[0].ID, 10)
		w.must(err)
		wantEqual(t, "before", len(older) == 1 && older[0].Actor == "cli", true)
		newer, err := w.ListAuditAfter(w.ctx, ws, older[0].ID, 10)
		w.must(err)
		wantEqual(t, "after", len(newer) == 1 && newer[0].ID == first[0].ID, true)
	})
}

package db_test

import (
	"sync"
	"testing"

	"sluice/flow"
)

func TestMembers(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ada, lin := w.newUser("ada@example.com", flow.MemberOwner), w.newUser("lin@example.com", flow.MemberViewer)
		second := &flow.Workspace{Name: "Second"}
		w.must(w.CreateOwnedWorkspace(w.ctx, second, ada.ID))

		w.must(w.SetRole(w.ctx, ws, lin.ID, flow.MemberEditor, flow.KeyHandover{}))
		m, err := w.FindMember(w.ctx, ws, lin.ID)
		w.must(err)
		wantEqual(t, "role", m.Role, flow.MemberEditor)
		_, err = w.FindMember(w.ctx, second.ID, lin.ID)
		wantCode(t, err, flow.CodeNotFound)
		wantCode(t, w.SetRole(w.ctx, second.ID, lin.ID, flow.MemberOwner, flow.KeyHandover{}), flow.CodeNotFound)
		wantCode(t, w.RemoveMember(w.ctx, second.ID, lin.ID, flow.KeyHandover{}), flow.CodeNotFound)

		wantCode(t, w.SetRole(w.ctx, ws, ada.ID, flow.MemberEditor, flow.KeyHandover{}), flow.CodeInputInvalid)
		wantCode(t, w.RemoveMember(w.ctx, ws, ada.ID, flow.KeyHandover{}), flow.CodeInputInvalid)
		w.must(w.SetRole(w.ctx, ws, ada.ID, flow.MemberOwner, flow.KeyHandover{}))

		of, err := w.ListMemberships(w.ctx, ada.ID)
		w.must(err)
		wantEqual(t, "memberships", len(of), 2)
		w.must(w.AddMember(w.ctx, second.ID, lin.ID, flow.MemberViewer))
		wantCode(t, w.AddMember(w.ctx, second.ID, lin.ID, flow.MemberOwner), flow.CodeInputInvalid)
		w.must(w.RemoveMember(w.ctx, second.ID, lin.ID, flow.KeyHandover{}))
		_, err = w.FindMember(w.ctx, second.ID, lin.ID)
		wantCode(t, err, flow.CodeNotFound)
		w.must(w.RenameWorkspace(w.ctx, second.ID, " Third "))
		found, err := w.FindWorkspace(w.ctx, second.ID)
		w.must(err)
		wantEqual(t, "name", found.Name, "Third")
	})
}

// If two owners remove each other concurrently, one of them stays.
func TestRemoveMember_keeps_an_owner(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		owners := []*flow.User{w.newUser("ada@example.com", flow.MemberOwner), w.newUser("lin@example.com", flow.MemberOwner)}
		var all sync.WaitGroup
		for _, u := range owners {
			all.Go(func() { _ = w.RemoveMember(w.ctx, ws, u.ID, flow.KeyHandover{}) })
		}
		all.Wait()
		left, err := w.ListMembers(w.ctx, ws)
		w.must(err)
		wantEqual(t, "owners", len(left), 1)
	})
}

// The keys of a user who may no longer have keys are revoked immediately or handed over
// to another member.
func TestSettleKeys(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ada, bob := w.newUser("ada@example.com", flow.MemberOwner), w.newUser("bob@example.com", flow.MemberEditor)
		lin, kim := w.newUser("lin@example.com", flow.MemberEditor), w.newUser("kim@example.com", flow.MemberViewer)
		make := func(of *flow.User) (id, text string) {
			t.Helper()
			k := &flow.Key{WorkspaceID: ws, Name: "Site", Scopes: flow.Scopes}
			text, err := w.keyring().Create(w.ctx, flow.Actor{ID: of.ID}, k)
			w.must(err)
			return k.ID, text
		}
		by := flow.Actor{ID: ada.ID, IP: "192.0.2.1"}
		_, kept := make(bob)
		_, revoked := make(lin)
		w.must(w.RemoveMember(w.ctx, ws, lin.ID, flow.KeyHandover{By: by}))
		wantCode(t, w.bear(revoked), flow.CodeKeyRevoked)
		w.must(w.bear(kept))

		id, handed := make(bob)
		for _, heir := range []string{"nobody", bob.ID, kim.ID, lin.ID} {
			wantCode(t, w.SetRole(w.ctx, ws, bob.ID, flow.MemberViewer, flow.KeyHandover{HeirID: heir, By: by}), flow.CodeInputInvalid)
			wantCode(t, w.RemoveMember(w.ctx, ws, bob.ID, flow.KeyHandover{HeirID: heir, By: by}), flow.CodeInputInvalid)
		}
		m, err := w.FindMember(w.ctx, ws, bob.ID)
		w.must(err)
		wantEqual(t, "role after refusals", m.Role, flow.MemberEditor)
		w.must(w.SetRole(w.ctx, ws, bob.ID, flow.MemberViewer, flow.KeyHandover{HeirID: ada.ID, By: by}))
		w.must(w.bear(handed))
		k, err := w.FindKey(w.ctx, ws, id)
		w.must(err)
		wantEqual(t, "made by", k.CreatedBy, ada.ID)
		w.must(w.SetRole(w.ctx, ws, bob.ID, flow.MemberEditor, flow.KeyHandover{By: by}))
		_, demoted := make(bob)
		w.must(w.SetRole(w.ctx, ws, bob.ID, flow.MemberViewer, flow.KeyHandover{By: by}))
		wantCode(t, w.bear(demoted), flow.CodeKeyRevoked)

		log, err := w.ListAudit(w.ctx, ws, "", 100)
		w.must(err)
		said := map[string]int{}
		for _, e := range log {
			if e.Actor == ada.ID && e.IP == "192.0.2.1" && e.Target == "Site" {
				said[e.Action]++
			}
		}
		wantEqual(t, "revoked", said["key.revoke"], 2)
		wantEqual(t, "handed over", said["key.handover"], 2)
		wantIntact(t, verified(t, w.Store, ws), int64(len(log)))
	})
}

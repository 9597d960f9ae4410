package db_test

import (
	"sync"
	"testing"

	"sluice/flow"
)

func TestMembers(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		ada, lin := w.newUser("ada@example.com", flow.MemberOwner), w.newUser("lin@example.com", flow.MemberViewer)
		second := &flow.Workspace{Name: "Second"}
		w.must(w.FoundWorkspace(w.ctx, second, ada.ID))

		w.must(w.SetRole(w.ctx, ws, lin.ID, flow.MemberEditor))
		m, err := w.FindMember(w.ctx, ws, lin.ID)
		w.must(err)
		wantEqual(t, "role", m.Role, flow.MemberEditor)
		_, err = w.FindMember(w.ctx, second.ID, lin.ID)
		wantCode(t, err, flow.CodeNotFound)
		wantCode(t, w.SetRole(w.ctx, second.ID, lin.ID, flow.MemberOwner), flow.CodeNotFound)
		wantCode(t, w.RemoveMember(w.ctx, second.ID, lin.ID), flow.CodeNotFound)

		wantCode(t, w.SetRole(w.ctx, ws, ada.ID, flow.MemberEditor), flow.CodeInputInvalid)
		wantCode(t, w.RemoveMember(w.ctx, ws, ada.ID), flow.CodeInputInvalid)
		w.must(w.SetRole(w.ctx, ws, ada.ID, flow.MemberOwner))

		of, err := w.ListMemberships(w.ctx, ada.ID)
		w.must(err)
		wantEqual(t, "memberships", len(of), 2)
		w.must(w.AddMember(w.ctx, second.ID, lin.ID, flow.MemberViewer))
		wantCode(t, w.AddMember(w.ctx, second.ID, lin.ID, flow.MemberOwner), flow.CodeInputInvalid)
		w.must(w.RemoveMember(w.ctx, second.ID, lin.ID))
		_, err = w.FindMember(w.ctx, second.ID, lin.ID)
		wantCode(t, err, flow.CodeNotFound)
		w.must(w.RenameWorkspace(w.ctx, second.ID, " Third "))
		found, err := w.FindWorkspace(w.ctx, second.ID)
		w.must(err)
		wantEqual(t, "name", found.Name, "Third")
	})
}

// Two owners who remove each other at once leave one of them.
func TestRemoveMember_leaves_an_owner(t *testing.T) {
	setup(t, func(t *testing.T, w *world) {
		owners := []*flow.User{w.newUser("ada@example.com", flow.MemberOwner), w.newUser("lin@example.com", flow.MemberOwner)}
		var all sync.WaitGroup
		for _, u := range owners {
			all.Go(func() { _ = w.RemoveMember(w.ctx, ws, u.ID) })
		}
		all.Wait()
		left, err := w.ListMembers(w.ctx, ws)
		w.must(err)
		wantEqual(t, "owners", len(left), 1)
	})
}

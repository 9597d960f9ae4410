package db_test

import (
	"testing"

	"sluice/flow"
)

// invite adds an invitation under a token of the e-mail address.
func (w *fixture) invite(email string, role flow.MemberRole, userID string) *flow.Invite {
	w.t.Helper()
	i := &flow.Invite{WorkspaceID: ws, Email: email, Role: role, UserID: userID, CreatedBy: "cli"}
	w.must(w.CreateInvite(w.ctx, email, i))
	return i
}

func TestInvites(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ada := w.newUser("ada@example.com", flow.MemberOwner)
		i := &flow.Invite{WorkspaceID: ws, Email: " Lin@example.com", Role: flow.MemberEditor, CreatedBy: ada.ID}
		w.must(w.CreateInvite(w.ctx, "h", i))
		got, err := w.FindInvite(w.ctx, "h")
		w.must(err)
		wantEqual(t, "invited by", got.InvitedBy, ada.Name)
		wantEqual(t, "workspace", got.Workspace, "Default")
		open, err := w.ListInvites(w.ctx, ws)
		w.must(err)
		wantEqual(t, "open", len(open), 1)

		_, err = w.AcceptInvite(w.ctx, "h", &flow.User{Email: "eve@example.com"})
		wantCode(t, err, flow.CodeNotFound) // somebody else's
		lin := &flow.User{Email: "lin@example.com", Name: "Lin", PasswordHash: "x"}
		_, err = w.AcceptInvite(w.ctx, "h", lin)
		w.must(err)
		m, err := w.FindMember(w.ctx, ws, lin.ID)
		w.must(err)
		wantEqual(t, "role", m.Role, flow.MemberEditor)
		_, err = w.AcceptInvite(w.ctx, "h", &flow.User{Email: "lin@example.com"})
		wantCode(t, err, flow.CodeNotFound) // used
	})
}

func TestInvites_expire(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		revoked := w.invite("a@example.com", flow.MemberViewer, "")
		wantCode(t, w.RevokeInvite(w.ctx, "ws_other", revoked.ID), flow.CodeNotFound)
		w.must(w.RevokeInvite(w.ctx, ws, revoked.ID))
		_, err := w.FindInvite(w.ctx, "a@example.com")
		wantCode(t, err, flow.CodeNotFound)

		w.invite("b@example.com", flow.MemberViewer, "")
		w.clock.move(flow.InviteLife)
		_, err = w.FindInvite(w.ctx, "b@example.com")
		wantCode(t, err, flow.CodeNotFound)
		_, err = w.AcceptInvite(w.ctx, "b@example.com", &flow.User{Email: "b@example.com"})
		wantCode(t, err, flow.CodeNotFound)
		open, err := w.ListInvites(w.ctx, ws)
		w.must(err)
		wantEqual(t, "open", len(open), 0)
		_, err = w.DropStale(w.ctx, w.clock.Now(), 10)
		w.must(err)
	})
}

func TestResetPassword(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		lin := w.newUser("lin@example.com", flow.MemberViewer)
		w.session("a", lin.ID)
		w.invite("old", "", lin.ID)
		w.invite("new", "", lin.ID)
		_, err := w.ResetPassword(w.ctx, "old", "x")
		wantCode(t, err, flow.CodeNotFound) // the newer link took its place
		_, err = w.AcceptInvite(w.ctx, "new", lin)
		wantCode(t, err, flow.CodeNotFound) // it is for a password
		i, err := w.ResetPassword(w.ctx, "new", "fresh")
		w.must(err)
		wantEqual(t, "of", i.UserID, lin.ID)
		left, err := w.ListSessions(w.ctx, lin.ID)
		w.must(err)
		wantEqual(t, "sessions", len(left), 0)
		_, err = w.ResetPassword(w.ctx, "new", "again")
		wantCode(t, err, flow.CodeNotFound)
	})
}

// The creator of a reset link need not own the workspaces that the user joins later.
func TestResetPassword_link_ends_when_the_user_joins_another_workspace(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		lin := w.newUser("lin@example.com", flow.MemberViewer)
		w.invite("link", "", lin.ID)
		w.must(w.CreateOwnedWorkspace(w.ctx, &flow.Workspace{Name: "Lin's"}, lin.ID))
		_, err := w.ResetPassword(w.ctx, "link", "x")
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestInvites_end_with_the_role_of_their_creator(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		ada, bob := w.newUser("ada@example.com", flow.MemberOwner), w.newUser("bob@example.com", flow.MemberOwner)
		lin := w.newUser("lin@example.com", flow.MemberEditor)
		hand := func(user *flow.User, prefix string) {
			w.must(w.CreateInvite(w.ctx, prefix+"invite", &flow.Invite{WorkspaceID: ws, Email: "back@example.com", Role: flow.MemberOwner, CreatedBy: user.ID}))
			w.must(w.CreateInvite(w.ctx, prefix+"password", &flow.Invite{WorkspaceID: ws, Email: lin.Email, UserID: lin.ID, CreatedBy: user.ID}))
		}
		void := func(token string) {
			t.Helper()
			_, err := w.FindInvite(w.ctx, token)
			wantCode(t, err, flow.CodeNotFound)
		}
		hand(ada, "kept ")
		hand(bob, "")
		w.must(w.SetRole(w.ctx, ws, bob.ID, flow.MemberOwner, flow.KeyHandover{}))
		_, err := w.FindInvite(w.ctx, "invite")
		w.must(err) // still an owner

		w.must(w.SetRole(w.ctx, ws, bob.ID, flow.MemberViewer, flow.KeyHandover{}))
		void("invite")
		void("password")

		w.must(w.SetRole(w.ctx, ws, bob.ID, flow.MemberOwner, flow.KeyHandover{}))
		hand(bob, "again ")
		w.must(w.RemoveMember(w.ctx, ws, bob.ID, flow.KeyHandover{}))
		void("again invite")
		void("again password")

		hand(ada, "own ")
		w.must(w.RemoveMember(w.ctx, ws, lin.ID, flow.KeyHandover{}))
		void("own password") // the user does not exist any longer
		_, err = w.FindInvite(w.ctx, "kept invite")
		w.must(err)
	})
}

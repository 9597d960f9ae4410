package db_test

import (
	"sync"
	"testing"

	"sluice/flow"
)

// newUser adds a user to the default workspace.
func (w *fixture) newUser(email string, role flow.MemberRole) *flow.User {
	w.t.Helper()
	u := &flow.User{Email: email, Name: email, PasswordHash: "hash"}
	w.must(w.CreateUser(w.ctx, ws, u, role))
	return u
}

func TestUsers(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		had, err := w.HasUsers(w.ctx)
		w.must(err)
		wantEqual(t, "nobody yet", had, false)
		u := &flow.User{Email: " Ada@Example.com ", Name: " Ada ", PasswordHash: "hash"}
		w.must(w.CreateUser(w.ctx, ws, u, flow.MemberOwner))
		got, err := w.FindUserByEmail(w.ctx, "ada@example.COM")
		w.must(err)
		wantEqual(t, "user", *got, *u)
		wantEqual(t, "name", got.Name, "Ada")
		wantCode(t, w.CreateUser(w.ctx, ws, &flow.User{Email: "ada@example.com"}, flow.MemberViewer), flow.CodeInputInvalid)
		wantCode(t, w.CreateUser(w.ctx, "ws_none", &flow.User{Email: "lin@example.com"}, flow.MemberViewer), flow.CodeNotFound)
		had, err = w.HasUsers(w.ctx)
		w.must(err)
		wantEqual(t, "somebody", had, true)
	})
}

func TestSetUp(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		for _, token := range []string{"old", "new"} {
			offered, err := w.OfferSetUp(w.ctx, token)
			w.must(err)
			wantEqual(t, "offered", offered, true)
		}
		for token, want := range map[string]bool{"old": false, "new": true, "": false} {
			is, err := w.IsSetUpToken(w.ctx, token)
			w.must(err)
			wantEqual(t, "token "+token, is, want)
		}
		wantCode(t, w.SetUp(w.ctx, "old", &flow.User{Email: "eve@example.com"}, "Eve's"), flow.CodeNotFound)

		var wins int
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, email := range []string{"ada@example.com", "eve@example.com"} {
			all.Go(func() {
				if err := w.SetUp(w.ctx, "new", &flow.User{Email: email, Name: "A"}, "Acme"); err == nil {
					mu.Lock()
					wins++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		wantEqual(t, "who set up", wins, 1)
		members, err := w.ListMembers(w.ctx, ws)
		w.must(err)
		wantEqual(t, "members", len(members), 1)
		wantEqual(t, "role", members[0].Role, flow.MemberOwner)
		m, err := w.FindMember(w.ctx, ws, members[0].UserID)
		w.must(err)
		wantEqual(t, "workspace", m.Workspace, "Acme")
		offered, err := w.OfferSetUp(w.ctx, "again")
		w.must(err)
		wantEqual(t, "offered again", offered, false)
		is, err := w.IsSetUpToken(w.ctx, "new")
		w.must(err)
		wantEqual(t, "still a token", is, false)
	})
}

func TestSetPassword(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		u := w.newUser("ada@example.com", flow.MemberOwner)
		w.session("a", u.ID)
		kept := w.session("b", u.ID)
		w.must(w.CreateInvite(w.ctx, "link", &flow.Invite{WorkspaceID: ws, UserID: u.ID, Email: u.Email}))
		w.must(w.SetPassword(w.ctx, u.ID, "other", kept.ID))
		got, err := w.FindUser(w.ctx, u.ID)
		w.must(err)
		wantEqual(t, "hash", got.PasswordHash, "other")
		left, err := w.ListSessions(w.ctx, u.ID)
		w.must(err)
		wantEqual(t, "sessions", len(left), 1)
		wantEqual(t, "session", left[0].ID, kept.ID)
		_, err = w.FindInvite(w.ctx, "link")
		wantCode(t, err, flow.CodeNotFound)
		wantCode(t, w.SetPassword(w.ctx, "user_none", "x", ""), flow.CodeNotFound)
	})
}

func TestSignUp(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		u, own := &flow.User{Email: "ada@example.com", Name: "Ada"}, &flow.Workspace{Name: "Ada's"}
		w.must(w.SignUp(w.ctx, u, own))
		m, err := w.FindMember(w.ctx, own.ID, u.ID)
		w.must(err)
		wantEqual(t, "role", m.Role, flow.MemberOwner)
		_, err = w.FindMember(w.ctx, ws, u.ID)
		wantCode(t, err, flow.CodeNotFound)
		other, theirs := &flow.User{Email: "ADA@example.com"}, &flow.Workspace{Name: "Other"}
		w.must(w.SignUp(w.ctx, other, theirs)) // the address is not verified
		_, err = w.FindMember(w.ctx, own.ID, other.ID)
		wantCode(t, err, flow.CodeNotFound)
		_, err = w.FindUserByEmail(w.ctx, "ada@example.com")
		wantCode(t, err, flow.CodeNotFound)
	})
}

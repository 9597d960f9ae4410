package webtest

import (
	"crypto/rand"
	"strings"
	"testing"

	"sluice/flow"
)

// NewUser returns a browser that is signed in as a new user. If name is a role, the user has it
// in the default workspace; otherwise the user belongs only to another workspace.
func (h *Env) NewUser(name string) *Browser {
	h.T.Helper()
	if role := flow.MemberRole(name); role.AtLeast(flow.MemberViewer) {
		return h.As(role)
	}
	email := "other-" + strings.ToLower(rand.Text()[:6]) + "@example.com"
	u, own := &flow.User{Email: email, Name: "Other", PasswordHash: PasswordHash()}, &flow.Workspace{Name: "Another"}
	if err := h.Store.SignUp(h.T.Context(), u, own); err != nil {
		h.T.Fatal(err)
	}
	return h.SignIn(email)
}

// Ask sends a request with an empty body, as a browser or as htmx.
func (b *Browser) Ask(method, path string, htmx bool) *Answer {
	b.T.Helper()
	other := *b
	other.htmx = htmx
	return other.Send(method, path, "application/x-www-form-urlencoded", strings.NewReader(""))
}

// WithKey returns a function like Ask that sends an API key, which the dashboard ignores.
func (h *Env) WithKey(t *testing.T) func(method, path string, htmx bool) *Answer {
	t.Helper()
	text := flow.NewKeyText()
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: "all", Prefix: text[:flow.KeyShown], Hash: flow.Hash([]byte(text)), Scopes: []flow.Scope{flow.ScopeRun, flow.ScopeRead, flow.ScopeManage}}
	if err := h.Store.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	b := h.Anonymous()
	b.Client.Transport = withHeader{"Authorization", "Bearer " + text}
	return b.Ask
}

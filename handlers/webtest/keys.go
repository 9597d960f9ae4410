package webtest

import (
	"regexp"

	"sluice/flow"
	"sluice/flow/library"
)

// keyShown matches the secret of a new key in a page.
var keyShown = regexp.MustCompile(`data-new-key>(slu_[0-9A-Za-z]{36})<`)

// NewKey returns the secret of the new key that the page shows.
func (a *Answer) NewKey() string {
	a.T.Helper()
	m := keyShown.FindStringSubmatch(a.Body)
	if m == nil || !flow.ValidKeyText(m[1]) {
		a.T.Fatalf("no key is shown in %s", a.Body)
	}
	return m[1]
}

// KeyOf creates a key that belongs to the user.
func (h *Env) KeyOf(u *flow.User, name string) *flow.Key {
	h.T.Helper()
	ring := library.Keyring{Store: h.Store, IDs: flow.NewIDs(), Now: h.Server.Site.Now}
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: name, Scopes: flow.Scopes}
	if _, err := ring.Create(h.T.Context(), flow.Actor{ID: u.ID}, k); err != nil {
		h.T.Fatal(err)
	}
	return k
}

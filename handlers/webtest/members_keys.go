package webtest

import (
	"sluice/flow"
	"sluice/flow/library"
)

// KeyOf makes a key of somebody and returns its hash.
func (h *Env) KeyOf(u *flow.User, name string) *flow.Key {
	h.T.Helper()
	ring := library.Keyring{Store: h.Store, IDs: flow.NewIDs(), Now: h.Server.Site.Now}
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: name, Scopes: flow.Scopes}
	if _, err := ring.Create(h.T.Context(), flow.Actor{ID: u.ID}, k); err != nil {
		h.T.Fatal(err)
	}
	return k
}

// WantKey checks whether a key works and whose it is.
func (h *Env) WantKey(k *flow.Key, state flow.KeyState, of *flow.User) {
	h.T.Helper()
	got, err := h.Store.FindKeyByHash(h.T.Context(), k.Hash)
	if err != nil {
		h.T.Fatal(err)
	}
	if got.State(h.Server.Site.Now()) != state || got.CreatedBy != of.ID {
		h.T.Errorf("%s is %s and of %s, want %s and %s", k.Name, got.State(h.Server.Site.Now()), got.CreatedBy, state, of.ID)
	}
}

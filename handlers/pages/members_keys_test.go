package pages

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"sluice/flow"
)

// keyOf makes a key of somebody and returns its hash.
func (h *house) keyOf(u *flow.User, name string) *flow.Key {
	h.t.Helper()
	ring := flow.Keyring{Store: h.store, IDs: flow.NewIDs(), Now: h.server.Now}
	k := &flow.Key{WorkspaceID: flow.DefaultWorkspace, Name: name, Scopes: flow.Scopes}
	if _, err := ring.Create(h.t.Context(), flow.Actor{ID: u.ID}, k); err != nil {
		h.t.Fatal(err)
	}
	return k
}

// wantKey checks whether a key works and whose it is.
func (h *house) wantKey(k *flow.Key, state flow.KeyState, of *flow.User) {
	h.t.Helper()
	got, err := h.store.FindKeyByHash(h.t.Context(), k.Hash)
	if err != nil {
		h.t.Fatal(err)
	}
	if got.State(h.server.Now()) != state || got.CreatedBy != of.ID {
		h.t.Errorf("%s is %s and of %s, want %s and %s", k.Name, got.State(h.server.Now()), got.CreatedBy, state, of.ID)
	}
}

func TestMemberKeys(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ada := h.signIn("founder@example.com")
	founder, err := h.store.FindUserByEmail(t.Context(), "founder@example.com")
	if err != nil {
		t.Fatal(err)
	}
	join := func(name string) (*flow.User, string) {
		u := h.add(name+"@example.com", flow.DefaultWorkspace, flow.MemberEditor)
		return u, "/settings/members/" + u.ID
	}
	t.Run("are listed to an owner and to their maker", func(t *testing.T) {
		u, _ := join("una")
		h.keyOf(u, "Una's key")
		ada.get("/settings/members").is(http.StatusOK).has("API keys una created", "Una&#39;s key", `value="revoke"`)
		h.signIn(u.Email).get("/settings/members").is(http.StatusOK).has("API keys you created", "Una&#39;s key")
		h.as(flow.MemberEditor).get("/settings/members").is(http.StatusOK).lacks("Una&#39;s key")
	})
	t.Run("are revoked with a removal by default", func(t *testing.T) {
		u, path := join("max")
		k := h.keyOf(u, "Max")
		ada.post(path+"/remove", nil).see("/settings/members")
		h.wantKey(k, flow.KeyRevoked, u)
	})
	t.Run("are handed over", func(t *testing.T) {
		u, path := join("kim")
		k := h.keyOf(u, "Kim")
		ada.post(path+"/remove", url.Values{"keys": {"handover"}}).is(http.StatusUnprocessableEntity).has("Choose an editor or owner")
		ada.post(path+"/remove", url.Values{"keys": {"handover"}, "heir": {founder.ID}}).see("/settings/members")
		h.wantKey(k, flow.KeyActive, founder)
	})
	t.Run("are asked about when a member becomes a viewer", func(t *testing.T) {
		u, path := join("lin")
		k := h.keyOf(u, "Lin")
		role := url.Values{"role": {"viewer"}}
		ada.post(path+"/role", role).is(http.StatusUnprocessableEntity).has("Make lin a viewer?", "API keys lin created")
		h.wantKey(k, flow.KeyActive, u)
		role.Set("keys", "revoke")
		ada.post(path+"/role", role).see("/settings/members")
		h.wantKey(k, flow.KeyRevoked, u)
	})
	t.Run("go with a member who leaves", func(t *testing.T) {
		u, _ := join("eve")
		k := h.keyOf(u, "Eve")
		h.signIn(u.Email).post("/settings/members/leave", url.Values{"keys": {"revoke"}}).see("/flows")
		h.wantKey(k, flow.KeyRevoked, u)
	})
	if log := h.logged(flow.DefaultWorkspace); !slices.Contains(log, "key.revoke") || !slices.Contains(log, "key.handover") {
		t.Errorf("logged %v", log)
	}
}

package account_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"sluice/flow"
	"sluice/handlers/webtest"
)

func TestMemberKeys(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	ada := h.SignIn("founder@example.com")
	founder, err := h.Store.FindUserByEmail(t.Context(), "founder@example.com")
	if err != nil {
		t.Fatal(err)
	}
	join := func(name string) (*flow.User, string) {
		u := h.Add(name+"@example.com", flow.DefaultWorkspace, flow.MemberEditor)
		return u, "/settings/members/" + u.ID
	}
	t.Run("are listed for owners and their creator", func(t *testing.T) {
		u, _ := join("una")
		h.KeyOf(u, "Una's key")
		ada.Get("/settings/members").Is(http.StatusOK).Has("API keys una created", "Una&#39;s key", `value="revoke"`)
		h.SignIn(u.Email).Get("/settings/members").Is(http.StatusOK).Has("API keys you created", "Una&#39;s key")
		h.As(flow.MemberEditor).Get("/settings/members").Is(http.StatusOK).Lacks("Una&#39;s key")
	})
	t.Run("are revoked by default when a member is removed", func(t *testing.T) {
		u, path := join("max")
		k := h.KeyOf(u, "Max")
		ada.Post(path+"/remove", nil).RedirectsTo("/settings/members")
		wantKey(h, k, flow.KeyRevoked, u)
	})
	t.Run("are handed over", func(t *testing.T) {
		u, path := join("kim")
		k := h.KeyOf(u, "Kim")
		ada.Post(path+"/remove", url.Values{"keys": {"handover"}}).Is(http.StatusUnprocessableEntity).Has("Choose an editor or owner")
		ada.Post(path+"/remove", url.Values{"keys": {"handover"}, "heir": {founder.ID}}).RedirectsTo("/settings/members")
		wantKey(h, k, flow.KeyActive, founder)
	})
	t.Run("need a decision when a member becomes a viewer", func(t *testing.T) {
		u, path := join("lin")
		k := h.KeyOf(u, "Lin")
		role := url.Values{"role": {"viewer"}}
		ada.Post(path+"/role", role).Is(http.StatusUnprocessableEntity).Has("Make lin a viewer?", "API keys lin created")
		wantKey(h, k, flow.KeyActive, u)
		role.Set("keys", "revoke")
		ada.Post(path+"/role", role).RedirectsTo("/settings/members")
		wantKey(h, k, flow.KeyRevoked, u)
	})
	t.Run("are revoked when a member leaves", func(t *testing.T) {
		u, _ := join("eve")
		k := h.KeyOf(u, "Eve")
		h.SignIn(u.Email).Post("/settings/members/leave", url.Values{"keys": {"revoke"}}).RedirectsTo("/flows")
		wantKey(h, k, flow.KeyRevoked, u)
	})
	if log := logged(h, flow.DefaultWorkspace); !slices.Contains(log, "key.revoke") || !slices.Contains(log, "key.handover") {
		t.Errorf("logged %v", log)
	}
}

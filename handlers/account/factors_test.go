package account_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/people"
	"sluice/handlers"
	"sluice/handlers/factor"
	"sluice/handlers/web"
	"sluice/handlers/webtest"
)

var (
	keyText      = regexp.MustCompile(`Key: <code>([A-Z2-7 ]+)</code>`)
	recoveryText = regexp.MustCompile(`<li><code>([a-z2-7-]{19})</code></li>`)
)

// codeAt returns the code of a secret at a time.
func codeAt(t *testing.T, secret string, at time.Time) url.Values {
	t.Helper()
	code, err := factor.Code(secret, at.Unix()/30)
	if err != nil {
		t.Fatal(err)
	}
	return url.Values{"code": {code}}
}

// turnOn turns on two-step sign-in and returns the secret and the recovery codes.
func turnOn(t *testing.T, b *webtest.Browser, c *clock) (secret string, recovery []string) {
	t.Helper()
	password := url.Values{"password": {webtest.Password}}
	b.Post(web.FactorPath+"/begin", url.Values{"password": {"wrong"}}).Is(http.StatusUnprocessableEntity).Has("Wrong password")
	b.Post(web.FactorPath+"/begin", password).RedirectsTo(web.FactorPath)
	page := b.Get(web.FactorPath).Is(http.StatusOK).Has(`class="qr"`)
	m := keyText.FindStringSubmatch(page.Body)
	if m == nil {
		t.Fatal("the page has no key")
	}
	secret = strings.ReplaceAll(m[1], " ", "")
	b.Post(web.FactorPath+"/confirm", codeAt(t, secret, c.Now().Add(time.Hour))).Is(http.StatusUnprocessableEntity).Has("wrong or has expired")
	page = b.Post(web.FactorPath+"/confirm", codeAt(t, secret, c.Now())).Is(http.StatusOK)
	for _, m := range recoveryText.FindAllStringSubmatch(page.Body, -1) {
		recovery = append(recovery, m[1])
	}
	if len(recovery) != factor.RecoveryCodes {
		t.Fatalf("%d recovery codes", len(recovery))
	}
	return secret, recovery
}

func TestTwoStep_asks_for_a_code(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	other, b := h.SignIn("ada@example.com"), h.SignIn("ada@example.com")
	secret, recovery := turnOn(t, b, c)
	b.Get(web.FactorPath).Is(http.StatusOK).Has("10 recovery codes left").Lacks(secret[:4]+" ", recovery[0])
	other.Get("/flows").Is(http.StatusSeeOther) // other sessions began without a code

	b = h.Anonymous()
	form := entry("ada@example.com", webtest.Password)
	form.Set("next", "/runs")
	b.Post("/sign-in", form).RedirectsTo("/sign-in/code")
	b.Get("/flows").Is(http.StatusSeeOther)
	b.Get("/sign-in/code").Is(http.StatusOK).Has("Enter a code")
	b.Post("/sign-in/code", codeAt(t, secret, c.Now())).Is(http.StatusUnprocessableEntity).Has("does not work") // it turned the factor on
	c.move(factor.Period)
	b.Post("/sign-in/code", codeAt(t, secret, c.Now())).RedirectsTo("/runs")
	b.Get("/runs").Is(http.StatusOK)

	again := h.Anonymous()
	again.Post("/sign-in", form).RedirectsTo("/sign-in/code")
	again.Post("/sign-in/code", codeAt(t, secret, c.Now())).Is(http.StatusUnprocessableEntity) // replayed
	again.Post("/sign-in/code", codeAt(t, secret, c.Now().Add(-factor.Period))).Is(http.StatusUnprocessableEntity)
	again.Post("/sign-in/code", url.Values{"code": {strings.ToUpper(recovery[3])}}).RedirectsTo("/runs")
	third := h.Anonymous()
	third.Post("/sign-in", form).RedirectsTo("/sign-in/code")
	third.Post("/sign-in/code", url.Values{"code": {recovery[3]}}).Is(http.StatusUnprocessableEntity)
	again.Get(web.FactorPath).Has("9 recovery codes left")
	if log := logged(h, flow.DefaultWorkspace); !slices.Contains(log, "factor.on") || !slices.Contains(log, "factor.recover") || !slices.Contains(log, "session.refuse") {
		t.Errorf("logged %v", log)
	}

	page := again.Post(web.FactorPath+"/codes", url.Values{"password": {webtest.Password}}).Is(http.StatusOK)
	third.Post("/sign-in/code", url.Values{"code": {recovery[4]}}).Is(http.StatusUnprocessableEntity)
	third.Post("/sign-in/code", url.Values{"code": {recoveryText.FindStringSubmatch(page.Body)[1]}}).RedirectsTo("/runs")
	third.Post(web.FactorPath+"/off", url.Values{"password": {"wrong"}}).Is(http.StatusUnprocessableEntity)
	third.Post(web.FactorPath+"/off", url.Values{"password": {webtest.Password}}).RedirectsTo(web.FactorPath)
	h.SignIn("ada@example.com")
}

func TestTwoStep_waits_after_failures(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	secret, _ := turnOn(t, h.SignIn("ada@example.com"), c)
	c.move(factor.Period)
	b := h.Anonymous()
	b.Post("/sign-in", entry("ada@example.com", webtest.Password)).RedirectsTo("/sign-in/code")
	for range web.FreeTriesPerAccount + 1 {
		b.Post("/sign-in/code", url.Values{"code": {"000000"}}).Is(http.StatusUnprocessableEntity)
	}
	b.Post("/sign-in/code", codeAt(t, secret, c.Now())).Is(http.StatusTooManyRequests).Has("Too many attempts")
	c.move(11 * time.Minute) // the pending sign-in has expired
	b.Post("/sign-in/code", codeAt(t, secret, c.Now())).RedirectsTo("/sign-in")
}

func TestTwoStep_required_by_role(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t, func(cfg *handlers.Config) { cfg.RequireFactor = flow.MemberEditor })
	h.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	viewer := h.As(flow.MemberViewer)
	viewer.Get("/flows").Is(http.StatusOK)
	editor := h.As(flow.MemberEditor)
	editor.Get("/flows").RedirectsTo(web.FactorPath)
	editor.Fragment().Get("/flows").Is(http.StatusForbidden)
	editor.Post("/settings/members/leave", nil).Is(http.StatusForbidden).Has("requires two-step sign-in")
	editor.Get(web.FactorPath).Is(http.StatusOK).Has("Your role requires two-step sign-in")
	turnOn(t, editor, c)
	editor.Get("/flows").Is(http.StatusOK)
	editor.Get(web.FactorPath).Is(http.StatusOK).Lacks("Turn off")
}

func TestTwoStep_after_a_password_reset(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	h.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	ada := h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	secret, _ := turnOn(t, h.SignIn(ada.Email), c)
	reset := link(h, h.SignIn("founder@example.com").Post("/settings/members/"+ada.ID+"/password", nil).Is(http.StatusOK))
	b := h.Anonymous()
	b.Post("/password/reset", url.Values{"token": {token(reset)}, "password": {"another correct horse"}}).RedirectsTo("/sign-in/code")
	b.Get("/flows").Is(http.StatusSeeOther)
	c.move(factor.Period)
	b.Post("/sign-in/code", codeAt(t, secret, c.Now())).RedirectsTo("/flows")
}

func TestTwoStep_reset_by_the_operator(t *testing.T) {
	t.Parallel()
	h, c := setupAt(t)
	ada := h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	b := h.SignIn(ada.Email)
	turnOn(t, b, c)
	factors := people.Factors{Store: h.Store}
	m := &flow.Member{UserID: ada.ID, Email: ada.Email, WorkspaceID: flow.DefaultWorkspace}
	if err := factors.Reset(t.Context(), flow.Actor{ID: "cli"}, m); err != nil {
		t.Fatal(err)
	}
	b.Get("/flows").Is(http.StatusSeeOther)
	h.SignIn(ada.Email)
	if err := factors.Reset(t.Context(), flow.Actor{ID: "cli"}, m); !flow.IsNotFound(err) {
		t.Errorf("a second time: %v", err)
	}
}

func TestMemberSessions_are_seen_and_ended_by_owners(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	ada := h.Add("ada@example.com", flow.DefaultWorkspace, flow.MemberEditor)
	b, owner := h.SignIn(ada.Email), h.SignIn("founder@example.com")
	path := "/settings/members/" + ada.ID + "/sessions"
	h.As(flow.MemberEditor).Get(path).Is(http.StatusForbidden)
	owner.Get(path).Is(http.StatusOK).Has("Where ada is signed in", "127.0.0.1", "Sign out everywhere")
	owner.Post(path+"/end", nil).RedirectsTo("/settings/members")
	b.Get("/flows").Is(http.StatusSeeOther)
	// The sessions of a member with a workspace of others are not the owner's business.
	w := &flow.Workspace{Name: "Other"}
	if err := h.Store.CreateOwnedWorkspace(t.Context(), w, ada.ID); err != nil {
		t.Fatal(err)
	}
	b = h.SignIn(ada.Email)
	owner.Get(path).Is(http.StatusOK).Has("workspaces that you do not own").Lacks("127.0.0.1")
	owner.Post(path+"/end", nil).Is(http.StatusForbidden)
	b.Get("/flows").Is(http.StatusOK)
}

package account

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

var sampleProviders = []ProviderLink{{Name: "Company", Href: "/sign-in/with/company"}, {Name: "Google", Href: "/sign-in/with/google"}}

func signInSamples(theme layout.Theme) map[string]templ.Component {
	out := layout.Page{Title: "Sign in", Theme: theme}
	return map[string]templ.Component{
		"setup":             SetUp(layout.Page{Title: "Set up", Theme: theme}, SetUpForm{Token: "st_1"}),
		"setup-errors":      SetUp(layout.Page{Title: "Set up", Theme: theme}, SetUpForm{Token: "st_1", Name: "Ada", Email: "ada@", Errors: components.Errors{"email": "This is not an e-mail address.", "password": "10 characters at least; this has 4.", "workspace": "Give the workspace a name."}}),
		"sign-in":           SignIn(out, SignInForm{Next: "/runs"}),
		"sign-in-errors":    SignIn(layout.Page{Title: "Sign in", Theme: theme, Unsafe: true, Workspace: "Acme support"}, SignInForm{Email: "ada@example.com", Errors: components.Errors{"": "Wrong email or password."}}),
		"sign-in-providers": SignIn(out, SignInForm{Providers: sampleProviders, Errors: components.Errors{"": "Company cannot be reached. Try again in a moment, or ask the operator of this server."}}),
		"sign-in-only":      SignIn(out, SignInForm{Providers: sampleProviders[:1], PasswordsOff: true}),
		"invite-provider":   AcceptInvite(layout.Page{Title: "Join", Theme: theme}, InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com", Providers: sampleProviders, PasswordsOff: true}),
		"code":              EnterCode(out, components.Errors{"code": "This code does not work. Each code works once: wait for the next one, or enter a recovery code."}),
		"confirm-owner":     ConfirmOwner(out, ConfirmForm{Provider: "Company", Email: "ada@example.com"}),
		"signed-out":        SignedOut(out, sampleProviders[0]),
		"two-step":          TwoStep(viewtest.Page("Two-step sign-in", layout.SectionSettings, theme), FactorPage{Email: "ada@example.com", HasPassword: true, Required: true}),
		"two-step-provider": TwoStep(viewtest.Page("Two-step sign-in", layout.SectionSettings, theme), FactorPage{Email: "ada@example.com"}),
		"two-step-confirm":  TwoStep(viewtest.Page("Two-step sign-in", layout.SectionSettings, theme), FactorPage{Email: "ada@example.com", HasPassword: true, Secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ", QR: "M0 0h1v1h-1zM2 1h1v1h-1z", Side: 21, Errors: components.Errors{"code": "This code is wrong or has expired."}}),
		"two-step-on":       TwoStep(viewtest.Page("Two-step sign-in", layout.SectionSettings, theme), FactorPage{Email: "ada@example.com", HasPassword: true, On: true, Left: 10, Since: viewtest.Noon.Add(-48 * time.Hour), Now: viewtest.Noon, Codes: []string{"abcd-efgh-2345-6767", "bcde-fgha-3456-7672"}}),
		"password":          ChangePassword(viewtest.Page("Change password", "", theme), PasswordForm{Email: "ada@example.com", Errors: components.Errors{"current": "This is not your current password."}}),
		"invite":            AcceptInvite(layout.Page{Title: "Join", Theme: theme}, InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com"}),
	}
}

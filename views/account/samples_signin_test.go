package account

import (
	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func signInSamples(theme layout.Theme) map[string]templ.Component {
	out := layout.Page{Title: "Sign in", Theme: theme}
	return map[string]templ.Component{
		"setup":          SetUp(layout.Page{Title: "Set up", Theme: theme}, SetUpForm{Token: "st_1"}),
		"setup-errors":   SetUp(layout.Page{Title: "Set up", Theme: theme}, SetUpForm{Token: "st_1", Name: "Ada", Email: "ada@", Errors: components.Errors{"email": "This is not an e-mail address.", "password": "10 characters at least; this has 4.", "workspace": "Give the workspace a name."}}),
		"sign-in":        SignIn(out, SignInForm{Next: "/runs"}),
		"sign-in-errors": SignIn(layout.Page{Title: "Sign in", Theme: theme, Unsafe: true, Workspace: "Acme support"}, SignInForm{Email: "ada@example.com", Errors: components.Errors{"": "Wrong email or password."}}),
		"password":       ChangePassword(viewtest.Page("Change password", "", theme), PasswordForm{Email: "ada@example.com", Errors: components.Errors{"current": "This is not your current password."}}),
		"invite":         AcceptInvite(layout.Page{Title: "Join", Theme: theme}, InviteForm{Token: "in_1", Workspace: "Acme support", Role: "editor", InvitedBy: "Ada Kowalski", Email: "lin@example.com"}),
	}
}

package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"sluice/flow"
	"sluice/flow/credentialuse"
	"sluice/flow/library"
	"sluice/flow/wording"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// credentialRoutes returns the routes of credentials. Viewers may list them, because flows refer
// to them by name, but see neither their uses nor whether they can be decrypted.
func (s *Server) credentialRoutes() []route {
	return []route{
		{http.MethodGet, "/credentials", web.Viewer, listCredentials},
		{http.MethodPost, "/credentials", web.Editor, web.Posted(createCredential)},
		{http.MethodGet, "/credentials/:name", web.Editor, web.With(findCredential, showCredential)},
		{http.MethodPost, "/credentials/:name/test", web.Editor, web.With(findCredential, testCredential)},
		{http.MethodPost, "/credentials/:name/limits", web.Editor, web.Posted(web.With(findCredential, setCredentialLimits))},
		{http.MethodPost, "/credentials/:name/hosts", web.Editor, web.Posted(web.With(findCredential, setCredentialHosts))},
		{http.MethodPost, "/credentials/:name/secret", web.Editor, web.Posted(web.With(findCredential, replaceSecret))},
		{http.MethodPost, "/credentials/:name/connect", web.Editor, web.Posted(web.With(findCredential, connectCredential))},
		{http.MethodPost, "/credentials/:name/disconnect", web.Editor, web.Posted(web.With(findCredential, disconnectCredential))},
		{http.MethodGet, clientDocument, web.Open, showClientDocument},
		{http.MethodGet, oauthCallback, web.Editor, finishConnect},
		{http.MethodPost, "/credentials/:name/remove", web.Editor, web.Posted(web.With(findCredential, removeCredential))},
		{http.MethodGet, "/flows/:flow/credentials", web.Editor, newCredential},
		{http.MethodPost, "/flows/:flow/credentials/connect", web.Editor, web.Posted(web.OnFlow(connectProvider))},
		{http.MethodPost, "/flows/:flow/credentials", web.Editor, web.Posted(web.OnFlow(addCredential))},
	}
}

// listCredentials is GET /credentials. With ?add=, it is the page for a new
// credential: a path such as /credentials/new could be the name of one.
func listCredentials(c *call) error {
	if c.QueryParams().Has("add") && c.MayEdit() {
		return newCredentialPage(c)
	}
	list, err := c.s.Store.ListCredentials(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	page := consoleview.CredentialsPage{MayEdit: c.MayEdit(), Now: c.s.Now(), Query: strings.TrimSpace(c.QueryParam("q"))}
	uses := map[string][]credentialuse.Use{}
	if page.MayEdit {
		if uses, err = c.s.Providers.CredentialUses(c.Ctx(), c.WorkspaceID()); err != nil {
			return err
		}
	}
	connected := map[string]bool{}
	for i := range list {
		row := credentialRow(c, &list[i], uses)
		connected[list[i].Provider] = true
		if page.MayEdit {
			row.Sealed = isSealed(c, list[i].Name)
		}
		page.Credentials = append(page.Credentials, row)
	}
	if page.MayEdit {
		for _, k := range c.s.Providers.Environment(c.WorkspaceID()) {
			row := credentialRow(c, &k, nil)
			row.Environment = true
			connected[k.Provider] = true
			page.Credentials = append(page.Credentials, row)
		}
		page.Providers = providerCards(c, connected)
		filterCredentials(&page)
	}
	return c.Render(http.StatusOK, consoleview.Credentials(c.Page("Credentials", layout.SectionCredentials), page))
}

// filterCredentials keeps the credentials and providers that contain all words of
// the search.
func filterCredentials(page *consoleview.CredentialsPage) {
	lacks := func(parts ...string) bool { return !containsAll(strings.Join(parts, " "), page.Query) }
	page.Credentials = slices.DeleteFunc(page.Credentials, func(r consoleview.CredentialRow) bool {
		return lacks(append(slices.Concat(r.Hosts, r.Can), r.Name, r.Provider)...)
	})
	page.Providers = slices.DeleteFunc(page.Providers, func(p consoleview.ProviderCard) bool {
		return lacks(append(slices.Clone(p.Can), p.Name, p.Title, p.Text)...)
	})
}

// providerCards returns the providers that a credential can be for, and "Something
// else" for a plain secret.
func providerCards(c *call, connected map[string]bool) (cards []consoleview.ProviderCard) {
	for _, p := range c.s.Providers.List() {
		card := consoleview.ProviderCard{Name: p.Name, Title: p.Title, Can: components.TaskWords(p.Can), Connected: connected[p.Name]}
		if p.Local {
			card.Text = "Your own server"
		}
		cards = append(cards, card)
	}
	return append(cards, consoleview.ProviderCard{Name: plainSecret, Title: "Something else", Text: "A secret for headers and signatures"})
}

// credentialRow converts a credential, with the nodes that use it. The secret
// never leaves the store.
func credentialRow(c *call, k *flow.Credential, uses map[string][]credentialuse.Use) consoleview.CredentialRow {
	access := flow.Access{Provider: k.Provider}
	row := consoleview.CredentialRow{Name: k.Name, Hosts: k.Hosts, BaseURL: k.BaseURL, ChangedAt: k.UpdatedAt, Plain: access.Plain(), Unbound: k.Unbound()}
	if !row.Plain {
		row.Provider, row.Can = c.s.describeProvider(k.Provider)
	}
	for _, u := range uses[k.Name] {
		row.Uses = addUse(row.Uses, u)
	}
	return row
}

// addUse adds a use to the list, grouped by flow. Uses come in the order of their flows.
func addUse(list []consoleview.CredentialUse, u credentialuse.Use) []consoleview.CredentialUse {
	i := len(list) - 1
	if i < 0 || list[i].FlowID != string(u.FlowID) {
		return append(list, consoleview.CredentialUse{FlowID: string(u.FlowID), Flow: u.FlowName, Nodes: []string{u.Node}, Live: u.Live})
	}
	if !slices.Contains(list[i].Nodes, u.Node) {
		list[i].Nodes = append(list[i].Nodes, u.Node)
	}
	list[i].Live = list[i].Live || u.Live
	return list
}

// plainSecret stands for a credential without a provider, whose hosts the user
// enters.
const plainSecret = "plain"

// newCredentialPage renders the choice of providers, or the form for the chosen
// one.
func newCredentialPage(c *call) error {
	name := c.QueryParam("add")
	if form, ok := addForm(c, name); ok {
		form.Name = name
		if form.Plain {
			form.Name = ""
		}
		return c.Render(http.StatusOK, consoleview.NewCredentialPage(c.Page("Add a credential", layout.SectionCredentials), form))
	}
	return c.Render(http.StatusOK, consoleview.ChooseProvider(c.Page("Add a credential", layout.SectionCredentials), providerCards(c, nil)))
}

// addForm returns the form for a provider, or false if the provider does not exist.
func addForm(c *call, name string) (consoleview.AddCredential, bool) {
	if name == plainSecret {
		return consoleview.AddCredential{Provider: plainSecret, Title: "something else", Plain: true, Errors: components.Errors{}}, true
	}
	for _, p := range c.s.Providers.List() {
		if p.Name == name {
			return consoleview.AddCredential{
				Provider: p.Name, Title: p.Title, KeysURL: p.KeysURL, OwnAddress: p.OwnAddress, Optional: p.OwnAddress, Errors: components.Errors{},
			}, true
		}
	}
	return consoleview.AddCredential{}, false
}

// createCredential is POST /credentials. It saves the secret and then tests it with
// the provider. A failed test does not matter, because the provider may be
// unavailable.
func createCredential(c *call) error {
	form, ok := addForm(c, c.FormValue("provider"))
	if !ok {
		return flow.Errorf(flow.CodeInputInvalid, "This provider does not exist. Reload the page and choose another.")
	}
	form.Name, form.BaseURL, form.Hosts = strings.TrimSpace(c.FormValue("name")), strings.TrimSpace(c.FormValue("base_url")), c.FormValue("hosts")
	form.AnyHost = c.FormValue("any_host") != ""
	made, err := checkCredential(c, &form)
	if err != nil {
		return err
	}
	if len(form.Errors) > 0 {
		return c.Render(http.StatusUnprocessableEntity, consoleview.NewCredentialPage(c.Page("Add a credential", layout.SectionCredentials), form))
	}
	err = c.s.credentials.Create(c.Ctx(), c.Actor(), made, strings.TrimSpace(c.FormValue("secret")))
	if setCreateError(form.Errors, err, "A credential with this name exists. Open it to replace its secret, or choose another name.") {
		return c.Render(http.StatusUnprocessableEntity, consoleview.NewCredentialPage(c.Page("Add a credential", layout.SectionCredentials), form))
	}
	if err != nil {
		return err
	}
	if !form.Plain {
		toastTest(c, &made, "", "“"+made.Name+"” was saved. ")
	} else {
		c.Toast(components.ToneOK, "“"+made.Name+"” was saved.")
	}
	return c.Redirect("/credentials")
}

// setCreateError sets the error of a form whose credential was not created because its name exists or
// it needs hosts. It returns false for other errors.
func setCreateError(form components.Errors, err error, exists string) bool {
	if errors.Is(err, library.ErrCredentialExists) {
		form["name"] = exists
	} else if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
		form["hosts"] = e.Message
	} else {
		return false
	}
	return true
}

// checkCredential validates the form and sets its errors.
func checkCredential(c *call, form *consoleview.AddCredential) (flow.Credential, error) {
	wanted := flow.Credential{WorkspaceID: c.WorkspaceID(), Name: form.Name, BaseURL: form.BaseURL, Trusted: mayUsePrivateAddress(c)}
	if !form.Plain {
		wanted.Provider = form.Provider
	}
	if form.Plain {
		wanted.Hosts = splitHosts(form.Hosts)
		if problem := missingHosts(wanted.Hosts, form.AnyHost); problem != "" {
			form.Errors["hosts"] = problem
		}
	}
	made, err := c.s.Providers.Credential(wanted, strings.TrimSpace(c.FormValue("secret")))
	if e, ok := errors.AsType[*flow.Error](err); ok {
		for _, p := range e.Fields {
			form.Errors[strings.TrimPrefix(p.Pointer, "/")] = p.Detail
		}
		return made, nil
	}
	return made, err
}

// mayUsePrivateAddress reports whether the base URL that this user enters may
// be in a private network. Only owners of the default workspace may, who
// operate the server; on a server with open sign-up, others could use it to
// reach internal services.
func mayUsePrivateAddress(c *call) bool {
	return c.WorkspaceID() == flow.DefaultWorkspace && c.Member.Role.AtLeast(flow.MemberOwner)
}

// toastTest asks the provider whether it accepts the secret and shows the result on the next page:
// a success after the text accepted, an error after the text refused. Internal errors are also logged.
func toastTest(c *call, k *flow.Credential, accepted, refused string) {
	result, err := c.s.credentials.Test(c.Ctx(), c.Actor(), *k)
	if err != nil {
		e := flow.AsError(err)
		if e.Code == flow.CodeInternal {
			c.s.Log.Error("credential not tested", "name", k.Name, "error", err)
		}
		c.Toast(components.ToneBad, refused+e.Message)
		return
	}
	c.Toast(components.ToneOK, accepted+result)
}

// findCredential finds the credential of the path.
func findCredential(c *call) (flow.Credential, error) {
	return c.s.Store.FindCredential(c.Ctx(), c.WorkspaceID(), c.Param("name"))
}

// showCredential is GET /credentials/{name}.
func showCredential(c *call, k flow.Credential) error {
	return credentialPage(c, http.StatusOK, &k, nil)
}

// credentialPage renders the page of a credential. For an unbound one it
// proposes the hosts that its flows use.
func credentialPage(c *call, status int, k *flow.Credential, errors components.Errors) error {
	uses, err := c.s.Providers.CredentialUses(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	page := consoleview.CredentialPage{Credential: credentialRow(c, k, uses), Errors: errors, Now: c.s.Now(), Hosts: strings.Join(k.Hosts, ", "), AnyHost: k.Unbound(),
		AtOnce: countText(k.Limits.AtOnce), PerMinute: countText(k.Limits.PerMinute)}
	if errors["max_calls"]+errors["calls_per_minute"] != "" {
		page.AtOnce, page.PerMinute = c.Trimmed("max_calls"), c.Trimmed("calls_per_minute")
	}
	page.Credential.Sealed, page.Connection = isSealed(c, k.Name), c.s.Connection(c.Call, k)
	switch {
	case errors["hosts"] != "":
		page.Hosts, page.AnyHost = c.FormValue("hosts"), c.FormValue("any_host") != ""
	case k.Unbound():
		proposed, err := c.s.Providers.ProposeHosts(c.Ctx(), c.WorkspaceID())
		if err != nil {
			return err
		}
		if page.Hosts = strings.Join(proposed[k.Name], ", "); page.Hosts != "" {
			page.AnyHost, page.Proposed = false, true
		}
	}
	return c.Render(status, consoleview.Credential(c.Page(k.Name, layout.SectionCredentials), page))
}

// testCredential is POST /credentials/{name}/test.
func testCredential(c *call, k flow.Credential) error {
	toastTest(c, &k, "", "")
	return c.Redirect("/credentials/" + k.Name)
}

// setCredentialHosts is POST /credentials/{name}/hosts. Only plain credentials
// have hosts of their own; others follow their provider.
func setCredentialHosts(c *call, k flow.Credential) error {
	hosts, err := flow.ParseHosts(splitHosts(c.FormValue("hosts")))
	problem := missingHosts(hosts, c.FormValue("any_host") != "")
	if err != nil {
		problem = wording.Sentence(err.Error())
	}
	if problem == "" {
		err = c.s.credentials.SetHosts(c.Ctx(), c.Actor(), k, hosts)
		if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
			problem = e.Message
		} else if err != nil {
			return err
		}
	}
	if problem != "" {
		return credentialPage(c, http.StatusUnprocessableEntity, &k, components.Errors{"hosts": problem})
	}
	c.Toast(components.ToneOK, "Hosts saved.")
	return c.Redirect("/credentials/" + url.PathEscape(k.Name))
}

// setCredentialLimits is POST /credentials/{name}/limits.
func setCredentialLimits(c *call, k flow.Credential) error {
	errors := components.Errors{}
	count := func(name string) int64 {
		text := c.Trimmed(name)
		n, ok := flow.ParseCount(text)
		if text != "" && (!ok || n > flow.MaxCallLimit) {
			errors[name] = fmt.Sprintf("Enter a number up to %d, or leave it empty.", flow.MaxCallLimit)
		}
		return n
	}
	l := flow.CallLimits{AtOnce: count("max_calls"), PerMinute: count("calls_per_minute")}
	if len(errors) > 0 {
		return credentialPage(c, http.StatusUnprocessableEntity, &k, errors)
	}
	if err := c.s.credentials.SetLimits(c.Ctx(), c.Actor(), nil, k, l); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "Limits saved.")
	return c.Redirect("/credentials/" + url.PathEscape(k.Name))
}

// splitHosts splits a list of hosts at commas and white space.
func splitHosts(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
}

// missingHosts returns a message unless exactly one is true: there are hosts, or any
// host is allowed.
func missingHosts(hosts []string, anyHost bool) string {
	switch {
	case len(hosts) > 0 && anyHost:
		return "Remove the hosts, or clear the box below."
	case len(hosts) == 0 && !anyHost:
		return "Enter the hosts that the secret may be sent to, such as api.example.com."
	}
	return ""
}

// isSealed reports whether a credential cannot be decrypted with the master
// key.
func isSealed(c *call, name string) bool {
	_, _, err := c.s.Store.OpenCredential(c.Ctx(), c.WorkspaceID(), name)
	return errors.Is(err, &flow.Error{Code: flow.CodeProviderAuth})
}

// replaceSecret is POST /credentials/{name}/secret. The hosts stay the same.
// The old secret keeps verifying webhooks for the chosen overlap.
func replaceSecret(c *call, k flow.Credential) error {
	k.Overlap = flow.SigningOverlap
	if overlap, ok := readOverlap(c.FormValue("overlap")); ok {
		k.Overlap = overlap
	}
	err := c.s.credentials.ReplaceSecret(c.Ctx(), c.Actor(), k, strings.TrimSpace(c.FormValue("secret")))
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
		return credentialPage(c, http.StatusUnprocessableEntity, &k, components.Errors{"secret": e.Message})
	}
	if err != nil {
		return err
	}
	if access := (flow.Access{Provider: k.Provider}); access.Plain() {
		c.Toast(components.ToneOK, "The secret was replaced.")
	} else {
		toastTest(c, &k, "The secret was replaced. ", "The secret was replaced. ")
	}
	return c.Redirect("/credentials/" + k.Name)
}

// removeCredential is POST /credentials/{name}/remove. If flows use the credential,
// the user must confirm, because these flows will fail.
func removeCredential(c *call, k flow.Credential) error {
	uses, err := c.s.Providers.CredentialUses(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	if len(uses[k.Name]) > 0 && c.FormValue("sure") == "" {
		return credentialPage(c, http.StatusUnprocessableEntity, &k, components.Errors{"sure": "Tick the box to remove it anyway."})
	}
	if err := c.s.credentials.Remove(c.Ctx(), c.Actor(), k); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+k.Name+"” was removed.")
	return c.Redirect("/credentials")
}

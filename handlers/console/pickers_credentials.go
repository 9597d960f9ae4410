package console

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// credentialForm returns the form in the dialog of the editor, with the submitted
// values.
func credentialForm(c *call) editorview.CredentialForm {
	plain := []components.Option{{Value: "", Label: "Anything: a plain secret"}}
	return editorview.CredentialForm{FlowID: c.Param("flow"), Name: c.FormValue("name"), Provider: c.FormValue("provider"), Hosts: c.FormValue("hosts"), AnyHost: c.FormValue("any_host") != "", Providers: append(plain, c.s.Models.Providers()...), Errors: components.Errors{}}
}

// newCredential is GET /flows/{flow}/credentials: the form in the dialog of the
// editor.
func newCredential(c *call) error {
	if _, err := c.FindFlow(); err != nil {
		return err
	}
	return c.Render(http.StatusOK, editorview.NewCredential(credentialForm(c)))
}

// addCredential is POST /flows/{flow}/credentials. Unlike createCredential, it does
// not test the secret, and it returns the name for the script to put into the node.
func addCredential(c *call, f *flow.Flow) error {
	form := credentialForm(c)
	made, err := c.s.Models.NewCredential(c.WorkspaceID(), form.Name, form.Provider, c.FormValue("secret"), splitHosts(form.Hosts), form.AnyHost)
	if e, ok := errors.AsType[*flow.Error](err); ok {
		for _, p := range e.Fields {
			form.Errors[p.Pointer] = p.Detail
		}
		return c.Render(http.StatusUnprocessableEntity, editorview.NewCredential(form))
	}
	if err != nil {
		return err
	}
	err = c.s.credentials.Create(c.Ctx(), c.Actor(), made, c.FormValue("secret"))
	if setCreateError(form.Errors, err, "A credential with this name exists. Choose it in the list, or use another name.") {
		return c.Render(http.StatusUnprocessableEntity, editorview.NewCredential(form))
	}
	if err != nil {
		return err
	}
	if c.IsFragment() {
		return c.JSON(http.StatusCreated, map[string]string{"name": made.Name, "provider": made.Provider})
	}
	return c.Redirect("/flows/" + string(f.ID))
}

// connectProvider is POST /flows/{flow}/credentials/connect: the form in the list of models, with the
// key of a provider, or with the name, address and key of a server of one's own. It
// tests the key first, and saves it if the provider accepts it or cannot be reached; an address that
// does not answer is refused. The response for the script has a message, with status 201, or 422 and
// the field to fix.
func connectProvider(c *call, _ *flow.Flow) error {
	refuse := func(field, message string) error {
		return c.JSON(http.StatusUnprocessableEntity, map[string]string{"field": field, "message": message})
	}
	secret, provider := c.Trimmed("secret"), c.FormValue("provider")
	wanted := flow.Credential{WorkspaceID: c.WorkspaceID(), Name: cmp.Or(c.Trimmed("name"), provider), Provider: provider, BaseURL: c.Trimmed("base_url"), Trusted: mayUsePrivateAddress(c)}
	made, err := c.s.Providers.Credential(wanted, secret)
	if e, ok := errors.AsType[*flow.Error](err); ok {
		if len(e.Fields) > 0 {
			return refuse(strings.TrimPrefix(e.Fields[0].Pointer, "/"), e.Fields[0].Detail)
		}
		return refuse("secret", e.Message)
	}
	if err != nil {
		return err
	}
	exists := func() error {
		if made.BaseURL != "" {
			return refuse("name", "A credential with this name exists. Choose another name.")
		}
		return refuse("secret", "A credential for this provider exists. Replace its secret under Credentials.")
	}
	if err := c.s.credentials.CheckNew(c.Ctx(), c.WorkspaceID(), made.Name); errors.Is(err, library.ErrCredentialExists) {
		return exists()
	} else if err != nil {
		return err
	}
	result, err := c.s.Providers.TestSecret(c.Ctx(), made, secret)
	if e := flow.AsError(err); err != nil && e.Code == flow.CodeProviderAuth {
		return refuse("secret", e.Message)
	} else if err != nil && made.BaseURL != "" {
		return refuse("base_url", e.Message)
	} else if err != nil {
		result = "Saved as “" + made.Name + "”, but it could not be tested now: " + e.Message
	}
	if err := c.s.credentials.Create(c.Ctx(), c.Actor(), made, secret); errors.Is(err, library.ErrCredentialExists) {
		return exists()
	} else if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, map[string]string{"name": made.Name, "message": result})
}

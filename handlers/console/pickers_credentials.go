package console

import (
	"errors"
	"net/http"

	"sluice/flow"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

// credentialForm returns the form in the dialog of the editor, with what was
// typed.
func (c *credentialCall) credentialForm() editorview.CredentialForm {
	none := []components.Option{{Value: "", Label: "Anything: a plain secret"}}
	return editorview.CredentialForm{FlowID: c.Param("flow"), Name: c.FormValue("name"), Provider: c.FormValue("provider"), Hosts: c.FormValue("hosts"), AnyHost: c.FormValue("any_host") != "", Providers: append(none, c.s.Models.Providers()...), Errors: components.Errors{}}
}

// newCredential is GET /flows/{flow}/credentials: the form in the dialog of the
// editor.
func (c *credentialCall) newCredential() error {
	if _, err := c.FindFlow(); err != nil {
		return err
	}
	return c.Render(http.StatusOK, editorview.NewCredential(c.credentialForm()))
}

// addCredential is POST /flows/{flow}/credentials. Unlike the form on its own
// page, it does not test the secret, and a script gets the name to put into the
// node.
func (c *credentialCall) addCredential(f *flow.Flow) error {
	form := c.credentialForm()
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
	if made.Unbound() {
		problem, err := c.checkHosts(made.Name, made.Hosts, true)
		if err != nil {
			return err
		}
		if problem != "" {
			form.Errors["hosts"] = problem
			return c.Render(http.StatusUnprocessableEntity, editorview.NewCredential(form))
		}
	}
	_, err = c.s.Store.FindCredential(c.Ctx(), c.WorkspaceID(), made.Name)
	switch {
	case err == nil:
		form.Errors["name"] = "A credential with this name exists. Choose it in the list, or use another name."
		return c.Render(http.StatusUnprocessableEntity, editorview.NewCredential(form))
	case !errors.Is(err, &flow.Error{Code: flow.CodeNotFound}):
		return err
	}
	if err := c.s.Store.SaveCredential(c.Ctx(), made, c.FormValue("secret")); err != nil {
		return err
	}
	if err := c.Audit("credential.save", made.Name, made.Provider); err != nil {
		return err
	}
	if c.IsFragment() {
		return c.JSON(http.StatusCreated, map[string]string{"name": made.Name, "provider": made.Provider})
	}
	return c.Redirect("/flows/" + f.ID)
}

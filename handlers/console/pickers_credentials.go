package console

import (
	"errors"
	"net/http"

	"sluice/flow"
	"sluice/views/components"
	editorview "sluice/views/editor"
)

func (c *credentialCall) credentialForm() editorview.CredentialForm {
	none := []components.Option{{Value: "", Label: "Anything: a plain secret"}}
	return editorview.CredentialForm{FlowID: c.Param("flow"), Name: c.FormValue("name"), Provider: c.FormValue("provider"), Hosts: c.FormValue("hosts"), AnyHost: c.FormValue("any_host") != "", Providers: append(none, c.s.Models.Providers()...), Errors: components.Errors{}}
}

// newCredential is GET the form of the dialog.
func (c *credentialCall) newCredential() error {
	if _, err := c.FindFlow(); err != nil {
		return err
	}
	return c.Render(http.StatusOK, editorview.NewCredential(c.credentialForm()))
}

// addCredential is POST the form of the dialog. A name that is taken is
// refused: what uses it would be paid for by somebody else all at once.
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
		why, err := c.checkHosts(made.Name, made.Hosts, true)
		if err != nil {
			return err
		}
		if why != "" {
			form.Errors["hosts"] = why
			return c.Render(http.StatusUnprocessableEntity, editorview.NewCredential(form))
		}
	}
	_, err = c.s.Store.FindCredential(c.Ctx(), c.WorkspaceID(), made.Name)
	switch {
	case err == nil:
		form.Errors["name"] = "There is a credential of this name. Choose it in the list, or give this one another name."
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

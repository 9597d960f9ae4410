package console

import (
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/a-h/templ"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// flowKeyRoutes returns the routes of the keys in the API pane of a flow. Keys that are created
// there can call this flow only.
func (s *Server) flowKeyRoutes() []route {
	return []route{
		{http.MethodGet, "/flows/:flow/keys", web.Viewer, onKey(web.OnFlow((*keyCall).showFlowKeys))},
		{http.MethodPost, "/flows/:flow/keys", web.Editor, onKey(web.Posted(web.OnFlow((*keyCall).createFlowKey)))},
		{http.MethodPost, "/flows/:flow/keys/:key/roll", web.Editor, onKey((*keyCall).rotateFlowKey)},
		{http.MethodPost, "/flows/:flow/keys/:key/end", web.Editor, onKey((*keyCall).endPreviousFlowKey)},
		{http.MethodPost, "/flows/:flow/keys/:key/revoke", web.Editor, onKey((*keyCall).revokeFlowKey)},
	}
}

// flowKeys renders the keys of a flow for the API pane of the editor.
func (c *keyCall) flowKeys(f *flow.Flow, keys []flow.Key) (templ.Component, error) {
	panel := consoleview.FlowKeysPanel{}
	err := c.fillFlowKeys(f, keys, &panel)
	return consoleview.FlowKeys(panel), err
}

// fillFlowKeys fills in the active keys that may call the flow, and a form for
// a new key unless the panel has one.
func (c *keyCall) fillFlowKeys(f *flow.Flow, keys []flow.Key, panel *consoleview.FlowKeysPanel) error {
	names, err := c.keyNames(keys)
	if err != nil {
		return err
	}
	panel.FlowID, panel.Flow, panel.MayEdit = string(f.ID), f.Name, c.MayEdit()
	for i := range slices.Backward(keys) { // the newest first
		if k := &keys[i]; k.State(names.now) == flow.KeyActive && k.Allows(f.ID) {
			panel.Keys = append(panel.Keys, names.row(k))
		}
	}
	if panel.Form.ID == "" {
		panel.Form = c.flowKeyForm(keys)
	}
	return nil
}

// flowKeyForm returns a complete form for a key of this flow, so that creating one
// takes a single click.
func (c *keyCall) flowKeyForm(keys []flow.Key) consoleview.KeyForm {
	return consoleview.KeyForm{
		ID: c.s.IDs.New(flow.PrefixKey), Name: unusedKeyName(keys), Scopes: []string{string(flow.ScopeRun), string(flow.ScopeRead)},
		Within: "flow-", Now: c.s.Now(), Errors: components.Errors{},
	}
}

// unusedKeyName returns "Key 1", or the next name that no key of the workspace has.
func unusedKeyName(keys []flow.Key) string {
	for n := 1; ; n++ {
		name := "Key " + strconv.Itoa(n)
		if !slices.ContainsFunc(keys, func(k flow.Key) bool { return k.Name == name }) {
			return name
		}
	}
}

// showFlowKeys is GET /flows/{flow}/keys.
func (c *keyCall) showFlowKeys(f *flow.Flow) error {
	return c.renderFlowKeys(http.StatusOK, f, consoleview.FlowKeysPanel{})
}

// renderFlowKeys renders the keys of a flow: as a fragment for the editor,
// otherwise as a page.
func (c *keyCall) renderFlowKeys(status int, f *flow.Flow, panel consoleview.FlowKeysPanel) error {
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	if err := c.fillFlowKeys(f, keys, &panel); err != nil {
		return err
	}
	if c.IsFragment() {
		return c.Render(status, consoleview.FlowKeys(panel))
	}
	return c.Render(status, consoleview.FlowKeysPage(c.Page("Keys of "+f.Name, layout.SectionKeys), panel))
}

// createFlowKey is POST /flows/{flow}/keys: a key that may call this flow only.
func (c *keyCall) createFlowKey(f *flow.Flow) error {
	form := consoleview.KeyForm{Within: "flow-", Now: c.s.Now(), Errors: components.Errors{}}
	c.readKeyFields(&form)
	form.Only, form.Flows = true, []string{string(f.ID)}
	k, text, err := c.createKeyFrom(&form)
	switch {
	case errors.Is(err, errKeyInvalid):
		return c.renderFlowKeys(http.StatusUnprocessableEntity, f, consoleview.FlowKeysPanel{Form: form})
	case errors.Is(err, errKeyExists):
		return c.renderFlowKeys(http.StatusUnprocessableEntity, f, consoleview.FlowKeysPanel{Error: errKeyExists.Error()})
	case err != nil:
		return err
	}
	return c.showFlowKey(f, k, text)
}

// showFlowKey responds with the secret of a key. An event passes it to the code
// samples on the page, so that they can be copied ready to run.
func (c *keyCall) showFlowKey(f *flow.Flow, k *flow.Key, text string) error {
	done := ""
	if !c.IsFragment() {
		done = "/flows/" + string(f.ID) + "/keys"
	}
	made, err := c.createdKey(k, text, done)
	if err != nil {
		return err
	}
	c.Trigger("key:made", map[string]string{"text": text})
	return c.renderFlowKeys(http.StatusOK, f, consoleview.FlowKeysPanel{Made: made})
}

// findFlowKey returns the flow of the path after checking that the key of the path
// may call it.
func (c *keyCall) findFlowKey() (*flow.Flow, error) {
	f, err := c.FindFlow()
	if err != nil {
		return nil, err
	}
	k, err := c.findKey()
	if err != nil {
		return nil, err
	}
	if !k.Allows(f.ID) {
		return nil, web.ErrNotFound
	}
	return f, nil
}

// rotateFlowKey is POST /flows/{flow}/keys/{key}/roll.
func (c *keyCall) rotateFlowKey() error {
	f, err := c.findFlowKey()
	if err != nil {
		return err
	}
	k, text, err := c.rotate()
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
		return c.renderFlowKeys(http.StatusUnprocessableEntity, f, consoleview.FlowKeysPanel{Error: e.Message})
	}
	if err != nil {
		return err
	}
	return c.showFlowKey(f, k, text)
}

// endPreviousFlowKey is POST /flows/{flow}/keys/{key}/end.
func (c *keyCall) endPreviousFlowKey() error {
	f, err := c.findFlowKey()
	if err != nil {
		return err
	}
	if _, err := c.keyring().EndPrevious(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Param("key")); err != nil {
		return err
	}
	return c.finishFlowKey(f, "The old key no longer works.")
}

// revokeFlowKey is POST /flows/{flow}/keys/{key}/revoke.
func (c *keyCall) revokeFlowKey() error {
	f, err := c.findFlowKey()
	if err != nil {
		return err
	}
	message, err := c.revoke()
	if err != nil {
		return err
	}
	return c.finishFlowKey(f, message)
}

// finishFlowKey renders the keys after a change, with a message about it.
func (c *keyCall) finishFlowKey(f *flow.Flow, message string) error {
	c.Toast(components.ToneOK, message)
	if c.IsFragment() {
		return c.renderFlowKeys(http.StatusOK, f, consoleview.FlowKeysPanel{})
	}
	return c.Redirect("/flows/" + string(f.ID) + "/keys")
}

// KeysPanel renders the keys that may call a flow. keys are all keys of the
// workspace.
func (s *Server) KeysPanel(c *web.Call, f *flow.Flow, keys []flow.Key) (templ.Component, error) {
	return (&keyCall{s.newCall(c)}).flowKeys(f, keys)
}

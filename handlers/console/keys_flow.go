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
		{http.MethodGet, "/flows/:flow/keys", web.Viewer, web.OnFlow(showFlowKeys)},
		{http.MethodPost, "/flows/:flow/keys", web.Editor, web.Posted(web.OnFlow(createFlowKey))},
		{http.MethodPost, "/flows/:flow/keys/:key/roll", web.Editor, rotateFlowKey},
		{http.MethodPost, "/flows/:flow/keys/:key/end", web.Editor, endPreviousFlowKey},
		{http.MethodPost, "/flows/:flow/keys/:key/revoke", web.Editor, revokeFlowKey},
	}
}

// flowKeys renders the keys of a flow for the API pane of the editor.
func flowKeys(c *call, f *flow.Flow, keys []flow.Key) (templ.Component, error) {
	panel := consoleview.FlowKeysPanel{}
	err := fillFlowKeys(c, f, keys, &panel)
	return consoleview.FlowKeys(panel), err
}

// flowKeysShown is how many keys, the newest, the panel of a flow has. Each comes with its forms.
const flowKeysShown = 10

// fillFlowKeys fills in the active keys that may call the flow, and a form for
// a new key unless the panel has one.
func fillFlowKeys(c *call, f *flow.Flow, keys []flow.Key, panel *consoleview.FlowKeysPanel) error {
	names, err := namesOfKeys(c, keys)
	if err != nil {
		return err
	}
	panel.FlowID, panel.Flow, panel.LiveVersion, panel.MayEdit = string(f.ID), f.Name, f.LiveVersion, c.MayEdit()
	for i := range slices.Backward(keys) { // the newest first
		k := &keys[i]
		switch {
		case k.State(names.now) != flow.KeyActive || !k.Allows(f.ID):
		case len(panel.Keys) < flowKeysShown:
			panel.Keys = append(panel.Keys, names.row(k))
		default:
			panel.More++
		}
	}
	if panel.Form.ID == "" {
		panel.Form = flowKeyForm(c, keys)
	}
	return nil
}

// flowKeyForm returns a complete form for a key of this flow, so that creating one
// takes a single click.
func flowKeyForm(c *call, keys []flow.Key) consoleview.KeyForm {
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
func showFlowKeys(c *call, f *flow.Flow) error {
	return renderFlowKeys(c, http.StatusOK, f, consoleview.FlowKeysPanel{})
}

// renderFlowKeys renders the keys of a flow: as a fragment for the editor,
// otherwise as a page.
func renderFlowKeys(c *call, status int, f *flow.Flow, panel consoleview.FlowKeysPanel) error {
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	if err := fillFlowKeys(c, f, keys, &panel); err != nil {
		return err
	}
	if c.IsFragment() {
		return c.Render(status, consoleview.FlowKeys(panel))
	}
	return c.Render(status, consoleview.FlowKeysPage(c.Page("Keys of "+f.Name, layout.SectionKeys), panel))
}

// createFlowKey is POST /flows/{flow}/keys: a key that may call this flow only.
func createFlowKey(c *call, f *flow.Flow) error {
	form := consoleview.KeyForm{Within: "flow-", Now: c.s.Now(), Errors: components.Errors{}}
	readKeyFields(c, &form)
	form.Only, form.Flows = true, []string{string(f.ID)}
	k, text, err := createKeyFrom(c, &form)
	switch {
	case errors.Is(err, errKeyInvalid):
		return renderFlowKeys(c, http.StatusUnprocessableEntity, f, consoleview.FlowKeysPanel{Form: form})
	case errors.Is(err, errKeyExists):
		return renderFlowKeys(c, http.StatusUnprocessableEntity, f, consoleview.FlowKeysPanel{Error: errKeyExists.Error()})
	case err != nil:
		return err
	}
	return showFlowKey(c, f, k, text)
}

// showFlowKey responds with the secret of a key. An event passes it to the code
// samples on the page, so that they can be copied ready to run.
func showFlowKey(c *call, f *flow.Flow, k *flow.Key, text string) error {
	done := ""
	if !c.IsFragment() {
		done = "/flows/" + string(f.ID) + "/keys"
	}
	made, err := createdKey(c, k, text, done)
	if err != nil {
		return err
	}
	c.Trigger("key:made", map[string]string{"text": text})
	return renderFlowKeys(c, http.StatusOK, f, consoleview.FlowKeysPanel{Made: made})
}

// findFlowKey returns the flow of the path after checking that the key of the path
// may call it.
func findFlowKey(c *call) (*flow.Flow, error) {
	f, err := c.FindFlow()
	if err != nil {
		return nil, err
	}
	k, err := findKey(c)
	if err != nil {
		return nil, err
	}
	if !k.Allows(f.ID) {
		return nil, web.ErrNotFound
	}
	return f, nil
}

// rotateFlowKey is POST /flows/{flow}/keys/{key}/roll.
func rotateFlowKey(c *call) error {
	f, err := findFlowKey(c)
	if err != nil {
		return err
	}
	k, text, err := rotate(c)
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
		return renderFlowKeys(c, http.StatusUnprocessableEntity, f, consoleview.FlowKeysPanel{Error: e.Message})
	}
	if err != nil {
		return err
	}
	return showFlowKey(c, f, k, text)
}

// endPreviousFlowKey is POST /flows/{flow}/keys/{key}/end.
func endPreviousFlowKey(c *call) error {
	f, err := findFlowKey(c)
	if err != nil {
		return err
	}
	if _, err := keyring(c).EndPrevious(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Param("key")); err != nil {
		return err
	}
	return finishFlowKey(c, f, "The old key no longer works.")
}

// revokeFlowKey is POST /flows/{flow}/keys/{key}/revoke.
func revokeFlowKey(c *call) error {
	f, err := findFlowKey(c)
	if err != nil {
		return err
	}
	message, err := revoke(c)
	if err != nil {
		return err
	}
	return finishFlowKey(c, f, message)
}

// finishFlowKey renders the keys after a change, with a message about it.
func finishFlowKey(c *call, f *flow.Flow, message string) error {
	c.Toast(components.ToneOK, message)
	if c.IsFragment() {
		return renderFlowKeys(c, http.StatusOK, f, consoleview.FlowKeysPanel{})
	}
	return c.Redirect("/flows/" + string(f.ID) + "/keys")
}

// KeysPanel renders the keys that may call a flow. keys are all keys of the
// workspace.
func (s *Server) KeysPanel(c *web.Call, f *flow.Flow, keys []flow.Key) (templ.Component, error) {
	return flowKeys(s.newCall(c), f, keys)
}

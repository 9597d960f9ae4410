package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

// keyRoutes returns the routes of keys. The path of rotation is /roll for historical
// reasons; URLs are stable.
func (s *Server) keyRoutes() []route {
	return slices.Concat([]route{
		{http.MethodGet, "/keys", web.Viewer, listKeys},
		{http.MethodPost, "/keys", web.Editor, web.Posted(createKey)},
		{http.MethodGet, "/keys/new", web.Editor, newKey},
		{http.MethodGet, "/keys/:key", web.Viewer, web.With(findKey, showKey)},
		{http.MethodPost, "/keys/:key", web.Editor, web.Posted(web.With(findKey, changeKey))},
		{http.MethodPost, "/keys/:key/roll", web.Editor, rotateKey},
		{http.MethodPost, "/keys/:key/end", web.Editor, endPreviousKey},
		{http.MethodPost, "/keys/:key/revoke", web.Editor, revokeKey},
	}, s.flowKeyRoutes())
}

// keyring returns the domain service that creates and changes keys.
func keyring(c *call) *library.Keyring {
	return &library.Keyring{Store: c.s.Store, IDs: c.s.IDs, Now: c.s.Now}
}

// keyNames resolves the IDs in rows of keys to names.
type keyNames struct {
	heads  []flow.Flow
	keys   []flow.Key // all keys of the workspace
	makers map[string]flow.KeyMaker
	flows  map[flow.FlowID]string
	now    time.Time
}

// readKeyNames is namesOfKeys for callers that have not read the keys.
func readKeyNames(c *call) (n keyNames, err error) {
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return n, err
	}
	return namesOfKeys(c, keys)
}

// namesOfKeys reads the creators of keys and the flows of the workspace.
func namesOfKeys(c *call, keys []flow.Key) (n keyNames, err error) {
	n.keys = keys
	if n.makers, err = c.s.Store.ListKeyMakers(c.Ctx(), c.WorkspaceID()); err != nil {
		return n, err
	}
	if n.heads, err = c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID()); err != nil {
		return n, err
	}
	n.now, n.flows = c.s.Now(), map[flow.FlowID]string{}
	for i := range n.heads {
		n.flows[n.heads[i].ID] = n.heads[i].Name
	}
	return n, nil
}

// row converts a key. The creator may have left the workspace or be the command
// line.
func (n keyNames) row(k *flow.Key) consoleview.KeyRow {
	row := consoleview.KeyRow{KeyFacts: *keyFacts(k, n.now), Now: n.now}
	for _, id := range k.Flows {
		row.FlowNames = append(row.FlowNames, n.flows[flow.FlowID(id)])
	}
	sorting.Strings(row.FlowNames)
	maker, known := n.makers[k.CreatedBy]
	switch {
	case known:
		row.MadeBy, row.Former = maker.Name, !maker.Member
	case k.CreatedBy == "cli":
		row.MadeBy = "the command line"
	case k.Maker() != "":
		row.MadeBy, row.MakerKey = "a key", k.Maker()
	default:
		row.MadeBy = "someone"
	}
	for i := range n.keys {
		if n.keys[i].ID == row.MakerKey {
			row.MadeBy = n.keys[i].Name
		}
	}
	if k.MayMakeKeys() {
		row.Made = activeKeysMadeBy(k.ID, n.keys)
	}
	return row
}

// activeKeysMadeBy returns the keys that a key has created, directly or through other keys, and
// that are not revoked.
func activeKeysMadeBy(id string, keys []flow.Key) (list []consoleview.KeyFlow) {
	for _, k := range flow.KeysMadeBy(id, keys) {
		if k.RevokedAt.IsZero() {
			list = append(list, consoleview.KeyFlow{ID: k.ID, Name: k.Name})
		}
	}
	return list
}

// listKeys is GET /keys: the active keys or, with ?show=all, all of them.
func listKeys(c *call) error {
	return keysPage(c, http.StatusOK, consoleview.KeysPage{All: c.QueryParam("show") == "all"})
}

// keysPage fills in and renders the list, newest first.
func keysPage(c *call, status int, page consoleview.KeysPage) error {
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	names, err := namesOfKeys(c, keys)
	if err != nil {
		return err
	}
	page.MayEdit, page.Now = c.MayEdit(), names.now
	keys = slices.Clone(keys)
	slices.Reverse(keys) // the newest first
	var shown []*flow.Key
	for i := range keys {
		k := &keys[i]
		if k.State(names.now) == flow.KeyActive {
			page.Active++
		} else if page.Ended++; !page.All {
			continue
		}
		shown = append(shown, k)
	}
	var query url.Values
	if page.All {
		query = url.Values{"show": {"all"}}
	}
	page.Pages = components.Pages{Path: "/keys", Query: query}
	for _, k := range pageOfKeys(&page.Pages, shown, c.QueryParam("before"), c.QueryParam("after")) {
		page.Keys = append(page.Keys, names.row(k))
	}
	return c.Render(status, consoleview.Keys(c.Page("Keys", layout.SectionKeys), page))
}

// keysShown is the number of keys on a page.
const keysShown = 100

// pageOfKeys returns the keys of a page, newest first: those after a key or before one, by their IDs, or the
// newest. It sets the links to the pages around them.
func pageOfKeys(pages *components.Pages, keys []*flow.Key, before, after string) []*flow.Key {
	from := 0
	switch {
	case after != "":
		for from < len(keys) && keys[from].ID >= after {
			from++
		}
	case before != "":
		for from < len(keys) && keys[from].ID > before {
			from++
		}
		from = max(0, from-keysShown)
	}
	until := min(len(keys), from+keysShown)
	if from > 0 && from < len(keys) {
		pages.Before = keys[from].ID
	}
	if until < len(keys) {
		pages.After = keys[until-1].ID
	}
	return keys[from:until]
}

// newKey is GET /keys/new.
func newKey(c *call) error {
	form, err := keyForm(c, nil)
	if err != nil {
		return err
	}
	return newKeyPage(c, http.StatusOK, form)
}

// newKeyPage renders the form for a new key.
func newKeyPage(c *call, status int, form consoleview.KeyForm) error {
	return c.Render(status, consoleview.NewKey(c.Page("New key", layout.SectionKeys), form))
}

// createKey is POST /keys. It does not redirect, because the secret is shown in this
// response only; the store has just its hash.
func createKey(c *call) error {
	form, err := keyForm(c, nil)
	if err != nil {
		return err
	}
	readKeyFields(c, &form)
	k, text, err := createKeyFrom(c, &form)
	switch {
	case errors.Is(err, errKeyInvalid):
		return newKeyPage(c, http.StatusUnprocessableEntity, form)
	case errors.Is(err, errKeyExists):
		c.Toast(components.ToneWait, errKeyExists.Error())
		return c.Redirect(consoleview.KeyPath(k.ID))
	case err != nil:
		return err
	}
	made, err := createdKey(c, k, text, "/keys")
	if err != nil {
		return err
	}
	return keysPage(c, http.StatusOK, consoleview.KeysPage{Made: made})
}

// createdKey returns the view that shows the secret of a key once. done is the URL of
// its button.
func createdKey(c *call, k *flow.Key, text, done string) (*consoleview.MadeKey, error) {
	names, err := readKeyNames(c)
	if err != nil {
		return nil, err
	}
	secret, err := c.s.Store.KeyWebhookSecret(c.Ctx(), k.WorkspaceID, k.ID)
	if err != nil {
		return nil, err
	}
	return &consoleview.MadeKey{Text: text, WebhookSecret: secret, Key: names.row(k), Rotated: !k.RotatedAt.IsZero(), Done: done}, nil
}

// findKey finds the key of the path.
func findKey(c *call) (*flow.Key, error) {
	return c.s.Store.FindKey(c.Ctx(), c.WorkspaceID(), c.Param("key"))
}

// showKey is GET /keys/{key}.
func showKey(c *call, k *flow.Key) error {
	return keyPage(c, http.StatusOK, k, consoleview.KeyPage{})
}

// keyPage fills in and renders the page of a key. A form with errors is kept.
func keyPage(c *call, status int, k *flow.Key, page consoleview.KeyPage) error {
	names, err := readKeyNames(c)
	if err != nil {
		return err
	}
	page.Key, page.MayEdit = names.row(k), c.MayEdit()
	if page.Form.Existing == nil {
		page.Form = keyFormOf(c, k, names.heads)
	}
	return c.Render(status, consoleview.Key(c.Page(k.Name, layout.SectionKeys), page))
}

// changeKey is POST /keys/{key}. It changes name, flows, expiry and limits; secret
// and scopes cannot be changed.
func changeKey(c *call, k *flow.Key) error {
	form, err := keyForm(c, k)
	if err != nil {
		return err
	}
	readKeyFields(c, &form)
	wanted := parseKey(c, &form)
	if len(form.Errors) == 0 {
		_, err = keyring(c).Change(c.Ctx(), c.Actor(), c.WorkspaceID(), k.ID, func(k *flow.Key) { *k = *wanted })
		if err = assignKeyErrors(&form, err); err != nil && !errors.Is(err, errKeyInvalid) {
			return err
		}
	}
	if len(form.Errors) > 0 {
		return keyPage(c, http.StatusUnprocessableEntity, k, consoleview.KeyPage{Form: form})
	}
	c.Toast(components.ToneOK, "“"+wanted.Name+"” was saved.")
	return c.Redirect(consoleview.KeyPath(k.ID))
}

// rotateKey is POST /keys/{key}/roll. Like the secret of a new key, the new
// secret is in this response only.
func rotateKey(c *call) error {
	k, text, err := rotate(c)
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid && k != nil {
		return keyPage(c, http.StatusUnprocessableEntity, k, consoleview.KeyPage{Error: e.Message})
	}
	if err != nil {
		return err
	}
	made, err := createdKey(c, k, text, consoleview.KeyPath(k.ID))
	if err != nil {
		return err
	}
	return keyPage(c, http.StatusOK, k, consoleview.KeyPage{Made: made})
}

// rotate gives the key of the path a new secret. If the form is invalid, it
// returns the unchanged key with the error.
func rotate(c *call) (*flow.Key, string, error) {
	if err := c.ParseForm(); err != nil {
		return nil, "", err
	}
	k, err := findKey(c)
	if err != nil {
		return nil, "", err
	}
	overlap, ok := readOverlap(c.FormValue("overlap"))
	if !ok && c.FormValue("overlap") != "" { // the form of an expired key has no such field
		return k, "", flow.Errorf(flow.CodeInputInvalid, "Choose how long the old key keeps working.")
	}
	rotated, text, err := keyring(c).Rotate(c.Ctx(), c.Actor(), c.WorkspaceID(), k.ID, c.FormValue("prefix"), overlap)
	if err != nil {
		return k, "", err
	}
	return rotated, text, nil
}

// endPreviousKey is POST /keys/{key}/end: the previous secret stops working
// immediately.
func endPreviousKey(c *call) error {
	k, err := keyring(c).EndPrevious(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Param("key"))
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The old key no longer works.")
	return c.Redirect(consoleview.KeyPath(k.ID))
}

// revokeKey is POST /keys/{key}/revoke.
func revokeKey(c *call) error {
	message, err := revoke(c)
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, message)
	return c.Redirect("/keys")
}

// revoke revokes the key of the path and, with the field cascade, the keys that it created.
// It returns a message for the user.
func revoke(c *call) (string, error) {
	if err := c.ParseForm(); err != nil {
		return "", err
	}
	k, made, err := keyring(c).Revoke(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Param("key"), c.FormValue("cascade") != "")
	if err != nil {
		return "", err
	}
	if len(made) == 0 {
		return "“" + k.Name + "” was revoked.", nil
	}
	return "“" + k.Name + "” and " + components.Quantity(len(made), "key") + " that it created were revoked.", nil
}

// keyWarnings returns the keys in use that expire soon, earliest first. Only owners
// see them.
func keyWarnings(c *call) ([]consoleview.KeyWarning, error) {
	if !c.Member.Role.AtLeast(flow.MemberOwner) {
		return nil, nil
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return nil, err
	}
	var list []consoleview.KeyWarning
	for i := range keys {
		if k := &keys[i]; k.ExpiresSoon(c.s.Now()) && k.Uses > 0 {
			list = append(list, consoleview.KeyWarning{ID: k.ID, Name: k.Name, ExpiresAt: k.ExpiresAt})
		}
	}
	sorting.By(list, func(a, b consoleview.KeyWarning) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	return list, nil
}

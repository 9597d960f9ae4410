package console

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
	"sluice/views/layout"
)

func (s *Server) keyRoutes() []route {
	return slices.Concat([]route{
		{http.MethodGet, "/keys", web.Viewer, onKey((*keyCall).listKeys)},
		{http.MethodPost, "/keys", web.Editor, onKey(web.Posted((*keyCall).createKey))},
		{http.MethodGet, "/keys/new", web.Editor, onKey((*keyCall).newKey)},
		{http.MethodGet, "/keys/:key", web.Viewer, onKey(web.With((*keyCall).findKey, (*keyCall).showKey))},
		{http.MethodPost, "/keys/:key", web.Editor, onKey(web.Posted(web.With((*keyCall).findKey, (*keyCall).changeKey)))},
		{http.MethodPost, "/keys/:key/roll", web.Editor, onKey((*keyCall).rollKey)},
		{http.MethodPost, "/keys/:key/end", web.Editor, onKey((*keyCall).endPreviousKey)},
		{http.MethodPost, "/keys/:key/revoke", web.Editor, onKey((*keyCall).revokeKey)},
	}, s.flowKeyRoutes())
}

// keyring makes and changes keys in the name of whoever asks.
func (c *keyCall) keyring() *library.Keyring {
	return &library.Keyring{Store: c.s.Store, IDs: c.s.IDs, Now: c.s.Now}
}

// keyNames are what rows of keys name by ID.
type keyNames struct {
	heads  []flow.Flow
	makers map[string]flow.KeyMaker
	flows  map[string]string
	now    time.Time
}

func (c *keyCall) keyNames() (n keyNames, err error) {
	if n.makers, err = c.s.Store.ListKeyMakers(c.Ctx(), c.WorkspaceID()); err != nil {
		return n, err
	}
	if n.heads, err = c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID()); err != nil {
		return n, err
	}
	n.now, n.flows = c.s.Now(), map[string]string{}
	for i := range n.heads {
		n.flows[n.heads[i].ID] = n.heads[i].Name
	}
	return n, nil
}

func (n keyNames) row(k *flow.Key) consoleview.KeyRow {
	row := consoleview.KeyRow{KeyFacts: *keyFacts(k, n.now), Now: n.now}
	for _, id := range k.Flows {
		row.FlowNames = append(row.FlowNames, n.flows[id])
	}
	slices.Sort(row.FlowNames)
	maker, known := n.makers[k.CreatedBy]
	switch {
	case known:
		row.MadeBy, row.Former = maker.Name, !maker.Member
	case k.CreatedBy == "cli":
		row.MadeBy = "the command line"
	default:
		row.MadeBy = "somebody"
	}
	return row
}

// listKeys is GET /keys: those that work, or all.
func (c *keyCall) listKeys() error {
	return c.keysPage(http.StatusOK, consoleview.KeysPage{All: c.QueryParam("show") == "all"})
}

// keysPage fills in the list; what works and ends soonest stands first.
func (c *keyCall) keysPage(status int, page consoleview.KeysPage) error {
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return err
	}
	names, err := c.keyNames()
	if err != nil {
		return err
	}
	page.MayEdit, page.Now = c.MayEdit(), names.now
	slices.Reverse(keys) // the newest first
	for i := range keys {
		k := &keys[i]
		if k.State(names.now) == flow.KeyActive {
			page.Active++
		} else if page.Ended++; !page.All {
			continue
		}
		page.Keys = append(page.Keys, names.row(k))
	}
	return c.Render(status, consoleview.Keys(c.Page("Keys", layout.SectionKeys), page))
}

// newKey is GET /keys/new.
func (c *keyCall) newKey() error {
	form, err := c.keyForm(nil)
	if err != nil {
		return err
	}
	return c.newKeyPage(http.StatusOK, form)
}

func (c *keyCall) newKeyPage(status int, form consoleview.KeyForm) error {
	return c.Render(status, consoleview.NewKey(c.Page("New key", layout.SectionKeys), form))
}

// createKey is POST /keys. The answer itself has the key's text: it is kept
// nowhere that another page could show it from.
func (c *keyCall) createKey() error {
	form, err := c.keyForm(nil)
	if err != nil {
		return err
	}
	c.typedKey(&form)
	k, text, err := c.makeKey(&form)
	switch {
	case errors.Is(err, errKeyRefused):
		return c.newKeyPage(http.StatusUnprocessableEntity, form)
	case errors.Is(err, errKeyMade):
		c.Toast(components.ToneWait, errKeyMade.Error())
		return c.Redirect(consoleview.KeyPath(k.ID))
	case err != nil:
		return err
	}
	made, err := c.madeKey(k, text, "/keys")
	if err != nil {
		return err
	}
	return c.keysPage(http.StatusOK, consoleview.KeysPage{Made: made})
}

// madeKey is a key for the one page that shows its text.
func (c *keyCall) madeKey(k *flow.Key, text, done string) (*consoleview.MadeKey, error) {
	names, err := c.keyNames()
	if err != nil {
		return nil, err
	}
	secret, err := c.s.Store.KeyWebhookSecret(c.Ctx(), k.WorkspaceID, k.ID)
	if err != nil {
		return nil, err
	}
	return &consoleview.MadeKey{Text: text, WebhookSecret: secret, Key: names.row(k), Rolled: !k.RolledAt.IsZero(), Done: done}, nil
}

func (c *keyCall) findKey() (*flow.Key, error) {
	return c.s.Store.FindKey(c.Ctx(), c.WorkspaceID(), c.Param("key"))
}

// showKey is GET /keys/{key}.
func (c *keyCall) showKey(k *flow.Key) error {
	return c.keyPage(http.StatusOK, k, consoleview.KeyPage{})
}

// keyPage fills in the key, and its form unless that has something to say.
func (c *keyCall) keyPage(status int, k *flow.Key, page consoleview.KeyPage) error {
	names, err := c.keyNames()
	if err != nil {
		return err
	}
	page.Key, page.MayEdit = names.row(k), c.MayEdit()
	if page.Form.Existing == nil {
		page.Form = c.keyFormOf(k, names.heads)
	}
	return c.Render(status, consoleview.Key(c.Page(k.Name, layout.SectionKeys), page))
}

// changeKey is POST /keys/{key}: name, flows, expiry and limits.
func (c *keyCall) changeKey(k *flow.Key) error {
	form, err := c.keyForm(k)
	if err != nil {
		return err
	}
	c.typedKey(&form)
	wanted := c.readKey(&form)
	if len(form.Errors) == 0 {
		_, err = c.keyring().Change(c.Ctx(), c.Actor(), c.WorkspaceID(), k.ID, wanted)
		if err = refuseKey(&form, err); err != nil && !errors.Is(err, errKeyRefused) {
			return err
		}
	}
	if len(form.Errors) > 0 {
		return c.keyPage(http.StatusUnprocessableEntity, k, consoleview.KeyPage{Form: form})
	}
	c.Toast(components.ToneOK, "“"+wanted.Name+"” is saved. It holds from the next call on.")
	return c.Redirect(consoleview.KeyPath(k.ID))
}

// rollKey is POST /keys/{key}/roll. Like a new key, the new text is in the
// answer alone.
func (c *keyCall) rollKey() error {
	k, text, err := c.roll()
	if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid && k != nil {
		return c.keyPage(http.StatusUnprocessableEntity, k, consoleview.KeyPage{Error: e.Message})
	}
	if err != nil {
		return err
	}
	made, err := c.madeKey(k, text, consoleview.KeyPath(k.ID))
	if err != nil {
		return err
	}
	return c.keyPage(http.StatusOK, k, consoleview.KeyPage{Made: made})
}

// roll gives the key of the path a new text. With an error of the person's the
// key comes back as it is.
func (c *keyCall) roll() (*flow.Key, string, error) {
	if err := c.ParseForm(); err != nil {
		return nil, "", err
	}
	k, err := c.findKey()
	if err != nil {
		return nil, "", err
	}
	overlap, ok := readOverlap(c.FormValue("overlap"))
	if !ok && c.FormValue("overlap") != "" { // a key that has stopped is not asked
		return k, "", flow.Errorf(flow.CodeInputInvalid, "Choose how long the old key works on.")
	}
	rolled, text, err := c.keyring().Roll(c.Ctx(), c.Actor(), c.WorkspaceID(), k.ID, c.FormValue("prefix"), overlap)
	if err != nil {
		return k, "", err
	}
	return rolled, text, nil
}

// endPreviousKey is POST /keys/{key}/end: the text before stops now.
func (c *keyCall) endPreviousKey() error {
	k, err := c.keyring().EndPrevious(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Param("key"))
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The old key has stopped.")
	return c.Redirect(consoleview.KeyPath(k.ID))
}

// revokeKey is POST /keys/{key}/revoke.
func (c *keyCall) revokeKey() error {
	k, err := c.keyring().Revoke(c.Ctx(), c.Actor(), c.WorkspaceID(), c.Param("key"))
	if err != nil {
		return err
	}
	c.Toast(components.ToneOK, "“"+k.Name+"” is revoked.")
	return c.Redirect("/keys")
}

// keyWarnings are the keys in use that will stop soon, for owners: somebody has
// to roll them before their callers are refused.
func (c *keyCall) keyWarnings() ([]consoleview.KeyWarning, error) {
	if !c.Member.Role.AtLeast(flow.MemberOwner) {
		return nil, nil
	}
	keys, err := c.s.Store.ListKeys(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return nil, err
	}
	var list []consoleview.KeyWarning
	for i := range keys {
		if k := &keys[i]; k.EndsSoon(c.s.Now()) && k.Uses > 0 {
			list = append(list, consoleview.KeyWarning{ID: k.ID, Name: k.Name, ExpiresAt: k.ExpiresAt})
		}
	}
	slices.SortFunc(list, func(a, b consoleview.KeyWarning) int { return a.ExpiresAt.Compare(b.ExpiresAt) })
	return list, nil
}

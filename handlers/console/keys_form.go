package console

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

var (
	// errKeyRefused tells that the form says what is wrong.
	errKeyRefused = errors.New("pages: the settings of a key are refused")
	// errKeyMade answers a form that is sent twice, as reloading its answer does.
	errKeyMade = flow.Errorf(flow.CodeInputInvalid, "This key is made already, and its text was shown then. If nobody copied it, roll the key.")
)

// keyForm is the form for a key as it is; nil is one that is not made yet.
func (c *keyCall) keyForm(k *flow.Key) (consoleview.KeyForm, error) {
	heads, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	return c.keyFormOf(k, heads), err
}

// keyFormOf is keyForm where the flows of the workspace are at hand.
func (c *keyCall) keyFormOf(k *flow.Key, heads []flow.Flow) consoleview.KeyForm {
	form := consoleview.KeyForm{Existing: keyFacts(k, c.s.Now()), Now: c.s.Now(), Errors: components.Errors{}}
	for i := range heads {
		if heads[i].ArchivedAt.IsZero() || k != nil && slices.Contains(k.Flows, heads[i].ID) {
			form.Choices = append(form.Choices, consoleview.KeyFlow{ID: heads[i].ID, Name: heads[i].Name})
		}
	}
	slices.SortFunc(form.Choices, func(a, b consoleview.KeyFlow) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	if k != nil {
		writeKey(&form, k)
	} else {
		form.ID, form.Scopes = c.s.IDs.New(flow.PrefixKey), []string{string(flow.ScopeRun), string(flow.ScopeRead)}
	}
	return form
}

// typedKey puts what a person sent into the form.
func (c *keyCall) typedKey(form *consoleview.KeyForm) {
	sent := c.Request().PostForm
	form.ID, form.Name = sent.Get("key"), strings.TrimSpace(sent.Get("name"))
	form.Scopes = slices.Clone(sent["scope"])
	form.Only, form.Flows = sent.Get("reach") == "only", sent["flow"]
	form.Expiry, form.Date = sent.Get("expires"), sent.Get("date")
	form.RPM, form.Concurrency = c.Trimmed("rpm"), c.Trimmed("concurrency")
	form.RunsPerDay, form.USDPerDay = c.Trimmed("runs_per_day"), c.Trimmed("usd_per_day")
}

// writeKey shows a key as it is.
func writeKey(form *consoleview.KeyForm, k *flow.Key) {
	form.Name, form.Only, form.Flows = k.Name, len(k.Flows) > 0, k.Flows
	if !k.ExpiresAt.IsZero() {
		form.Expiry = consoleview.ExpiryKeep
	}
	form.RPM, form.Concurrency, form.RunsPerDay = typedCount(k.RPM), typedCount(k.Concurrency), typedCount(k.RunsPerDay)
	form.USDPerDay = typedDollars(k.USDPerDay)
}

// readKey is the key that a form describes. What cannot be read is said in the
// form.
func (c *keyCall) readKey(form *consoleview.KeyForm) *flow.Key {
	k := &flow.Key{ID: form.ID, WorkspaceID: c.WorkspaceID(), Name: form.Name, Scopes: scopesOf(form.Scopes)}
	if form.Only {
		if k.Flows = slices.Clone(form.Flows); len(k.Flows) == 0 {
			form.Errors["flows"] = "Choose at least one, or let it call all."
		}
	}
	k.ExpiresAt = readExpiry(form)
	k.RPM, k.Concurrency = readLimit(form, "rpm", form.RPM), readLimit(form, "concurrency", form.Concurrency)
	k.RunsPerDay, k.USDPerDay = readLimit(form, "runs_per_day", form.RunsPerDay), readDollars(form)
	return k
}

// readExpiry is the moment that was chosen; a day counts to its end, UTC.
func readExpiry(form *consoleview.KeyForm) time.Time {
	switch form.Expiry {
	case "", consoleview.ExpiryNever: // a form of one click says nothing
		return time.Time{}
	case consoleview.ExpiryKeep:
		if form.Existing != nil {
			return form.Existing.ExpiresAt
		}
	case consoleview.ExpiryDate:
		at, err := time.Parse(time.DateOnly, form.Date)
		switch end := at.Add(24*time.Hour - time.Second); {
		case err != nil:
			form.Errors["date"] = "Choose the last day on which it works."
		case !end.After(form.Now):
			form.Errors["date"] = "This day is past. Choose a later one."
		default:
			return end
		}
		return time.Time{}
	}
	days, err := strconv.Atoi(form.Expiry)
	if err != nil || days < 1 || days > 3650 {
		form.Errors["expires"] = "Choose one of these."
		return time.Time{}
	}
	return form.Now.AddDate(0, 0, days)
}

// readLimit reads a whole number; nothing is no limit, and so is not said as 0.
func readLimit(form *consoleview.KeyForm, name, typed string) int64 {
	if typed == "" {
		return 0
	}
	n, ok := flow.ParseCount(typed)
	if !ok || n < 1 {
		form.Errors[name] = "A whole number from 1 on. Leave it empty for no limit."
		return 0
	}
	return n
}

// readDollars reads an amount as nano-dollars.
func readDollars(form *consoleview.KeyForm) int64 {
	if form.USDPerDay == "" {
		return 0
	}
	nano, ok := flow.ParseUSD(form.USDPerDay)
	if !ok || nano == 0 {
		form.Errors["usd_per_day"] = "An amount such as 5 or 0.50. Leave it empty for no limit."
		return 0
	}
	return nano
}

// makeKey makes the key of a form; errKeyRefused means that the form says why
// not, and errKeyMade that it was sent before.
func (c *keyCall) makeKey(form *consoleview.KeyForm) (*flow.Key, string, error) {
	if form.ID == "" || !flow.ValidID(flow.PrefixKey, form.ID) {
		form.ID = c.s.IDs.New(flow.PrefixKey) // somebody wrote a form of their own
	}
	k := c.readKey(form)
	if err := c.unmade(k.ID); err != nil {
		return k, "", err
	}
	if len(form.Errors) > 0 { // what else is wrong is said at the same time
		if err := refuseKey(form, c.keyring().Check(c.Ctx(), k)); err != nil && !errors.Is(err, errKeyRefused) {
			return nil, "", err
		}
		return nil, "", errKeyRefused
	}
	text, err := c.keyring().Create(c.Ctx(), c.Actor(), k)
	if errors.Is(err, flow.ErrKeyTaken) {
		return c.makeTakenKey(k)
	}
	return k, text, refuseKey(form, err)
}

// makeTakenKey is for an ID that is not free any more. It is the other half of a
// double click, or is another workspace's, of which nothing may be learned: then
// the key gets an ID of its own.
func (c *keyCall) makeTakenKey(k *flow.Key) (*flow.Key, string, error) {
	if err := c.unmade(k.ID); err != nil {
		return k, "", err
	}
	k.ID = c.s.IDs.New(flow.PrefixKey)
	text, err := c.keyring().Create(c.Ctx(), c.Actor(), k)
	return k, text, err
}

// unmade is errKeyMade for a key that the workspace has.
func (c *keyCall) unmade(id string) error {
	_, err := c.s.Store.FindKey(c.Ctx(), c.WorkspaceID(), id)
	switch {
	case err == nil:
		return errKeyMade
	case errors.Is(err, &flow.Error{Code: flow.CodeNotFound}):
		return nil
	}
	return err
}

// refuseKey puts what is wrong beside the fields.
func refuseKey(form *consoleview.KeyForm, err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || e.Code != flow.CodeInputInvalid {
		return err
	}
	if len(e.Fields) == 0 {
		form.Errors[""] = e.Message
	}
	for _, p := range e.Fields {
		if name := strings.TrimPrefix(p.Pointer, "/"); form.Errors[name] == "" {
			form.Errors[name] = p.Detail
		}
	}
	return errKeyRefused
}

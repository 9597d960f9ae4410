package console

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/handlers/web"
	"sluice/views/components"
	consoleview "sluice/views/console"
)

var (
	// errKeyInvalid is returned when the form has errors.
	errKeyInvalid = errors.New("console: the settings of the key are invalid")
	// errKeyExists is returned for a form that is submitted twice, for example by
	// reloading the response.
	errKeyExists = flow.Errorf(flow.CodeInputInvalid, "This key was already created and its secret was shown once. If you did not copy it, rotate the key.")
)

// keyForm returns the form for an existing key, or for a new one if k is nil.
func keyForm(c *call, k *flow.Key) (consoleview.KeyForm, error) {
	heads, err := c.s.Store.ListFlowHeads(c.Ctx(), c.WorkspaceID())
	return keyFormOf(c, k, heads), err
}

// keyFormOf is keyForm for callers that have the flows of the workspace.
func keyFormOf(c *call, k *flow.Key, heads []flow.Flow) consoleview.KeyForm {
	form := consoleview.KeyForm{Existing: keyFacts(k, c.s.Now()), Now: c.s.Now(), Errors: components.Errors{}}
	for i := range heads {
		if heads[i].ArchivedAt.IsZero() || k != nil && slices.Contains(k.Flows, string(heads[i].ID)) {
			form.Choices = append(form.Choices, consoleview.KeyFlow{ID: string(heads[i].ID), Name: heads[i].Name})
		}
	}
	sorting.By(form.Choices, func(a, b consoleview.KeyFlow) int {
		return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	var chosen []string
	if k != nil {
		chosen = k.Flows
	}
	all, others := form.Choices, 0
	form.Choices = nil
	for _, choice := range all {
		is := slices.Contains(chosen, choice.ID)
		if !is {
			others++
		}
		if is || others <= web.MaxOptions {
			form.Choices = append(form.Choices, choice)
		}
	}
	form.More = len(all) - len(form.Choices)
	if k != nil {
		fillKeyForm(&form, k)
	} else {
		form.ID, form.Scopes = c.s.IDs.New(flow.PrefixKey), []string{string(flow.ScopeRun), string(flow.ScopeRead)}
	}
	return form
}

// readKeyFields copies the submitted values to the form, so that it can be
// shown again.
func readKeyFields(c *call, form *consoleview.KeyForm) {
	sent := c.Request().PostForm
	form.ID, form.Name = sent.Get("key"), strings.TrimSpace(sent.Get("name"))
	form.Scopes = slices.Clone(sent["scope"])
	form.Only, form.Flows = sent.Get("reach") == "only", sent["flow"]
	form.Expiry, form.Date = sent.Get("expires"), sent.Get("date")
	form.RPM, form.Concurrency = c.Trimmed("rpm"), c.Trimmed("concurrency")
	form.RunsPerDay, form.USDPerDay = c.Trimmed("runs_per_day"), c.Trimmed("usd_per_day")
	form.AllowUnpriced = c.Trimmed("allow_unpriced") != ""
}

// fillKeyForm copies the settings of a key to the form.
func fillKeyForm(form *consoleview.KeyForm, k *flow.Key) {
	form.Name, form.Only, form.Flows = k.Name, len(k.Flows) > 0, k.Flows
	if !k.ExpiresAt.IsZero() {
		form.Expiry = consoleview.ExpiryKeep
	}
	form.RPM, form.Concurrency, form.RunsPerDay = countText(k.RPM), countText(k.Concurrency), countText(k.RunsPerDay)
	form.USDPerDay, form.AllowUnpriced = dollarsText(k.USDPerDay), k.AllowUnpriced
}

// parseKey returns the key that a form describes. Invalid values become errors of
// the form.
func parseKey(c *call, form *consoleview.KeyForm) *flow.Key {
	k := &flow.Key{ID: form.ID, WorkspaceID: c.WorkspaceID(), Name: form.Name, Scopes: scopesOf(form.Scopes)}
	if form.Only {
		if k.Flows = slices.Clone(form.Flows); len(k.Flows) == 0 {
			form.Errors["flows"] = "Choose at least one flow, or allow all."
		}
	}
	k.ExpiresAt = readExpiry(form)
	k.RPM, k.Concurrency = readLimit(form, "rpm", form.RPM), readLimit(form, "concurrency", form.Concurrency)
	k.RunsPerDay, k.USDPerDay = readLimit(form, "runs_per_day", form.RunsPerDay), readDollars(form)
	k.AllowUnpriced = form.AllowUnpriced
	return k
}

// readExpiry returns the chosen expiry; a day means its last second in UTC. The form
// in the API pane has no expiry field, so its keys never expire.
func readExpiry(form *consoleview.KeyForm) time.Time {
	switch form.Expiry {
	case "", consoleview.ExpiryNever:
		return time.Time{}
	case consoleview.ExpiryKeep:
		if form.Existing != nil {
			return form.Existing.ExpiresAt
		}
	case consoleview.ExpiryDate:
		at, err := time.Parse(time.DateOnly, form.Date)
		switch end := at.Add(24*time.Hour - time.Second); {
		case err != nil:
			form.Errors["date"] = "Choose the last day on which the key works."
		case !end.After(form.Now):
			form.Errors["date"] = "This day is in the past. Choose a later one."
		default:
			return end
		}
		return time.Time{}
	}
	days, err := strconv.Atoi(form.Expiry)
	if err != nil || days < 1 || days > 3650 {
		form.Errors["expires"] = "Choose one of the options."
		return time.Time{}
	}
	return form.Now.AddDate(0, 0, days)
}

// readLimit parses a limit. An empty field means no limit. 0 is refused, because it
// could mean "no limit" or "none allowed".
func readLimit(form *consoleview.KeyForm, name, typed string) int64 {
	if typed == "" {
		return 0
	}
	n, ok := flow.ParseCount(typed)
	if !ok || n < 1 {
		form.Errors[name] = "Enter a whole number, at least 1, or leave it empty for no limit."
		return 0
	}
	return n
}

// readDollars parses the daily budget. An empty field is 0, which means no limit.
func readDollars(form *consoleview.KeyForm) flow.NanoUSD {
	if form.USDPerDay == "" {
		return 0
	}
	nano, ok := flow.ParseUSD(form.USDPerDay)
	if !ok || nano == 0 {
		form.Errors["usd_per_day"] = "Enter an amount such as 5 or 0.50, or leave it empty for no limit."
		return 0
	}
	return nano
}

// createKeyFrom creates the key that a form describes and returns its secret.
// The error is errKeyInvalid if the form has errors, and errKeyExists if the
// form was sent before: the ID of the key is in the form, so that a second
// submission is recognized.
func createKeyFrom(c *call, form *consoleview.KeyForm) (*flow.Key, string, error) {
	if form.ID == "" || !flow.ValidID(flow.PrefixKey, form.ID) {
		form.ID = c.s.IDs.New(flow.PrefixKey) // a request without the ID of our form
	}
	k := parseKey(c, form)
	if err := checkNewKey(c, k.ID); err != nil {
		return k, "", err
	}
	if len(form.Errors) > 0 { // report all errors at once
		if err := assignKeyErrors(form, keyring(c).Check(c.Ctx(), k)); err != nil && !errors.Is(err, errKeyInvalid) {
			return nil, "", err
		}
		return nil, "", errKeyInvalid
	}
	text, err := keyring(c).Create(c.Ctx(), c.Actor(), k)
	if errors.Is(err, flow.ErrKeyTaken) {
		return createKeyWithNewID(c, k)
	}
	return k, text, assignKeyErrors(form, err)
}

// createKeyWithNewID handles an ID that is in use. Either the same form was submitted
// twice concurrently, or the ID belongs to another workspace. The latter must not be
// disclosed, so the key gets a new ID.
func createKeyWithNewID(c *call, k *flow.Key) (*flow.Key, string, error) {
	if err := checkNewKey(c, k.ID); err != nil {
		return k, "", err
	}
	k.ID = c.s.IDs.New(flow.PrefixKey)
	text, err := keyring(c).Create(c.Ctx(), c.Actor(), k)
	return k, text, err
}

// checkNewKey returns errKeyExists if the workspace has a key with this ID.
func checkNewKey(c *call, id string) error {
	_, err := c.s.Store.FindKey(c.Ctx(), c.WorkspaceID(), id)
	switch {
	case err == nil:
		return errKeyExists
	case flow.IsNotFound(err):
		return nil
	}
	return err
}

// assignKeyErrors copies validation errors to the fields of the form and returns
// errKeyInvalid. Other errors, and nil, are returned unchanged.
func assignKeyErrors(form *consoleview.KeyForm, err error) error {
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
	return errKeyInvalid
}

package automation

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/hooks"
	"sluice/flow/signature"
	"sluice/flow/sorting"
	"sluice/flow/triggers"
	"sluice/handlers/web"
	view "sluice/views/automation"
	"sluice/views/components"
	"sluice/views/layout"
)

// shownRequests is how many requests the page of a webhook lists.
const shownRequests = 50

// hookRoutes returns the routes of incoming webhooks. Those of all triggers serve the rest.
func (s *Server) hookRoutes() []route {
	const list = "/flows/:flow/triggers"
	const one = list + "/:trigger"
	return []route{
		{http.MethodGet, list + "/webhook", web.Editor, web.OnFlow(newHook)},
		{http.MethodPost, list + "/webhook", web.Editor, web.Posted(web.OnFlow(createHook))},
		{http.MethodPost, one + "/reveal", web.Editor, onHook(revealHook)},
		{http.MethodPost, one + "/rotate", web.Editor, web.Posted(onHook(rotateHook))},
		{http.MethodPost, one + "/capture", web.Editor, web.Posted(onHook(captureRequests))},
		{http.MethodGet, one + "/requests", web.Viewer, onHook(showRequests)},
		{http.MethodGet, one + "/draft", web.Editor, onHook(useInDraft)},
		{http.MethodPost, one + "/example", web.Editor, web.Posted(onHook(useAsExample))},
		{http.MethodPost, one + "/case", web.Editor, web.Posted(onHook(saveAsTest))},
		{http.MethodPost, one + "/test", web.Editor, web.Posted(onHook(sendTest))},
	}
}

// onHook wraps a handler that needs the flow and the webhook of the path.
func onHook(handle func(*call, *flow.Flow, *triggers.Trigger) error) func(*call) error {
	return onTrigger(func(c *call, f *flow.Flow, t *triggers.Trigger) error {
		if t.Kind != triggers.Hook {
			return web.ErrNotFound
		}
		return handle(c, f, t)
	})
}

// hookURL returns the URL at which a webhook receives requests.
func (c *call) hookURL(token string) string { return c.s.PublicURL + triggers.HookPath(token) }

// newHook is GET webhook.
func newHook(c *call, f *flow.Flow) error {
	config := &hooks.Config{}
	config.Verify.Scheme = "github"
	form, err := c.hookForm(f, config)
	if err != nil {
		return err
	}
	form.Secret = view.SecretNew
	if form.Name, err = c.freeName(f, "Webhook"); err != nil {
		return err
	}
	return hookPage(c, http.StatusOK, f, nil, form, nil)
}

// hookPage renders the page of a webhook, or of a new one if t is nil. add adds what only this response shows.
func hookPage(c *call, status int, f *flow.Flow, t *triggers.Trigger, form *view.HookForm, add func(*view.HookPage)) error {
	page := view.HookPage{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, Title: "New webhook", MayEdit: c.MayEdit(), Form: *form, Now: c.s.Now()}
	if t != nil {
		page.ID, page.Title, page.On, page.OldUntil = t.ID, title(t.Name), t.On, t.OldUntil
		page.Form.Steps = hookSteps(form.Scheme)
		var err error
		if page.Capture, err = c.capture(t); err != nil {
			return err
		}
		if page.Test, err = c.testForm(t); err != nil {
			return err
		}
	}
	if add != nil {
		add(&page)
	}
	return c.Render(status, view.Hook(c.Page(page.Title, layout.SectionFlows), page))
}

// showHook renders the page of a webhook as it is stored.
func showHook(c *call, f *flow.Flow, t *triggers.Trigger, add func(*view.HookPage)) error {
	form, err := c.hookForm(f, &t.Hook)
	if err != nil {
		return err
	}
	return hookPage(c, http.StatusOK, f, t, form, add)
}

// createHook is POST webhook. The page shows the URL, and a secret that was generated.
func createHook(c *call, f *flow.Flow) error { return saveHook(c, f, nil) }

// saveHook stores the form: as a new webhook if t is nil.
func saveHook(c *call, f *flow.Flow, t *triggers.Trigger) error {
	var stored *hooks.Config
	if t != nil {
		stored = &t.Hook
	}
	form, config, err := c.readHook(f, stored)
	if err != nil {
		return err
	}
	name := ""
	if t != nil {
		name = t.ID
	} else if name, err = c.newName(f, form.Name, form.Errors); err != nil {
		return err
	}
	refuse := func() error { return hookPage(c, http.StatusUnprocessableEntity, f, t, form, nil) }
	secret, undo, err := c.newSecret(&config, form, name, t)
	if err != nil {
		return err
	}
	if len(form.Errors) > 0 {
		return refuse()
	}
	saved, err := c.s.hooks.Set(c.Ctx(), c.Actor(), nil, f, name, config)
	if err != nil {
		undo()
		if err := assignHookErrors(err, form); err != nil {
			return err
		}
		return refuse()
	}
	if t != nil && secret == "" {
		c.Toast(components.ToneOK, "“"+title(saved.Name)+"” was saved.")
		return c.Redirect(view.TriggerPath(string(f.ID), saved.ID))
	}
	return showHook(c, f, saved, func(p *view.HookPage) {
		if saved.Token != "" {
			p.URL = c.hookURL(saved.Token)
		}
		p.Secret = secret
	})
}

// newSecret stores a secret that the form asks for as a credential, once the rest of the form is right. It returns a generated
// one, which the page shows. undo removes the credential.
func (c *call) newSecret(config *hooks.Config, form *view.HookForm, name string, t *triggers.Trigger) (generated string, undo func(), err error) {
	undo = func() {}
	if !signature.NeedsSecret(config.Verify.Scheme) || form.Secret != view.SecretNew && form.Secret != view.SecretTyped {
		return "", undo, nil
	}
	secret := strings.TrimSpace(c.FormValue("typed"))
	if form.Secret == view.SecretNew {
		generated = newSecretText(config.Verify.Scheme)
		secret = generated
	} else if secret == "" {
		form.Errors["typed"] = "Enter the secret that the service shows."
	}
	if e := assignHookErrors(checkHook(c, config), form); e != nil || len(form.Errors) > 0 {
		return "", undo, e
	}
	if t != nil {
		name = t.Name
	}
	k := flow.Credential{WorkspaceID: c.WorkspaceID(), Hosts: c.ownHosts()}
	for n := 1; k.Name == ""; n++ {
		free := name + "-secret"
		if n > 1 {
			free += "-" + strconv.Itoa(n)
		}
		if _, err := c.s.Store.FindCredential(c.Ctx(), c.WorkspaceID(), free); flow.IsNotFound(err) {
			k.Name = free
		} else if err != nil {
			return "", undo, err
		}
	}
	if err := c.s.credentials.Create(c.Ctx(), c.Actor(), k, secret); err != nil {
		return "", undo, err
	}
	for i, s := range config.Verify.Secrets {
		if s == view.SecretNew || s == view.SecretTyped {
			config.Verify.Secrets[i] = k.Name
		}
	}
	form.Secret = k.Name
	return generated, func() { _ = c.s.credentials.Remove(c.Ctx(), c.Actor(), k) }, nil
}

// ownHosts returns the hosts that secrets of webhooks may be sent to: this server only.
func (c *call) ownHosts() []string {
	u, err := url.Parse(c.s.PublicURL)
	if err != nil || u.Host == "" {
		return []string{"localhost"}
	}
	return []string{u.Hostname()}
}

// checkHook checks a configuration apart from its secrets.
func checkHook(c *call, config *hooks.Config) error {
	problems := config.Check(c.s.Compile)
	if len(problems) == 0 {
		return nil
	}
	return &flow.Error{Code: flow.CodeInputInvalid, Message: "The webhook has problems.", Fields: problems}
}

// newSecretText returns a random secret in the form that the scheme needs.
func newSecretText(scheme string) string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	if scheme == "standard" {
		return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
	}
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// revealHook is POST reveal: the page with the URL.
func revealHook(c *call, f *flow.Flow, t *triggers.Trigger) error {
	token, err := c.s.hooks.Reveal(c.Ctx(), c.Actor(), t)
	if err != nil {
		return err
	}
	return showHook(c, f, t, func(p *view.HookPage) { p.URL = c.hookURL(token) })
}

// rotateHook is POST rotate: the page with another URL.
func rotateHook(c *call, f *flow.Flow, t *triggers.Trigger) error {
	overlap, err := time.ParseDuration(c.FormValue("overlap"))
	if err != nil || overlap < 0 {
		return flow.Errorf(flow.CodeInputInvalid, "Choose how long the old URL keeps working.")
	}
	if err := c.s.hooks.Rotate(c.Ctx(), c.Actor(), nil, t, overlap); err != nil {
		return err
	}
	stored, err := c.s.Store.FindTrigger(c.Ctx(), f.WorkspaceID, f.ID, t.ID)
	if err != nil {
		return err
	}
	return showHook(c, f, stored, func(p *view.HookPage) { p.URL = c.hookURL(t.Token) })
}

// captureRequests is POST capture.
func captureRequests(c *call, f *flow.Flow, t *triggers.Trigger) error {
	if err := c.s.hooks.Capture(c.Ctx(), c.Actor(), t, c.FormValue("on") != ""); err != nil {
		return err
	}
	return c.Redirect(view.TriggerPath(string(f.ID), t.ID))
}

// showRequests is GET requests: the part of the page that changes while requests come.
func showRequests(c *call, _ *flow.Flow, t *triggers.Trigger) error {
	capture, err := c.capture(t)
	if err != nil {
		return err
	}
	return c.Render(http.StatusOK, view.CaptureList(capture))
}

// capture returns the newest requests of a webhook. What was received is for editors.
func (c *call) capture(t *triggers.Trigger) (view.Capture, error) {
	v := view.Capture{FlowID: string(t.FlowID), ID: t.ID, MayEdit: c.MayEdit(), Now: c.s.Now()}
	if t.CaptureUntil.After(v.Now) {
		v.Until = t.CaptureUntil
	}
	events, err := c.s.Store.ListEvents(c.Ctx(), t, "", "", shownRequests)
	for i := range events {
		r, wrong := requestRow(&events[i], v.MayEdit)
		if wrong != nil {
			return v, wrong
		}
		v.Requests = append(v.Requests, r)
	}
	return v, err
}

// requestRow converts an event of a webhook. content includes what was received.
func requestRow(e *triggers.Event, content bool) (view.RequestRow, error) {
	r := view.RequestRow{State: string(e.State), Key: e.Key, Detail: e.Detail, At: e.CreatedAt, RunID: string(e.RunID), Repeats: int(e.Repeats)}
	if e.Request == "" || !content {
		return r, nil
	}
	var received triggers.Received
	if err := json.Unmarshal([]byte(e.Request), &received); err != nil {
		return r, fmt.Errorf("read the request of event %s: %w", e.Key, err)
	}
	r.Kept, r.Method, r.Size, r.Body, r.Left = true, received.Method, received.Size, received.Body, received.Left
	for name, value := range received.Headers {
		r.Headers = append(r.Headers, view.Header{Name: strings.ToLower(name), Value: value})
	}
	sorting.By(r.Headers, func(a, b view.Header) int { return strings.Compare(a.Name, b.Name) })
	if v, err := flow.DecodeJSON([]byte(received.Body)); err == nil {
		body, _ := flow.AsObject(v)
		for _, member := range []string{"type", "event", "action"} {
			if s, ok := body.Get(member).(string); ok && r.Title == "" {
				r.Title = s
			}
		}
		if pretty, err := json.MarshalIndent(v, "", "  "); err == nil {
			r.Body = string(pretty)
		}
	}
	return r, nil
}

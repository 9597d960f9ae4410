package automation

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/signature"
	"sluice/flow/triggers"
	"sluice/handlers/web"
	view "sluice/views/automation"
	"sluice/views/components"
	editorview "sluice/views/editor"
	"sluice/views/layout"
)

// useInDraft is GET draft: the form of a run of the draft, filled in by a request.
func useInDraft(c *call, f *flow.Flow, t *triggers.Trigger) error {
	inputs, values, err := c.capturedInputs(f, t, c.QueryParam("key"))
	if err != nil {
		return err
	}
	form := editorview.RunForm{FlowID: string(f.ID), Flow: f.Name, LiveVersion: f.LiveVersion, Ran: true}
	for i := range inputs {
		form.Fields = append(form.Fields, web.InputField(&inputs[i], values, nil))
	}
	return c.Render(http.StatusOK, editorview.RunFormPage(c.Page("Run "+f.Name, layout.SectionFlows), form))
}

// useAsExample is POST example: a request becomes the example of the inputs of the draft, which fills in the form of a run.
func useAsExample(c *call, f *flow.Flow, t *triggers.Trigger) error {
	inputs, values, err := c.capturedInputs(f, t, c.FormValue("key"))
	if err != nil {
		return err
	}
	var edits []document.Edit
	for i := range inputs {
		in := &inputs[i]
		if v, given := values.Lookup(in.Name); given && !in.Secret && in.Type != flow.TypeFile && !flow.EqualValues(v, in.Example) {
			edits = append(edits, document.Edit{Op: document.OpSet, Node: in.Node, Field: "example", Value: v})
		}
	}
	if err := c.edit(f.ID, edits); err != nil {
		return err
	}
	c.Toast(components.ToneOK, "The request is the example of the draft. Open the builder and choose Run to use it.")
	return c.Redirect(view.TriggerPath(string(f.ID), t.ID))
}

// edit applies edits to the current draft. After a conflict with a concurrent edit it retries up to three times: each edit changes one
// field, so it still applies.
func (c *call) edit(flowID flow.FlowID, edits []document.Edit) error {
	for retries := 0; len(edits) > 0; retries++ {
		f, err := c.s.Store.FindFlow(c.Ctx(), c.WorkspaceID(), flowID)
		if err != nil {
			return err
		}
		_, err = c.s.Library.EditFlow(c.Ctx(), c.WorkspaceID(), flowID, c.Member.UserID, document.EditRequest{Base: f.Rev, Tab: "form", TxID: rand.Text(), Ops: edits})
		if _, missed := errors.AsType[*document.EditsMissed](err); !missed || retries == 3 {
			return err
		}
	}
	return nil
}

// saveAsTest is POST case: a request becomes a test case.
func saveAsTest(c *call, f *flow.Flow, t *triggers.Trigger) error {
	var made struct {
		ID      *string  `json:"id"`
		Skipped string   `json:"skipped"`
		LeftOut []string `json:"left_out"`
	}
	refused, err := c.ask(http.MethodPost, "/v1/flow/"+string(f.ID)+"/cases/from-event", flow.EncodeJSON(map[string]any{"hook": t.ID, "event": c.FormValue("key")}), &made)
	switch {
	case err != nil:
		return err
	case refused != nil:
		c.Toast(components.ToneBad, refused.Detail)
	case made.ID == nil:
		c.Toast(components.ToneWait, made.Skipped)
	case len(made.LeftOut) > 0:
		c.Toast(components.ToneWait, "The request was saved as a test case without "+strings.Join(made.LeftOut, ", ")+". Fill these in on the tab Tests, and add what you expect.")
	default:
		c.Toast(components.ToneOK, "The request was saved as a test case. Add what you expect of it on the tab Tests.")
	}
	return c.Redirect(view.TriggerPath(string(f.ID), t.ID))
}

// capturedInputs returns the inputs of the draft with the values that a request of the log gives.
func (c *call) capturedInputs(f *flow.Flow, t *triggers.Trigger, key string) ([]contract.Input, *flow.Object, error) {
	e, err := c.s.Store.FindEvent(c.Ctx(), t, key)
	if err != nil {
		return nil, nil, err
	}
	received, err := triggers.ReceivedIn(e)
	if err != nil {
		return nil, nil, err
	}
	inputs, err := c.s.Runner.DraftInputs(c.Ctx(), f.WorkspaceID, f.ID, "")
	if err != nil {
		return nil, nil, err
	}
	values, err := c.mapped(t, received, inputs)
	return inputs, values, err
}

// sampleBody is what a test sends until the log has a request.
func sampleBody(scheme string) (media, body string) {
	switch scheme {
	case "github":
		return "application/json", `{"action": "opened", "issue": {"number": 1, "title": "It is broken", "body": "Steps to reproduce …", "user": {"login": "octocat"}}, "repository": {"full_name": "octocat/hello-world"}}`
	case "stripe":
		return "application/json", `{"id": "evt_test", "object": "event", "type": "checkout.session.completed", "livemode": false, "data": {"object": {"id": "cs_test", "amount_total": 1000}}}`
	case "slack":
		return "application/json", `{"type": "event_callback", "event_id": "Ev1", "event": {"type": "message", "text": "Hello", "user": "U1"}}`
	case "twilio":
		return "application/x-www-form-urlencoded", "From=%2B14158675309&To=%2B18005551212&Body=Hello"
	case "linear":
		return "application/json", `{"action": "create", "type": "Issue", "data": {"title": "It is broken"}, "webhookTimestamp": 0}`
	}
	return "application/json", `{"id": "1", "type": "created", "name": "Ada"}`
}

// testForm returns the form that sends a test: with the newest request that was kept, or a sample.
func (c *call) testForm(t *triggers.Trigger) (f view.HookTest, err error) {
	if !c.MayEdit() || !t.Hook.Verify.CanSign() {
		return f, nil
	}
	f.Media, f.Body = sampleBody(t.Hook.Verify.Scheme)
	if t.Hook.Verify.Scheme == "github" {
		f.Event = "issues"
	}
	events, err := c.s.Store.ListEvents(c.Ctx(), t, "", "", shownRequests)
	for i := range events {
		var r triggers.Received
		if events[i].Request == "" || json.Unmarshal([]byte(events[i].Request), &r) != nil || r.Left || r.Body == "" || strings.HasPrefix(r.Headers["content-type"], "multipart/") {
			continue
		}
		f.Body, f.Media = r.Body, cmp.Or(r.Headers["content-type"], f.Media)
		f.Event = cmp.Or(r.Headers["x-github-event"], f.Event)
		break
	}
	return f, err
}

// sendTest is POST test: it sends a request to the URL of a webhook as the service would, signed with its first secret. What comes of
// it is in the log.
func sendTest(c *call, f *flow.Flow, t *triggers.Trigger) error {
	v := &t.Hook.Verify
	if !v.CanSign() {
		return flow.Errorf(flow.CodeInputInvalid, "Only %s can sign a request. Send a test there.", signature.Title(v.Scheme))
	}
	secret := ""
	if len(v.Secrets) > 0 {
		var err error
		if _, secret, err = c.s.Store.OpenCredential(c.Ctx(), f.WorkspaceID, v.Secrets[0]); err != nil {
			return err
		}
	}
	token, err := c.s.hooks.Test(c.Ctx(), c.Actor(), t)
	if err != nil {
		return err
	}
	r := &signature.Request{Method: http.MethodPost, URL: c.hookURL(token), Header: http.Header{}, Body: []byte(strings.ReplaceAll(c.FormValue("content"), "\r\n", "\n"))}
	r.Header.Set("Content-Type", cmp.Or(c.Trimmed("media"), "application/json"))
	r.Header.Set("User-Agent", "Sluice (test)")
	if event := c.Trimmed("event"); event != "" {
		r.Header.Set("X-Github-Event", event)
	}
	v.Sign(r, secret, c.s.IDs.New(flow.PrefixEvent), c.s.Now())
	request, err := http.NewRequestWithContext(c.Ctx(), r.Method, r.URL, strings.NewReader(string(r.Body)))
	if err != nil {
		return fmt.Errorf("send a test of %s: %w", t.ID, err)
	}
	request.Header, request.RemoteAddr, request.RequestURI = r.Header, c.Request().RemoteAddr, request.URL.RequestURI()
	w := web.NewResponseRecorder()
	c.s.Receive(w, request)
	tone, text := testResult(w)
	c.Toast(tone, text)
	return c.Redirect(view.TriggerPath(string(f.ID), t.ID))
}

// testResult says what a test did.
func testResult(w *web.ResponseRecorder) (components.Tone, string) {
	var answer struct {
		Ignored bool   `json:"ignored"`
		Code    string `json:"code"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &answer) // a response of outputs may be any text
	switch {
	case answer.Ignored:
		return components.ToneWait, "The filter ignored the test. Nothing was started."
	case w.Status == http.StatusOK:
		return components.ToneOK, "The test was accepted and started a run."
	case w.Status == http.StatusNotFound:
		return components.ToneBad, "The flow has no live version. Publish it, then send the test again."
	case answer.Code == string(flow.CodeTriggerPaused):
		return components.ToneBad, "The webhook is paused. Resume it, then send the test again."
	}
	return components.ToneBad, fmt.Sprintf("The test was answered with %d. Capture has the reason.", w.Status)
}

// mapped returns the inputs that a request gives.
func (c *call) mapped(t *triggers.Trigger, received *triggers.Received, inputs []contract.Input) (*flow.Object, error) {
	m, err := received.Message()
	if err != nil {
		return nil, err
	}
	values, _, err := t.Hook.Map(m, c.s.Scope).Inputs(c.Ctx(), inputs)
	return values, err
}

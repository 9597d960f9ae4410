package automation

import (
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/document"
	"sluice/flow/hooks"
	"sluice/flow/signature"
	view "sluice/views/automation"
	"sluice/views/components"
)

// hookSteps says what to do at the service.
func hookSteps(scheme string) []string {
	const enter = "Choose Enter a secret below, paste it, and save."
	switch scheme {
	case "github":
		return []string{"At GitHub, open Settings › Webhooks › Add webhook of the repository.", "Paste the URL as Payload URL, choose the content type application/json, and paste the secret.", "Choose the events, such as Issues. GitHub sends a ping, which is answered without a run."}
	case "stripe":
		return []string{"At Stripe, open Developers › Webhooks › Add destination, choose the events, and paste the URL.", "Reveal the signing secret of the endpoint, which begins with whsec_.", enter}
	case "slack":
		return []string{"At api.slack.com/apps, copy the Signing Secret of the app from Basic Information.", enter, "Paste the URL in Event Subscriptions. Slack checks it at once."}
	case "shopify":
		return []string{"In Shopify, open Settings › Notifications › Webhooks and create one with the URL and the format JSON.", "Copy the signing key below the list.", enter}
	case "twilio":
		return []string{"Copy the Auth Token of the account from the Twilio Console.", enter, "Paste the URL as webhook of the number or service. It must be the public URL of this server."}
	case "meta":
		return []string{"Copy the App secret from App settings › Basic.", enter, "Save a credential with a text of your choice, select it as Verify token below, and enter both URL and text at Meta."}
	case "zoom", "linear", "discord":
		return []string{"Create a webhook at the service with the URL.", "Copy its secret (Discord: the public key of the application).", enter}
	case "gitlab", "telegram":
		return []string{"Create the webhook at the service with the URL, and with the secret as its token."}
	case "none":
		return []string{"Send a request to the URL, for example: curl -d '{\"name\": \"Ada\"}' -H 'Content-Type: application/json' URL"}
	}
	return []string{"Enter the URL and the secret at the service."}
}

// whenExamples returns filters that people often need.
func whenExamples(scheme string) []string {
	switch scheme {
	case "github":
		return []string{`headers["x-github-event"] == "issues" && body.action == "opened"`, `headers["x-github-event"] == "pull_request" && body.action == "opened"`, `headers["x-github-event"] == "push"`}
	case "stripe":
		return []string{`body.type == "checkout.session.completed"`, `body.type == "refund.created"`}
	case "slack":
		return []string{`body.event.type == "message"`, `body.event.type == "app_mention"`}
	}
	return []string{`body.type == "created"`}
}

// hookForm returns the form of a configuration.
func (c *call) hookForm(f *flow.Flow, config *hooks.Config) (*view.HookForm, error) {
	v := &config.Verify
	form := &view.HookForm{
		Scheme: v.Scheme, Challenge: v.Challenge, Header: v.Header, Prefix: v.Prefix, Algorithm: v.Algorithm, Encoding: v.Encoding, Signed: v.Signed, TimestampHeader: v.TimestampHeader,
		When: config.When, WhenExample: whenExamples(v.Scheme), Once: config.Once, Reply: config.Reply, OnLate: config.OnLate, Errors: components.Errors{},
		Tolerance: number(v.Tolerance), Wait: number(config.WaitS), MaxBody: number(config.MaxBody), PerMinute: optional(config.PerMinute), PerDay: optional(config.PerDay),
	}
	if form.Reply == "" {
		form.Reply = hooks.ReplyAccepted
	}
	if config.Response != nil {
		form.Body, form.Status, form.Type = config.Response.Body, config.Response.Status, config.Response.Type
	}
	if len(v.Secrets) > 0 {
		form.Secret = v.Secrets[0]
	}
	if len(v.Secrets) > 1 {
		form.Second = v.Secrets[1]
	}
	for _, name := range signature.Names {
		form.Schemes = append(form.Schemes, components.Option{Value: name, Label: signature.Title(name)})
	}
	credentials, err := c.s.Store.ListCredentials(c.Ctx(), c.WorkspaceID())
	if err != nil {
		return nil, err
	}
	for i := range credentials {
		if k := &credentials[i]; k.Plain() {
			form.Credentials = append(form.Credentials, components.Option{Value: k.Name, Label: k.Name})
		}
	}
	inputs, err := c.inputsOf(f)
	if err != nil {
		return nil, err
	}
	form.Inputs = inputFields(inputs, config.Inputs, view.HookSources)
	form.Outputs = []components.Option{{Value: "", Label: "Default"}}
	outputs, err := c.outputsOf(f)
	for _, name := range outputs {
		form.Outputs = append(form.Outputs, components.Option{Value: name, Label: name})
	}
	return form, err
}

// outputsOf returns the names of the outputs of the live version, or of the draft before the first publish.
func (c *call) outputsOf(f *flow.Flow) (names []string, err error) {
	data := f.Draft
	if f.LiveVersion > 0 {
		if data, err = c.s.Store.FindDocument(c.Ctx(), f.WorkspaceID, f.LiveHash); err != nil {
			return nil, err
		}
	}
	doc, _ := document.ParseDocument(data)
	if doc == nil {
		return nil, nil
	}
	for _, o := range contract.Outputs(doc, c.s.Kinds) {
		names = append(names, o.Name)
	}
	return names, nil
}

// number shows a setting, whose 0 is the default.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// optional shows a setting whose nil is the default.
func optional(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// readHook reads the form. stored has the settings before, or nil.
func (c *call) readHook(f *flow.Flow, stored *hooks.Config) (*view.HookForm, hooks.Config, error) {
	text := func(name string) string { return strings.TrimSpace(c.FormValue(name)) }
	config, errs := hooks.Config{}, components.Errors{}
	if stored != nil {
		config = *stored
	}
	v := hooks.Verify{Config: signature.Config{Scheme: text("scheme")}, Challenge: text("challenge")}
	if v.Scheme == "hmac" || v.Scheme == "token" {
		v.Header, v.Prefix = text("header"), c.FormValue("prefix")
	}
	if v.Scheme == "hmac" {
		v.Algorithm, v.Encoding, v.Signed, v.TimestampHeader = text("algorithm"), text("encoding"), text("signed"), text("timestamp_header")
		v.Tolerance = count(text("tolerance_s"), "tolerance_s", errs)
	}
	if v.Scheme != "meta" {
		v.Challenge = ""
	}
	if signature.NeedsSecret(v.Scheme) {
		for _, name := range []string{text("secret"), text("second")} {
			if name != "" && !slices.Contains(v.Secrets, name) {
				v.Secrets = append(v.Secrets, name)
			}
		}
	}
	config.Verify, config.When, config.Once, config.Reply = v, text("when"), text("once"), text("reply")
	config.WaitS, config.OnLate, config.Response = 0, "", nil
	if config.Reply == hooks.ReplyOutputs {
		config.WaitS, config.OnLate = count(text("wait_s"), "wait_s", errs), text("on_late")
		if r := (hooks.Response{Body: text("body"), Status: text("status"), Type: text("type")}); r != (hooks.Response{}) {
			config.Response = &r
		}
	}
	config.MaxBody = count(text("max_body"), "max_body", errs)
	config.PerMinute, config.PerDay = pointer(text("per_minute"), "per_minute", errs), pointer(text("per_day"), "per_day", errs)
	inputs, err := c.inputsOf(f)
	if err != nil {
		return nil, config, err
	}
	var wrong map[string]string
	config.Inputs, wrong = readInputs(c, inputs, config.Inputs)
	config.Inputs = withMembers(inputs, config.Inputs)
	form, err := c.hookForm(f, &config)
	if err != nil {
		return nil, config, err
	}
	form.Name, form.Secret, form.Second, form.Errors = text("name"), text("secret"), text("second"), errs
	for i := range form.Inputs {
		in := &form.Inputs[i]
		in.Source, in.Text, in.Error = c.FormValue("source."+in.Name), c.FormValue("text."+in.Name), wrong[in.Name]
	}
	if len(wrong) > 0 {
		errs["inputs"] = "Correct the inputs."
	}
	return form, config, nil
}

// pointer reads a whole number; empty is nil.
func pointer(text, field string, errs components.Errors) *int64 {
	if text == "" {
		return nil
	}
	n := count(text, field, errs)
	return &n
}

// withMembers completes the inputs of a webhook: once one is set, members of the body no longer fill in the others by name, so
// that those that keep that get an expression.
func withMembers(inputs []contract.Input, values *flow.Object) *flow.Object {
	if values.Len() == 0 {
		return values
	}
	for i := range inputs {
		if name := inputs[i].Name; !values.Has(name) && (inputs[i].Required || !inputs[i].HasDefault) {
			o := &flow.Object{}
			o.Set("cel", "body."+name)
			values.Set(name, o)
		}
	}
	return values
}

// assignHookErrors puts the problems of a configuration beside its fields.
func assignHookErrors(err error, form *view.HookForm) error {
	if err == nil {
		return nil
	}
	if err := assignErrors(err, form.Errors, form.Inputs); err != nil {
		return err
	}
	delete(form.Errors, "cron")
	e := flow.AsError(err)
	for _, p := range e.Fields {
		field := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(p.Pointer, "/"), "verify/"), "response/")
		if !strings.HasPrefix(field, "inputs") {
			form.Errors[field], form.Errors[""] = problemText(p.Detail), ""
		}
	}
	return nil
}

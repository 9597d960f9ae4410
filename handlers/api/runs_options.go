package api

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/outbound"
)

// Bounds of run_options.
const (
	maxRunTimeout = 7 * 24 * time.Hour
	maxMetadata   = 16 << 10 // bytes of JSON
	maxURL        = 2048
)

// runOptions declares the fields of run_options like inputs of a flow, so that
// contract.Check validates both and the OpenAPI document describes both.
var runOptions = []contract.Input{
	{Name: "version", Type: flow.TypeAny},
	{Name: "webhook", Type: flow.TypeJSON},
	{Name: "global_webhook", Type: flow.TypeJSON, Description: "Another name of webhook."},
	{Name: "metadata", Type: flow.TypeJSON},
	{Name: "timeout_s", Type: flow.TypeNumber, Min: new(1.0), Max: new(maxRunTimeout.Seconds())},
	{Name: "save", Type: flow.TypeBoolean},
	{Name: "children", Type: flow.TypeText},
}

var webhookOptions = []contract.Input{
	{Name: "url", Type: flow.TypeText, Required: true},
	{Name: "secret", Type: flow.TypeText},
}

// object returns v as an object with the declared fields. If ok is false, its values are
// not usable.
func (p *problems) object(v any, at string, options []contract.Input) (values map[string]any, ok bool) {
	given, isObject := flow.AsObject(v)
	if !isObject {
		p.add(at, "wrong_type", "wanted an object, got "+flow.TypeOf(v))
		return nil, false
	}
	checked, wrong := contract.Check(options, given, false)
	for _, w := range wrong {
		name := at[strings.LastIndexByte(at, '/')+1:]
		p.add(at+w.Pointer, w.Code, strings.Replace(w.Detail, "this flow has no input", name+" has no option", 1))
	}
	return checked.Map(), len(wrong) == 0
}

// readOptions returns the run options in the body of a start. They are complete only if
// there are no problems.
func readOptions(body *flow.Object) (flow.RunOptions, problems) {
	var o flow.RunOptions
	v := body.Get(contract.ReservedInput)
	if v == nil {
		return o, nil
	}
	p := &problems{}
	at := flow.Pointer(contract.ReservedInput)
	values, _ := p.object(v, at, runOptions)
	o.Version, o.Draft = p.version(values["version"], at+"/version")
	if v := values["webhook"]; v != nil {
		o.Webhook = p.webhook(v, at+"/webhook")
	}
	if v := values["global_webhook"]; v != nil {
		if values["webhook"] != nil {
			p.add(at+"/global_webhook", "invalid", "it is another name of webhook; leave one of them out")
		}
		o.Webhook = p.webhook(v, at+"/global_webhook")
	}
	if v := values["metadata"]; v != nil {
		o.Metadata = p.metadata(v, at+"/metadata")
	}
	if f, ok := flow.Float(values["timeout_s"]); ok {
		o.Timeout = time.Duration(min(f, maxRunTimeout.Seconds()) * float64(time.Second))
	}
	if save, ok := values["save"].(bool); ok {
		o.Discard = !save
	}
	o.Children = p.children(values["children"], o.Draft, at+"/children")
	return o, *p
}

// childrenDraft is the value that asks for the drafts of the flows that steps run. The other
// one is childrenLive, the default.
const childrenDraft = "draft"

// children returns which versions of other flows the steps run. draft is whether the run itself
// is of a draft: only then may children be drafts, since a published version must not depend on
// unpublished ones. at is the JSON Pointer for problems.
func (p *problems) children(v any, draft bool, at string) flow.ChildVersions {
	switch {
	case v == nil || v == childrenLive:
	case v != childrenDraft:
		p.add(at, "invalid", `wanted "live" or "draft"`)
	case !draft:
		p.add(at, "invalid", `"draft" is for runs of the draft; set version to "draft" too`)
	default:
		return flow.ChildrenDraft
	}
	return flow.ChildrenRecorded
}

// version returns a version number, or draft for "draft".
func (p *problems) version(v any, at string) (n int64, draft bool) {
	if v == nil || v == "draft" {
		return 0, v == "draft"
	}
	f, ok := flow.Float(v)
	if _, isText := v.(string); isText || !ok || f < 1 || f != float64(int64(f)) || f > 1<<53 {
		p.add(at, "wrong_type", `wanted the number of a version or "draft"`)
		return 0, false
	}
	return int64(f), false
}

// webhook returns the webhook that is called once the run has ended.
func (p *problems) webhook(v any, at string) *flow.RunWebhook {
	values, ok := p.object(v, at, webhookOptions)
	if !ok {
		return nil
	}
	w := &flow.RunWebhook{URL: flow.Text(values["url"]), Secret: flow.Text(values["secret"])}
	if problem := checkWebhookURL(w.URL); problem != "" {
		p.add(at+"/url", "invalid", problem)
	}
	if values["secret"] != nil && !validWebhookSecret(w.Secret) {
		p.add(at+"/secret", "invalid", "wanted whsec_ and 24 to 64 bytes in base64")
	}
	return w
}

// checkWebhookURL returns what is wrong with the URL of a webhook, or "". It does not look up
// the host: the delivery judges the addresses that it resolves to.
func checkWebhookURL(s string) string {
	if len(s) > maxURL {
		return fmt.Sprintf("wanted at most %d characters", maxURL)
	}
	if _, err := outbound.ParseURL(s); err != nil {
		return strings.TrimSuffix(err.Error(), ".")
	}
	return ""
}

// validWebhookSecret reports whether a secret has the form that Standard Webhooks
// defines: whsec_ and 24 to 64 bytes in base64.
func validWebhookSecret(s string) bool {
	text, ok := strings.CutPrefix(s, "whsec_")
	data, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && len(data) >= 24 && len(data) <= 64
}

// metadata returns an object that the client attaches to the run. Sluice does not interpret it.
func (p *problems) metadata(v any, at string) *flow.Object {
	m, ok := flow.AsObject(v)
	if !ok {
		p.add(at, "wrong_type", "wanted an object, got "+flow.TypeOf(v))
		return nil
	}
	if n := len(flow.EncodeJSON(m)); n > maxMetadata {
		p.add(at, "too_large", fmt.Sprintf("wanted at most %d bytes of JSON, got %d", maxMetadata, n))
	}
	return m
}

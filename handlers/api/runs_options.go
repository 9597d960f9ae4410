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

// runOptionsBody declares run_options. Their version and children depend on each other; see readOptions.
var runOptionsBody = Body[flow.RunOptions]{Name: "RunOptions", Of: "run_options", Unknown: "unknown", Ordered: true, Fields: []Field[flow.RunOptions]{
	SetMember("version", "A version other than the live one; needs the scope manage.", versionType, func(o *flow.RunOptions, v int64) { o.Version, o.Draft = max(v, 0), v == draftVersion }),
	Member("webhook", "Called when the run has ended.", webhookType, func(o *flow.RunOptions) **flow.RunWebhook { return &o.Webhook }),
	Member("global_webhook", "Another name of webhook.", globalWebhookType, func(o *flow.RunOptions) **flow.RunWebhook { return &o.Webhook }),
	Member("metadata", "Stored with the run and returned with it; at most 16 KiB of JSON.", metadataType, func(o *flow.RunOptions) **flow.Object { return &o.Metadata }),
	Member("timeout_s", "Time limit of the run in seconds.", timeoutType, func(o *flow.RunOptions) *time.Duration { return &o.Timeout }),
	Member("max_usd", "What the run may cost in dollars, with all runs below it. Models need a price. A rerun has the same limit.", DollarsType, func(o *flow.RunOptions) *flow.NanoUSD { return &o.MaxUSD }),
	Member("continue", "An earlier run of the flow, which has ended: the agents of the flow go on with their conversations in it, with all calls and results. The key needs the scope read, unless it started that run.", runIDType.OrAbsent(), func(o *flow.RunOptions) *flow.RunID { return &o.Continue }),
	SetMember("save", "false erases the run's content once it and its deliveries have ended.", BoolType.OrAbsent(), func(o *flow.RunOptions, save bool) { o.Discard = !save }),
	Member("children", "What steps run of other flows: the version that the node names or that is live, or the draft. draft is for runs of the draft, and applies to all flows below.",
		childrenType.OrAbsent().With("default", "live"), func(o *flow.RunOptions) *flow.ChildVersions { return &o.Children }),
}}

// webhookBody declares the webhook of a run.
var webhookBody = Body[flow.RunWebhook]{Of: "webhook", Unknown: "unknown", Ordered: true, Fields: []Field[flow.RunWebhook]{
	Member("url", "", urlType, func(w *flow.RunWebhook) *string { return &w.URL }).Required("name the address to call"),
	Member("secret", "Signs the message. Default: the webhook secret of the key, see GET /v1/webhook-secret.", secretType.OrAbsent(), func(w *flow.RunWebhook) *string { return &w.Secret }),
}}

// draftVersion stands for the draft.
const draftVersion = -1

// Types of the members of run_options.
var (
	versionType = Type[int64]{
		Schema: map[string]any{"oneOf": []any{map[string]any{"type": "integer", "minimum": 1}, map[string]any{"type": "string", "enum": []string{"draft"}}, map[string]any{"type": "null"}}},
		Wanted: `the number of a version or "draft"`, As: func(v any) (int64, bool) {
			if v == "draft" {
				return draftVersion, true
			}
			return AsWhole(v, 1, 1<<53)
		}}.OrAbsent()
	runIDType = Type[flow.RunID]{
		Schema: map[string]any{"type": "string", "pattern": "^run_[0-9a-z]{26}$"}, Wanted: "the ID of a run, such as run_01J…",
		As: func(v any) (flow.RunID, bool) {
			s, ok := v.(string)
			return flow.RunID(s), ok && flow.ValidID(flow.PrefixRun, flow.RunID(s))
		}}
	webhookType       = BodyType(&webhookBody).OrAbsent()
	globalWebhookType = withoutSchema(webhookType)
	urlType           = Type[string]{Schema: TextType.Schema, Read: func(v any) (string, []flow.Problem) {
		s, problems := TextType.read(v)
		if wrong := checkWebhookURL(s); problems == nil && wrong != "" {
			problems = []flow.Problem{{Code: "invalid", Detail: wrong}}
		}
		return s, problems
	}}
	secretType = Type[string]{Schema: map[string]any{"type": "string", "pattern": "^whsec_[A-Za-z0-9+/]+=*$"}, Read: func(v any) (string, []flow.Problem) {
		s, problems := TextType.read(v)
		if problems == nil && !validWebhookSecret(s) {
			problems = []flow.Problem{{Code: "invalid", Detail: "wanted whsec_ and 24 to 64 bytes in base64"}}
		}
		return s, problems
	}}
	metadataType = Type[*flow.Object]{Schema: ObjectType.Schema, Read: func(v any) (*flow.Object, []flow.Problem) {
		m, problems := ObjectType.read(v)
		if n := len(flow.EncodeJSON(m)); problems == nil && n > maxMetadata {
			problems = []flow.Problem{{Code: "too_large", Detail: fmt.Sprintf("wanted at most %d bytes of JSON, got %d", maxMetadata, n)}}
		}
		return m, problems
	}}.OrAbsent()
	timeoutType = Type[time.Duration]{Schema: map[string]any{"type": "number", "minimum": 1, "maximum": maxRunTimeout.Seconds()}, Read: func(v any) (time.Duration, []flow.Problem) {
		s, ok := flow.Float(v)
		switch {
		case !ok:
			return 0, []flow.Problem{{Code: "wrong_type", Detail: "wanted a number of seconds, got " + flow.TypeOf(v)}}
		case s < 1:
			return 0, []flow.Problem{{Code: "too_small", Detail: "wanted at least 1, got " + flow.Text(v)}}
		case s > maxRunTimeout.Seconds():
			return 0, []flow.Problem{{Code: "too_large", Detail: fmt.Sprintf("wanted at most %.0f, got %s", maxRunTimeout.Seconds(), flow.Text(v))}}
		}
		return time.Duration(s * float64(time.Second)), nil
	}}.OrAbsent()
	childrenType = childVersions(map[string]flow.ChildVersions{"live": flow.ChildrenRecorded, "draft": flow.ChildrenDraft}, "live", "draft")
)

// withoutSchema returns a type that its schema does not describe.
func withoutSchema[V any](t Type[V]) Type[V] {
	t.Schema = map[string]any{}
	return t
}

// childVersions returns the type of the words for versions of child runs.
func childVersions(of map[string]flow.ChildVersions, words ...string) Type[flow.ChildVersions] {
	word := EnumType("invalid", words...)
	return Type[flow.ChildVersions]{Schema: word.Schema, Read: func(v any) (flow.ChildVersions, []flow.Problem) {
		s, problems := word.read(v)
		return of[s], problems
	}}
}

// readOptions returns the run options in the body of a start. They are complete only if
// there are no problems.
func readOptions(body *flow.Object) (o flow.RunOptions, p problems) {
	v := body.Get(contract.ReservedInput)
	if v == nil {
		return o, nil
	}
	at := flow.Pointer(contract.ReservedInput)
	given, ok := flow.AsMap(v)
	if !ok {
		p.add(at, "wrong_type", "wanted an object, got "+flow.TypeOf(v))
		return o, p
	}
	set, wrong := runOptionsBody.Read(given)
	set(&o)
	for _, w := range wrong {
		p.add(at+w.Pointer, w.Code, w.Detail)
	}
	if given["webhook"] != nil && given["global_webhook"] != nil {
		p.add(at+"/global_webhook", "invalid", "it is another name of webhook; leave one of them out")
	}
	// Only a run of the draft may have drafts as children, since a published version must not depend on
	// unpublished ones.
	if o.Children == flow.ChildrenDraft && !o.Draft {
		p.add(at+"/children", "invalid", `"draft" is for runs of the draft; set version to "draft" too`)
		o.Children = flow.ChildrenRecorded
	}
	return o, p
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

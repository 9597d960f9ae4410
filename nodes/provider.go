package nodes

import (
	"context"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/nodes/errtext"
	"sluice/providers"
)

// task is what a model is asked for.
type task struct {
	name    string // as Field.Task has it
	what    string // what a provider that lacks it cannot do
	example string // a model that can
	can     func(c providers.Capabilities) bool
}

var (
	taskChat       = task{"chat", "chat", "openai/gpt-5-nano", func(c providers.Capabilities) bool { return c.Chat }}
	taskEmbed      = task{"embed", "make vectors of texts", "openai/text-embedding-3-small", func(c providers.Capabilities) bool { return c.Embed }}
	taskImage      = task{"image", "make pictures", "openai/gpt-image-1", func(c providers.Capabilities) bool { return c.Image }}
	taskEdit       = task{"image", "edit pictures", "openai/gpt-image-1", func(c providers.Capabilities) bool { return c.ImageEdit }}
	taskSpeech     = task{"speech", "speak", "openai/gpt-4o-mini-tts", func(c providers.Capabilities) bool { return c.Speech }}
	taskTranscribe = task{"transcribe", "write down recordings", "openai/whisper-1", func(c providers.Capabilities) bool { return c.Transcribe }}
)

// modelField lets a person choose a model. Required or not is the kind's to say.
func modelField(t task, help string) flow.Field {
	return flow.Field{Name: "model", Title: "Model", Type: flow.FieldModel, Task: t.name,
		Help: "The model, written provider/model such as " + t.example + ". The provider is a known one or the name of a credential with a base URL. " + help}
}

// credentialField chooses among several credentials.
var credentialField = flow.Field{Name: "credential", Title: "Credential", Type: flow.FieldSecret, More: true,
	Help: "The credential to use. Default: the workspace's credential for the provider."}

// checkModel finds a typed model that is not written as one.
func checkModel(t task) func(n *flow.Node) []flow.Problem {
	return func(n *flow.Node) []flow.Problem {
		ref, _ := n.Config["model"].(string)
		if _, _, ok := providers.ParseModel(strings.TrimSpace(ref)); ok || ref == "" {
			return nil
		}
		return []flow.Problem{{Pointer: "/model", Code: "invalid", Detail: "wanted provider/model such as " + t.example}}
	}
}

// target is a chosen model and the way to it.
type target struct {
	ref    string // provider/model, as prices and errors name it
	model  string // as the provider calls it
	preset providers.Preset
	access flow.Access
	at     providers.Endpoint
	price  flow.Price // zero when nobody entered one
}

// findTarget resolves the node's model. The price is read before the call, so
// that nothing is paid for and then lost because the store fails.
func (d Deps) findTarget(ctx context.Context, in *flow.In, t task) (*target, error) {
	m, err := d.resolve(ctx, in, t)
	if err != nil {
		return nil, err
	}
	if m.price, _, err = in.Price(ctx, m.ref); err != nil {
		return nil, fmt.Errorf("find the price of %s: %w", m.ref, err)
	}
	return m, nil
}

func (d Deps) resolve(ctx context.Context, in *flow.In, t task) (*target, error) {
	ref := strings.TrimSpace(in.Text("model"))
	if ref == "" {
		return d.localModel(in, t)
	}
	provider, model, ok := providers.ParseModel(ref)
	if !ok {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The model %q is not written as provider/model. Write it like %s.", errtext.Truncate(ref, 80), t.example)
	}
	m := &target{ref: ref, model: model}
	if err := m.enter(ctx, in, provider, t); err != nil {
		return nil, err
	}
	if !t.can(m.preset.Capabilities) {
		return nil, cannot(m.preset, t)
	}
	if err := m.locate(d.Local); err != nil {
		return nil, err
	}
	return m, m.admit()
}

// fetches reports whether a provider fetches URLs on its own. A server
// inside the operator's network is not: it would reach what our guard keeps
// callers from.
func (m *target) fetches() bool { return m.preset.ImageURLs && !m.at.Trusted }

// usage is what a call took. What the provider reports counts; where it reports
// no cost, the workspace's price does.
func (m *target) usage(u providers.Usage, seconds float64) flow.Usage {
	cost := flow.NanoUSD(u.CostNanoUSD)
	if cost == 0 {
		cost = m.price.Cost(u.InputTokens, u.OutputTokens, seconds)
	}
	return flow.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostNanoUSD: cost}
}

// chargeModel is what a step with a model may cost money for. The model inside
// Sluice and those of servers on this machine are free.
func chargeModel(config map[string]any) (flow.Charge, bool) {
	ref := strings.TrimSpace(flow.Text(config["model"]))
	provider, _, _ := providers.ParseModel(ref)
	preset, _ := providers.FindPreset(provider)
	if chosen := config["credential"]; (ref == "" || preset.Local) && (chosen == nil || chosen == "") {
		return flow.Charge{}, false
	}
	return flow.Charge{Model: ref, Reported: preset.Prices}, true
}

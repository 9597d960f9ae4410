package nodes

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/providers"
)

// task is a use of a model. Not every provider supports every task.
type task struct {
	name    string // value of Field.Task
	what    string // verb phrase for errors: "OpenAI cannot …"
	example string // a suitable model
	can     func(c providers.Capabilities) bool
}

var (
	// Tasks of the kinds. taskEdit is the part of the image kind that some providers lack.
	taskChat       = task{"chat", "chat", "openai/gpt-5-nano", func(c providers.Capabilities) bool { return c.Chat }}
	taskEmbed      = task{"embed", "create embeddings", "openai/text-embedding-3-small", func(c providers.Capabilities) bool { return c.Embed }}
	taskImage      = task{"image", "generate images", "openai/gpt-image-1", func(c providers.Capabilities) bool { return c.Image }}
	taskEdit       = task{"image", "edit images", "openai/gpt-image-1", func(c providers.Capabilities) bool { return c.ImageEdit }}
	taskSpeech     = task{"speech", "generate speech", "openai/gpt-4o-mini-tts", func(c providers.Capabilities) bool { return c.Speech }}
	taskTranscribe = task{"transcribe", "transcribe recordings", "openai/whisper-1", func(c providers.Capabilities) bool { return c.Transcribe }}
)

// modelField returns the field for choosing a model. Kinds that cannot run
// without one wrap it in requiredField.
func modelField(t task, help string) flow.Field {
	return flow.Field{Name: "model", Title: "Model", Type: flow.FieldModel, Task: t.name,
		Help: strings.TrimSpace("Choose a model, or type provider/model. " + help)}
}

// credentialField chooses between several credentials of the model's provider.
var credentialField = flow.Field{Name: "credential", Title: "Credential", Type: flow.FieldSecret, More: true,
	Help: "Empty: the workspace's credential for the provider."}

// checkModel reports a typed model that does not have the form provider/model.
func checkModel(t task) func(n *flow.Node) []flow.Problem {
	return func(n *flow.Node) []flow.Problem {
		ref, _ := n.Config["model"].(string)
		if _, _, ok := providers.ParseModel(strings.TrimSpace(ref)); ok || ref == "" {
			return nil
		}
		return []flow.Problem{{Pointer: "/model", Code: "invalid", Detail: "Enter a model as provider/model, such as " + t.example}}
	}
}

// target is a resolved model with everything needed to call it.
type target struct {
	ref    string // provider/model, as prices and errors name it
	model  string // as the provider calls it
	preset providers.Preset
	access flow.Access
	at     providers.Endpoint
	price  flow.Price // zero if unknown
	priced bool       // price is known
	free   bool       // costs nothing: a server that was found on this machine, without an entered price
}

// findTarget resolves the node's model, credential and price. It reads the
// price before the call: if the store failed afterwards, the cost of a paid
// call would be lost.
func (d Deps) findTarget(ctx context.Context, in *flow.In, t task) (*target, error) {
	m, err := d.resolve(ctx, in, t)
	if err != nil {
		return nil, err
	}
	if err := m.findPrice(ctx, in); err != nil {
		return nil, err
	}
	if in.TakeCall != nil { // nil for a test in the editor, which has no run that could wait
		if err := in.TakeCall(ctx, m.access); err != nil {
			return nil, err
		}
	}
	charge, paid := chargeModel(in.Config)
	m.free = (!paid || charge.Free) && m.access.BaseURL == "" && !m.priced
	m.priced = m.priced && (m.price.Tokens == nil || t.name == taskChat.name || t.name == taskEmbed.name)
	return m, nil
}

// findPrice reads the price of the model.
func (m *target) findPrice(ctx context.Context, in *flow.In) (err error) {
	if m.price, m.priced, err = in.Price(ctx, m.ref); err != nil {
		return fmt.Errorf("find the price of %s: %w", m.ref, err)
	}
	return nil
}

// resolve returns the node's model with its credential and endpoint, but without its price.
func (d Deps) resolve(ctx context.Context, in *flow.In, t task) (*target, error) {
	ref := strings.TrimSpace(in.Text("model"))
	if ref == "" {
		return d.localModel(in, t)
	}
	provider, model, ok := providers.ParseModel(ref)
	if !ok {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The model %q is not written as provider/model. Write it like %s.", wording.Truncate(ref, 80), t.example)
	}
	m := &target{ref: ref, model: model}
	if err := m.open(ctx, in, provider, t); err != nil {
		return nil, err
	}
	if !t.can(m.preset.Capabilities) {
		return nil, lacksTask(m.preset, t)
	}
	if err := m.locate(d.Local); err != nil {
		return nil, err
	}
	return m, m.checkBinding()
}

// passesURLs reports whether URLs are passed to the provider to fetch. A server
// inside the operator's network must not fetch them, since it could reach
// addresses that outbound's guard blocks.
func (m *target) passesURLs() bool { return m.preset.ImageURLs && !m.at.Trusted }

// charge adds the usage of a call to the result of a step. A step whose cost is not fully known
// counts as unpriced: an unknown cost is not zero. If that is so because a call did not report what
// it consumed, it is also marked as lost. seconds is the billed time, or unknownTime.
func (m *target) charge(out *flow.Out, u providers.Usage, seconds float64) {
	out.Usage.InputTokens, out.Usage.OutputTokens = u.InputTokens, u.OutputTokens
	out.Usage.CachedTokens, out.Usage.ReasoningTokens = u.CacheRead, u.Reasoning
	cost, whole := m.cost(u, seconds)
	if out.Usage.CostNanoUSD = cost; !whole {
		out.Usage.UnpricedSteps = 1
	}
	out.Lost = u.Incomplete && !whole
}

// cost returns what is known of the cost of a call, and whether that is all of it. It is the cost
// that the provider reports, or else is computed from the workspace's price or a price list. It is
// not known fully without a price, without usage, after a web search, whose fee is in no price
// list, and for a tier of service with another price.
func (m *target) cost(u providers.Usage, seconds float64) (known flow.NanoUSD, whole bool) {
	switch {
	case u.CostKnown:
		return flow.NanoUSD(u.CostNanoUSD), !u.Incomplete
	case !m.priced:
		return 0, m.free
	}
	part, listed := tierPrice(m.preset.Name, u.Tier, m.price.Tokens != nil)
	if !listed {
		return 0, false
	}
	byTokens := m.price.Tokens != nil || m.price.Call == 0 && m.price.Second == 0 && m.price.Input+m.price.Output > 0
	counted := u.InputTokens+u.OutputTokens > 0
	timed := m.price.Second == 0 || seconds >= 0
	whole = timed && !u.Incomplete && (counted || !byTokens) // not every server counts tokens
	if !whole && !(counted && byTokens) {
		return 0, false
	}
	searched := u.Searches > 0 && m.price.Tokens != nil
	return part.of(m.price.Cost(tokenUse(u), max(seconds, 0))), whole && !searched
}

// unknownTime is the billed time of a call whose provider did not report it.
const unknownTime = -1

// billed returns a reported time, or unknownTime for 0.
func billed(seconds float64) float64 { return cmp.Or(seconds, unknownTime) }

// chargeCall adds the usage of a call that returned an error: what is known, with an unknown
// cost if the call may have been charged.
func (m *target) chargeCall(out *flow.Out, u providers.Usage, err error) {
	u.Incomplete = u.Incomplete || providers.Lost(err)
	if err == nil || u != (providers.Usage{}) {
		m.charge(out, u, 0)
	}
}

// tokenUse converts token counts as providers report them to counts that prices apply to.
func tokenUse(u providers.Usage) flow.TokenUse {
	return flow.TokenUse{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
		CacheWriteHour: u.CacheWriteHour, Reasoning: u.Reasoning}
}

// chargeModel returns the expected charge of a step, for the budget check before it starts,
// and whether it can cost money. The built-in model is free; so are servers on this machine,
// unless the workspace entered a price for the model.
func chargeModel(config map[string]any) (flow.Charge, bool) {
	ref := strings.TrimSpace(flow.Text(config["model"]))
	provider, _, _ := providers.ParseModel(ref)
	preset, _ := providers.FindPreset(provider)
	unchosen := config["credential"] == nil || config["credential"] == ""
	if ref == "" && unchosen {
		return flow.Charge{}, false
	}
	return flow.Charge{Model: ref, Reported: preset.Prices, Free: preset.Local && unchosen}, true
}

// Estimates of the maximum cost of a step before it runs.
const (
	defaultMaxTokens = 4096 // of an answer whose node sets no limit
	bytesPerToken    = 3    // of text; most languages have more bytes per token
	tokensPerImage   = 1600
	hostedSeconds    = 60 // duration of a prediction
)

// chargeEmbed extends chargeModel by an estimate of the tokens.
func chargeEmbed(config map[string]any) (flow.Charge, bool) {
	c, paid := chargeModel(config)
	c.Tokens = true
	c.Use = flow.TokenUse{Input: textTokens(config["text"], config["texts"])}
	return c, paid
}

// textTokens estimates the tokens of values. It errs on the high side.
func textTokens(values ...any) (n int64) {
	for _, v := range values {
		if v != nil {
			n += int64(len(flow.Text(v))+bytesPerToken-1) / bytesPerToken
		}
	}
	return n
}

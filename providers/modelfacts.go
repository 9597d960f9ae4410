package providers

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
)

// modelFacts are the sizes, abilities and prices in lists of models, under the names that
// providers use. Fields with an unexpected type are ignored: a list is worth
// showing without them.
type modelFacts struct {
	// Context windows: OpenRouter, Together and Fireworks; Groq; Mistral; vLLM; Anthropic.
	ContextLength    lenient[float64] `json:"context_length"`
	ContextWindow    lenient[float64] `json:"context_window"`
	MaxContextLength lenient[float64] `json:"max_context_length"`
	MaxModelLen      lenient[float64] `json:"max_model_len"`
	MaxInputTokens   lenient[float64] `json:"max_input_tokens"`
	// Abilities: Mistral; Fireworks; OpenRouter.
	Capabilities lenient[struct {
		Vision          bool `json:"vision"`
		FunctionCalling bool `json:"function_calling"`
	}] `json:"capabilities"`
	ImageInput          lenient[bool]     `json:"supports_image_input"`
	ToolInput           lenient[bool]     `json:"supports_tools"`
	SupportedParameters lenient[[]string] `json:"supported_parameters"`
	Architecture        lenient[struct {
		Input []string `json:"input_modalities"`
	}] `json:"architecture"`
	// Prices: OpenRouter has dollars per token as text, Together dollars per million
	// tokens as numbers.
	Pricing lenient[struct {
		Prompt, Completion string
		Input, Output      *float64
	}] `json:"pricing"`
}

// lenient is a JSON value whose type may differ from what is expected.
type lenient[T any] struct{ V T }

// UnmarshalJSON leaves V at its zero value if the JSON has another type. Servers
// disagree about these facts, which are only shown, so a wrong type must not fail the
// whole list of models.
func (l *lenient[T]) UnmarshalJSON(data []byte) error {
	if v := new(T); json.Unmarshal(data, v) == nil {
		l.V = *v
	}
	return nil
}

// maxContext is the largest plausible context window in tokens.
const maxContext = 100_000_000

// addTo adds the facts to a model.
func (f *modelFacts) addTo(m *Model) {
	size := cmp.Or(f.ContextLength.V, f.ContextWindow.V, f.MaxContextLength.V, f.MaxModelLen.V, f.MaxInputTokens.V)
	if size > 0 && size <= maxContext {
		m.Context = int64(size)
	}
	parameters := f.SupportedParameters.V
	m.Vision = f.Capabilities.V.Vision || f.ImageInput.V || slices.Contains(f.Architecture.V.Input, "image")
	m.Tools = f.Capabilities.V.FunctionCalling || f.ToolInput.V || slices.Contains(parameters, "tools")
	m.JSON = slices.Contains(parameters, "structured_outputs")
	m.Price = f.price()
}

// price returns the price per million tokens, or nil if the list has none. OpenRouter writes -1
// for models whose price depends on the request.
func (f *modelFacts) price() *ModelPrice {
	p := f.Pricing.V
	in, errIn := strconv.ParseFloat(p.Prompt, 64)
	out, errOut := strconv.ParseFloat(p.Completion, 64)
	if errIn == nil && errOut == nil {
		return priceOf(in*1e6, out*1e6)
	}
	// Together writes 0 for models that require a dedicated machine.
	if p.Input != nil && p.Output != nil && *p.Input+*p.Output > 0 {
		return priceOf(*p.Input, *p.Output)
	}
	return nil
}

// priceOf converts a price in dollars per million tokens, or returns nil if it is implausible.
func priceOf(in, out float64) *ModelPrice {
	const most = 1e6 // dollars; higher prices are mistakes
	if !(in >= 0 && in < most && out >= 0 && out < most) {
		return nil
	}
	return &ModelPrice{InputNanoUSD: int64(math.Round(in * 1e9)), OutputNanoUSD: int64(math.Round(out * 1e9))}
}

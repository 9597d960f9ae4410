package providers

import (
	"encoding/json"
	"math"
	"strings"

	"sluice/flow/value"
)

// openAIUsage has the token counts of a response. Providers use different names for
// cached tokens, so several fields are read.
type openAIUsage struct {
	PromptTokens     count           `json:"prompt_tokens"`
	CompletionTokens count           `json:"completion_tokens"`
	TotalTokens      count           `json:"total_tokens"`
	Cost             json.RawMessage `json:"cost"`
	CostDetails      json.RawMessage `json:"cost_details"`
	OwnKey           json.RawMessage `json:"is_byok"` // OpenRouter: billed by the provider behind it
	Prompt           tokenDetails    `json:"prompt_tokens_details"`
	CacheHit         count           `json:"prompt_cache_hit_tokens"` // DeepSeek
	Completion       tokenDetails    `json:"completion_tokens_details"`
}

// tokenDetails is the breakdown of a token count. OpenAI and Anthropic have different parts.
type tokenDetails struct {
	Cached, Write, Reasoning, Hour, Thinking count
}

// UnmarshalJSON never fails, for the same reason as that of count.
func (d *tokenDetails) UnmarshalJSON(data []byte) error {
	members := value.Raw(data).Members()
	for name, n := range map[string]*count{
		"cached_tokens": &d.Cached, "cache_write_tokens": &d.Write, "reasoning_tokens": &d.Reasoning,
		"ephemeral_1h_input_tokens": &d.Hour, "thinking_tokens": &d.Thinking,
	} {
		_ = n.UnmarshalJSON(members[name])
	}
	return nil
}

// setUsage records the usage of a chunk, if it has one. The last one counts: some servers send
// the usage so far with each chunk. Anything but an object is ignored, because an invalid count
// must not discard a paid answer.
func (s *session) setUsage(r *reply, data json.RawMessage) {
	var u openAIUsage
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &u) != nil {
		return
	}
	tier := r.usage.Tier
	r.usage = s.openAIUsage(&u)
	r.usage.Tier, r.billed = tier, r.usage.InputTokens+r.usage.OutputTokens > 0 || r.usage.CostKnown
}

// openAIUsage converts usage, and the cost if the provider reports one. At Gemini and xAI, the
// total has output tokens that are counted nowhere else: those of reasoning. What else a total
// includes is unknown, so such usage is incomplete.
func (s *session) openAIUsage(u *openAIUsage) Usage {
	usage := Usage{InputTokens: int64(u.PromptTokens), OutputTokens: int64(u.CompletionTokens)}
	usage.CacheRead = min(int64(max(u.Prompt.Cached, u.CacheHit)), usage.InputTokens)
	usage.CacheWrite = min(int64(u.Prompt.Write), usage.InputTokens-usage.CacheRead)
	usage.Reasoning = int64(u.Completion.Reasoning)
	hidden := int64(u.TotalTokens - u.PromptTokens - u.CompletionTokens)
	switch name := s.preset.Name; {
	case hidden > 0 && (name == nameGemini || name == nameXAI || strings.Contains(s.model, "gemini")):
		usage.OutputTokens += hidden
		usage.Reasoning = max(usage.Reasoning, hidden)
	case hidden > 0:
		usage.Incomplete = true
	case u.TotalTokens == 0 && name == nameXAI:
		usage.OutputTokens += usage.Reasoning
	}
	usage.Reasoning = min(usage.Reasoning, usage.OutputTokens)
	usage.CostNanoUSD, usage.CostKnown = s.reportedCost(u)
	return usage
}

// reportedCost returns the cost that a provider reports, in nano-dollars: OpenRouter in
// usage.cost, Perplexity in usage.cost.total_cost, both in dollars. With a key of the user's
// own at OpenRouter, cost is only its fee, and the provider behind it charges the rest.
func (s *session) reportedCost(u *openAIUsage) (nano int64, known bool) {
	cost := value.Raw(u.Cost)
	switch s.preset.Name {
	case nameOpenRouter:
		own := string(u.OwnKey) == "true"
		dollars, known := cost.Number()
		upstream, upstreamKnown := value.Raw(u.CostDetails).Get("upstream_inference_cost").Number()
		if !known || own && !upstreamKnown {
			return 0, false
		}
		if own {
			dollars += upstream
		}
		return nanoDollars(dollars)
	case namePerplexity:
		if total, _ := cost.Get("total_cost").Number(); total > 0 {
			return nanoDollars(total)
		}
	}
	return 0, false
}

// nanoDollars converts dollars to 1e-9 dollars. Implausible amounts are unknown.
func nanoDollars(dollars float64) (nano int64, known bool) {
	if !(dollars >= 0 && dollars < 1e6) {
		return 0, false
	}
	return int64(math.Round(dollars * 1e9)), true
}

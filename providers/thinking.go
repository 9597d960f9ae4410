package providers

import (
	"cmp"
	"strings"
)

// Efforts are the levels of ChatRequest.Effort, by OpenAI's names, lowest first. Not
// every model supports all of them.
var Efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh"}

// budgets are the thinking budgets in tokens that correspond to efforts: Google's table for
// Gemini, continued for xhigh.
var budgets = map[string]int{"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": 32768}

// minBudget is Anthropic's minimum.
const minBudget = 1024

// maxSearches bounds the web searches of one answer; each costs a fee.
const maxSearches = 5

// thinks reports whether the request asks for reasoning.
func (r *ChatRequest) thinks() bool {
	return r.ThinkingBudget > 0 || r.Effort != "" && r.Effort != "none"
}

// Budget returns the thinking budget in tokens: as set, or corresponding to the effort. It
// returns 0 if neither is set.
func (r *ChatRequest) Budget() int { return cmp.Or(r.ThinkingBudget, budgets[r.Effort]) }

// effort returns the effort: as set, or the lowest one with at least the budget.
func (r *ChatRequest) effort() string {
	if r.Effort != "" || r.ThinkingBudget == 0 {
		return r.Effort
	}
	for _, e := range Efforts[2:] { // some models support low but not minimal
		if budgets[e] >= r.ThinkingBudget {
			return e
		}
	}
	return Efforts[len(Efforts)-1]
}

// setThinking sets the reasoning parameters in OpenAI's format.
func (c *conversation) setThinking(body map[string]any) {
	switch {
	case c.Effort == "" && c.ThinkingBudget == 0, c.agent && !c.use(featEffort):
	case c.session.preset.Name == nameOpenRouter && c.ThinkingBudget > 0:
		body["reasoning"] = map[string]any{"max_tokens": c.ThinkingBudget}
	case c.session.preset.Name == nameOpenRouter:
		body["reasoning"] = map[string]any{"effort": c.Effort}
	case c.session.preset.Name == nameGemini && c.ThinkingBudget > 0:
		body["extra_body"] = map[string]any{"google": map[string]any{"thinking_config": map[string]any{"thinking_budget": c.ThinkingBudget}}}
	default:
		body["reasoning_effort"] = c.effort()
	}
}

// anthropicEffort maps an effort to the levels of Anthropic.
var anthropicEffort = map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "max"}

// anthropicThinks reports whether the request on Anthropic's wire asks for thinking.
func (c *conversation) anthropicThinks() bool {
	return c.thinks() && (!c.agent || c.use(featEffort))
}

// setAnthropicThinking sets the thinking parameters in Anthropic's format. Newer models take
// an effort, older ones a budget, which must be less than max_tokens.
func (c *conversation) setAnthropicThinking(body map[string]any) {
	if !c.anthropicThinks() {
		return
	}
	budget := max(c.Budget(), minBudget)
	if c.MaxTokens == 0 {
		body["max_tokens"] = c.anthropicLimit() + budget
	} else if c.ThinkingBudget == 0 {
		budget = max(min(budget, c.MaxTokens/2), minBudget)
	}
	if c.dialect.adaptive {
		c.sent |= featAdaptive
		body["thinking"] = map[string]any{"type": "adaptive"}
		body["output_config"] = map[string]any{"effort": anthropicEffort[c.effort()]}
		return
	}
	c.sent |= featBudget
	body["thinking"] = map[string]any{"type": "enabled", "budget_tokens": budget}
}

// minCached is the length of a system prompt, in bytes, from which it is marked for the
// provider's cache. Anthropic caches from 1,024 tokens, some models from 4,096; a mark
// below that is ignored and costs nothing. Writing to the cache costs a quarter more
// than reading the prompt, reading from it a tenth.
const minCached = 4096

// cached returns a system prompt as a block, with a mark for the cache if it is long or always.
func cached(system string, always bool) map[string]any {
	block := textBlock(system)
	if always || len(system) >= minCached {
		block["cache_control"] = ephemeral()
	}
	return block
}

// ephemeral returns a mark for the cache.
func ephemeral() map[string]any { return map[string]any{"type": "ephemeral"} }

// CacheMarks reports whether a long system prompt is marked for the provider's cache.
// Providers other than Anthropic cache without marks; OpenRouter passes them on.
func (p *Preset) CacheMarks(model string) bool {
	return p.Wire == WireAnthropic || p.Name == nameOpenRouter && strings.HasPrefix(model, "anthropic/")
}

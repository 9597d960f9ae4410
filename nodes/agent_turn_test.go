package nodes

import (
	"testing"

	"sluice/nodes/agents"
	"sluice/providers"
)

// TestTurn_reserves_what_it_may_cost: without a limit the answer may have as many tokens as the
// provider is asked for, and at Anthropic the conversation is written to the cache.
func TestTurn_reserves_what_it_may_cost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		config         map[string]any
		output, writes int64
	}{
		{map[string]any{"model": "anthropic/claude-x", agents.ContextTokens: 5000}, providers.TurnMaxTokens, 5000},
		{map[string]any{"model": "anthropic/claude-x", agents.ContextTokens: 5000, "max_tokens": 100}, 100, 5000},
		{map[string]any{"model": "openai/gpt-x", agents.ContextTokens: 5000}, providers.TurnMaxTokens, 0},
	} {
		charge, paid := turnKind(Deps{}).Charge(c.config)
		if use := charge.Use; !paid || use.Input < 5000 || use.Output != c.output || use.CacheWrite < c.writes || c.writes == 0 && use.CacheWrite != 0 {
			t.Errorf("%v: paid %v, %+v", c.config, paid, use)
		}
	}
}

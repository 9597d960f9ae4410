package agents

import (
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// unknownRoom is Room for a model whose context window is not known. Local models often have one of
// 32,000 tokens.
const unknownRoom = 24_000

// Room returns the tokens from which on a conversation with a model is compacted: 80 % of its context
// window, by the shipped list of models, because what an agent does must not depend on a provider's list.
func Room(model string) int64 {
	provider, id, _ := providers.ParseModel(strings.TrimSpace(model))
	if n := providers.Known().Context(provider, id); n > 0 {
		return n / 10 * 8
	}
	return unknownRoom
}

// Continues reports whether a step is a turn whose items are the whole conversation.
func Continues(in *flow.In) bool {
	with, _ := in.Ports[Port].(*Turn)
	return with != nil && with.Continues
}

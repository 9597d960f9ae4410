package editor

import (
	"slices"
	"strings"

	"sluice/views/components"
)

// ModelList is the list of models below a model field.
type ModelList struct {
	Query string
	// Current is the model of the node, which is checked.
	Current string
	// FlowID is the flow for which providers can be connected; "" if that is not allowed.
	FlowID string
	// Connected is the provider that was just connected in the list.
	Connected string
	Groups    []components.ModelGroup
	// Servers can be connected besides the groups.
	Servers []components.ModelGroup
	// More is set if the list is truncated.
	More bool
}

// found returns the number of models.
func (l ModelList) found() (n int) {
	for _, g := range l.Groups {
		n += len(g.Models)
	}
	return n
}

// serverName proposes the name of a credential for a server: what was searched for, if it can be a
// name.
func (l ModelList) serverName(g components.ModelGroup) string {
	name, _, _ := strings.Cut(strings.ToLower(l.Query), "/")
	if g.Name != "openai_compatible" {
		return g.Name
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" {
		return ""
	}
	return name
}

// CredentialForm creates a credential from within a flow.
type CredentialForm struct {
	FlowID, Name, Provider string
	Hosts                  string
	AnyHost                bool
	Providers              []components.Option
	Errors                 components.Errors
}

// shownOffered is how many models of a provider without a credential are shown; the rest is
// collapsed.
const shownOffered = 4

// state returns the label and tone of a group's state.
func (l ModelList) state(g components.ModelGroup) (components.Tone, string) {
	switch {
	case g.Note != "" || g.Place == components.PlaceHosted || g.Place == components.PlaceOffered:
		return components.ToneNone, ""
	case g.Place == components.PlaceLocal:
		return components.ToneOK, "Ready"
	case g.Name == l.Connected:
		return components.ToneOK, "Tested just now"
	}
	return components.ToneOK, "Connected"
}

// modelLabel returns a model's name without the provider, which is in the heading.
func modelLabel(g components.ModelGroup, m components.ModelChoice) string {
	return strings.TrimPrefix(m.ID, g.Name+"/")
}

// hasFacts reports whether the column of context sizes and prices is needed.
func (l ModelList) hasFacts() bool {
	return slices.ContainsFunc(l.Groups, func(g components.ModelGroup) bool {
		return slices.ContainsFunc(g.Models, func(m components.ModelChoice) bool { return m.Context != "" || m.Price != "" })
	})
}

// cheapPrice is the price of a million tokens in dollars below which a model counts as cheap;
// cheap is the label of its filter.
const (
	cheapPrice = 1
	cheap      = "Under $1"
)

// traits returns the filters that a model matches: its abilities, and "cheap".
func traits(m components.ModelChoice) []string {
	if price, known := components.InputPrice(m.Price); known && price < cheapPrice {
		return append(slices.Clone(m.Can), cheap)
	}
	return m.Can
}

// filters returns the traits that only some models of the list have, in a fixed order.
func (l ModelList) filters() (list []string) {
	for _, trait := range []string{"Vision", "Tools", "JSON", "Reasoning", cheap} {
		with, without := 0, 0
		for _, g := range l.Groups {
			for _, m := range g.Models {
				if slices.Contains(traits(m), trait) {
					with++
				} else {
					without++
				}
			}
		}
		if with > 0 && without > 0 {
			list = append(list, trait)
		}
	}
	return list
}

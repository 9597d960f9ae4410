package editor

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sluice/views/components"
)

// ModelList is what a person finds who looks for a model.
type ModelList struct {
	Query string
	// Current is the model of the node, which has a check mark.
	Current string
	// FlowID is where a provider is connected from; empty if that is not allowed.
	FlowID string
	// Connected is the provider that was connected while the list was open.
	Connected string
	Groups    []components.ModelGroup
	// More is set if there are more than are shown.
	More bool
}

// found counts the models.
func (l ModelList) found() (n int) {
	for _, g := range l.Groups {
		n += len(g.Models)
	}
	return n
}

// Upgrade says what another version of a node's model, or of the flow that it runs, would
// change.
type Upgrade struct {
	FlowID, Node string
	Name         string // of the model or the flow
	Version      int64  // of a flow; 0 for a model
	// Newest is true where there is nothing newer.
	Newest  bool
	Changes []UpgradeChange
	// Misfits are values and edges that stay and do not fit any more.
	Misfits []string
}

// headline says what is newer.
func (u Upgrade) headline() string {
	if u.Version > 0 {
		return fmt.Sprintf("Version %d of %s changes:", u.Version, u.Name)
	}
	return "There is a newer version of " + u.Name + "."
}

// UpgradeChange is one difference between versions.
type UpgradeChange struct {
	Sentence string
	Breaking bool
}

// CredentialForm makes a credential from within a flow.
type CredentialForm struct {
	FlowID, Name, Provider string
	Hosts                  string
	AnyHost                bool
	Providers              []components.Option
	Errors                 components.Errors
}

// shownOffered is how many models of a provider without a credential are shown before the rest is unfolded.
const shownOffered = 4

// state is the word and tone of a group's state.
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

// label is a model's name without the provider, which the heading above it says.
func modelLabel(g components.ModelGroup, m components.ModelChoice) string {
	return strings.TrimPrefix(m.ID, g.Name+"/")
}

// hasFacts reports whether a column of sizes and prices would not be empty.
func (l ModelList) hasFacts() bool {
	return slices.ContainsFunc(l.Groups, func(g components.ModelGroup) bool {
		return slices.ContainsFunc(g.Models, func(m components.ModelChoice) bool { return m.Context != "" || m.Price != "" })
	})
}

// cheapPrice is the price of a million tokens below which a model counts as cheap, in
// dollars, and cheap is the word of its filter.
const (
	cheapPrice = 1
	cheap      = "Under $1"
)

// traits are what a model can be filtered by: its abilities, and a price below cheapPrice.
func traits(m components.ModelChoice) []string {
	in, _, _ := strings.Cut(strings.TrimPrefix(m.Price, "$"), " ")
	price, err := strconv.ParseFloat(in, 64)
	if m.Price == "Free" || err == nil && price < cheapPrice {
		return append(slices.Clone(m.Can), cheap)
	}
	return m.Can
}

// filters are the traits that tell models of the list apart, in a fixed order.
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

// hostOf returns the host of an address, as people know it.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

package console

import (
	"sluice/flow/library"
	"sluice/views/components"
)

// Provider is a company or server whose models a credential gives access to.
type Provider struct {
	Name, Title string
	KeysURL     string   // page on which users create API keys
	Can         []string // node kinds that can use it
	Local       bool     // a server that the user runs
	OwnAddress  bool     // the user enters its base URL
}

// Providers also lists the providers. The server implements it with HTTP clients, and tests with a
// fake.
type Providers interface {
	library.Providers
	// List returns the known providers in display order.
	List() []Provider
}

// describeProvider returns the display name of a provider, or its ID if it is
// unknown, and what its models can do.
func (s *Server) describeProvider(name string) (title string, can []string) {
	for _, p := range s.Providers.List() {
		if p.Name == name {
			return p.Title, components.TaskWords(p.Can)
		}
	}
	return name, nil
}

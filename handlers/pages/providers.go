package pages

import (
	"context"

	"sluice/flow"
)

// Provider is a maker of models whom a credential lets in to.
type Provider struct {
	Name, Title string
	// KeysURL is where a person gets a key; BaseURL where it is reached, empty
	// for those whose address the person enters.
	KeysURL, BaseURL string
	Hosts            []string
	// Can are the node kinds that work with it.
	Can []string
	// Local is a server of the person's own, which needs no secret.
	Local bool
	// Hosting is a platform that hosts models of many makers.
	Hosting bool
}

// Providers knows whom credentials are for, and asks them.
type Providers interface {
	// List is everybody known by name, in the order in which lists show them.
	List() []Provider
	// Credential checks what a person typed and says where the secret may go. The
	// error is an *Error whose Fields name the fields: /name, /provider,
	// /base_url, /hosts or /secret.
	Credential(c flow.Credential, secret string) (flow.Credential, error)
	// Test asks the provider whether it accepts the secret, and says how it
	// answered.
	Test(ctx context.Context, ws, name string) (string, error)
	// Environment are the secrets that the process was started with, without
	// them.
	Environment(ws string) []flow.Credential
	// Uses tells of a node whose credential it takes when it names none.
	Uses(n *flow.Node) string
	// Models asks a provider, or a credential with an address of its own, for its
	// models.
	Models(ctx context.Context, ws, name string) ([]ProviderModel, error)
	// Servers are the model servers found on this machine.
	Servers() []LocalServer
}

// ProviderModel is a model of a provider's list.
type ProviderModel struct{ ID, Title string }

// LocalServer is a model server on this machine.
type LocalServer struct {
	Provider, Title, Address string
	Models                   []ProviderModel
}

// providerTitle is what people call a provider.
func (s *Server) providerTitle(name string) string {
	if s.Providers != nil {
		for _, p := range s.Providers.List() {
			if p.Name == name {
				return p.Title
			}
		}
	}
	return name
}

package console

import (
	"context"

	"sluice/flow"
	"sluice/flow/library"
)

// Provider is a maker of models whom a credential lets in to.
type Provider struct {
	Name, Title string
	KeysURL     string   // where a person gets a key
	Can         []string // the node kinds that work with it
	Local       bool     // a server of the person's own
	OwnAddress  bool     // the person enters its base URL
}

// Providers knows whom credentials are for, and asks them.
type Providers interface {
	// List is everybody known by name, in the order in which lists show them.
	List() []Provider
	// Credential checks what a person typed and says where the secret may go. The
	// error is an *Error whose Fields name the fields: name, provider, base_url,
	// hosts or secret.
	Credential(c flow.Credential, secret string) (flow.Credential, error)
	// CheckSecret says what is wrong with a secret; nothing when it is right.
	CheckSecret(secret string) string
	// Test asks the provider whether it accepts the secret, and says how it
	// answered. What it says is for people, and an *Error when it is no.
	Test(ctx context.Context, ws, name string) (string, error)
	// Environment are the credentials that the process was started with.
	Environment(ws string) []flow.Credential
	// ProposeHosts returns the fixed hosts that flows send credentials to, by
	// credential.
	ProposeHosts(ctx context.Context, ws string) (map[string][]string, error)
	// CredentialUses finds the nodes that use credentials, by credential.
	CredentialUses(ctx context.Context, ws string) (map[string][]library.CredentialUse, error)
}

// providerTitle is what people call a provider.
func (s *Server) providerTitle(name string) string {
	for _, p := range s.Providers.List() {
		if p.Name == name {
			return p.Title
		}
	}
	return name
}

package console

import (
	"context"

	"sluice/flow"
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

// Providers manages the providers that credentials are for. The server implements it
// with HTTP clients, and tests with a fake.
type Providers interface {
	// List returns the known providers in display order.
	List() []Provider
	// Credential validates a new credential and returns it with the hosts that
	// its secret may be sent to. Validation errors are a flow.Error whose Fields
	// name the fields: name, provider, base_url, hosts or secret.
	Credential(c flow.Credential, secret string) (flow.Credential, error)
	// CheckSecret returns what is wrong with a secret, or "".
	CheckSecret(secret string) string
	// Test asks the provider whether it accepts the secret. It returns a message
	// for the user, or a flow.Error if the provider rejects it.
	Test(ctx context.Context, ws flow.WorkspaceID, name string) (string, error)
	// TestSecret is Test for a credential that is not stored yet.
	TestSecret(ctx context.Context, c flow.Credential, secret string) (string, error)
	// Environment returns the credentials in the environment of the process.
	Environment(ws flow.WorkspaceID) []flow.Credential
	// ProposeHosts returns the fixed hosts that flows send credentials to, by
	// credential.
	ProposeHosts(ctx context.Context, ws flow.WorkspaceID) (map[string][]string, error)
	// CredentialUses returns the nodes that use credentials, by credential.
	CredentialUses(ctx context.Context, ws flow.WorkspaceID) (map[string][]library.CredentialUse, error)
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

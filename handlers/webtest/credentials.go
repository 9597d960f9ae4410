package webtest

import (
	"context"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/console"
)

// FakeProviders knows one provider, which accepts one secret.
type FakeProviders struct{ Store *db.Store }

// List returns one hosted provider and one that runs at an address of the user's
// choice.
func (FakeProviders) List() []console.Provider {
	return []console.Provider{
		{Name: "openai", Title: "OpenAI", KeysURL: "https://platform.openai.com/api-keys", Can: []string{"chat"}},
		{Name: "vllm", Title: "vLLM", Can: []string{"chat"}, Local: true, OwnAddress: true},
	}
}

// Credential checks name and secret, each with a message for its field, as the real
// providers do.
func (f FakeProviders) Credential(c flow.Credential, secret string) (flow.Credential, error) {
	if c.Name == "" {
		return c, &flow.Error{Code: flow.CodeInputInvalid, Message: "no", Fields: []flow.Problem{{Pointer: "name", Detail: "Give it a name."}}}
	}
	if why := f.CheckSecret(secret); why != "" {
		return c, &flow.Error{Code: flow.CodeInputInvalid, Message: "no", Fields: []flow.Problem{{Pointer: "secret", Detail: why}}}
	}
	if c.Provider != "" {
		c.Hosts = []string{"api.openai.com"}
	}
	return c, nil
}

// CheckSecret refuses only an empty secret.
func (FakeProviders) CheckSecret(secret string) string {
	if secret == "" {
		return "Paste the secret here."
	}
	return ""
}

// Test accepts a stored credential whose secret is "sk-right".
func (f FakeProviders) Test(ctx context.Context, ws flow.WorkspaceID, name string) (string, error) {
	if _, secret, err := f.Store.OpenCredential(ctx, ws, name); err != nil || secret != "sk-right" {
		return "", flow.Errorf(flow.CodeProviderAuth, "OpenAI refuses the credential.")
	}
	return "OpenAI accepts it.", nil
}

// TestSecret accepts the secret "sk-right" before it is stored.
func (FakeProviders) TestSecret(_ context.Context, _ flow.Credential, secret string) (string, error) {
	if secret != "sk-right" {
		return "", flow.Errorf(flow.CodeProviderAuth, "OpenAI refuses the credential.")
	}
	return "OpenAI accepts it.", nil
}

// Environment returns one credential, as if the server had been started with it.
func (FakeProviders) Environment(ws flow.WorkspaceID) []flow.Credential {
	return []flow.Credential{{Name: "REPLICATE_API_TOKEN", Provider: "replicate"}}
}

// ProposeHosts uses the real rule on the stored flows.
func (f FakeProviders) ProposeHosts(ctx context.Context, ws flow.WorkspaceID) (map[string][]string, error) {
	return library.ProposeHosts(ctx, f.Store, ws, Kinds())
}

// CredentialUses uses the real rule; no model belongs to a provider here.
func (f FakeProviders) CredentialUses(ctx context.Context, ws flow.WorkspaceID) (map[string][]library.CredentialUse, error) {
	return library.CredentialUses(ctx, f.Store, ws, func(*flow.Node) string { return "" })
}

package webtest

import (
	"context"
	"strings"

	"sluice/db"
	"sluice/flow"
	"sluice/flow/credentialuse"
	"sluice/flow/library"
	"sluice/handlers/admin"
	"sluice/handlers/console"
)

// FakeProviders stands in for the model providers. They accept only the secret "sk-right".
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
	if why := library.CheckSecret(secret); why != "" && c.BaseURL == "" {
		return c, &flow.Error{Code: flow.CodeInputInvalid, Message: "no", Fields: []flow.Problem{{Pointer: "secret", Detail: why}}}
	}
	if c.Provider != "" {
		c.Hosts = []string{"api.openai.com"}
	}
	return c, nil
}

// OperatorCredential is Credential.
func (f FakeProviders) OperatorCredential(c flow.Credential, secret string) (flow.Credential, error) {
	return f.Credential(c, secret)
}

// Test accepts a stored credential whose secret is "sk-right".
func (f FakeProviders) Test(ctx context.Context, ws flow.WorkspaceID, name string) (string, error) {
	if _, secret, err := f.Store.OpenCredential(ctx, ws, name); err != nil || secret != "sk-right" {
		return "", flow.Errorf(flow.CodeProviderAuth, "OpenAI refuses the credential.")
	}
	return "OpenAI is connected.", nil
}

// TestSecret accepts the secret "sk-right" before it is stored, and servers of one's own unless their
// host is "gone".
func (FakeProviders) TestSecret(_ context.Context, k flow.Credential, secret string) (string, error) {
	switch k.BaseURL {
	case "":
	case "http://gone/v1":
		return "", flow.Errorf(flow.CodeProviderUnavailable, "Can't find gone. Check the URL.")
	default:
		return k.Name + " is connected. 2 models found.", nil
	}
	if secret != "sk-right" {
		return "", flow.Errorf(flow.CodeProviderAuth, "OpenAI refuses the credential.")
	}
	return "OpenAI is connected.", nil
}

// ListTools lists two tools if the secret of the credential is "sk-right".
func (f FakeProviders) ListTools(ctx context.Context, ws flow.WorkspaceID, name string) (title string, tools []flow.ServerTool, err error) {
	if _, err := f.Test(ctx, ws, name); err != nil {
		return "", nil, err
	}
	return "Help desk", ServerTools(), nil
}

// ServerTools returns the tools that FakeProviders lists.
func ServerTools() []flow.ServerTool {
	schema := func(properties map[string]any) *flow.Object {
		o, _ := flow.AsObject(map[string]any{"type": "object", "properties": properties})
		return o
	}
	list := []flow.ServerTool{
		{Name: "get_ticket", Description: "Reads a ticket.", Effect: flow.EffectRead, Schema: schema(map[string]any{"id": map[string]any{"type": "integer"}})},
		{Name: "add_note", Description: "Adds a note, public by default, to a ticket.", Effect: flow.EffectWrite, Schema: schema(map[string]any{"ticket": map[string]any{"type": "integer"}, "text": map[string]any{"type": "string"}})},
		{Name: "delete_ticket", Description: "Deletes a ticket.", Effect: flow.EffectWrite, Schema: schema(map[string]any{"id": map[string]any{"type": "integer"}})},
	}
	for i := range list {
		list[i].SHA256 = list[i].Hash()
	}
	return list
}

// Environment returns one credential, as if the variable were set where the server runs.
func (FakeProviders) Environment(ws flow.WorkspaceID) []flow.Credential {
	return []flow.Credential{{Name: "REPLICATE_API_TOKEN", Provider: "replicate"}}
}

// ProposeHosts uses the real rule on the stored flows.
func (f FakeProviders) ProposeHosts(ctx context.Context, ws flow.WorkspaceID) (map[string][]string, error) {
	return library.ProposeHosts(ctx, f.Store, ws, Kinds())
}

// CredentialUses uses the real rule; no model belongs to a provider here.
func (f FakeProviders) CredentialUses(ctx context.Context, ws flow.WorkspaceID) (map[string][]credentialuse.Use, error) {
	return credentialuse.New(f.Store, func(*flow.Node) string { return "" }).Find(ctx, ws)
}

// FakeCatalog knows the provider openai, which has a model for every query, and the hosted model
// acme/paint, which has every version.
type FakeCatalog struct{}

var errNoModel = flow.Errorf(flow.CodeNotFound, "There is no such model.")

func (FakeCatalog) ListProviders() []admin.Provider {
	return []admin.Provider{{Name: "openai", Title: "OpenAI", Environment: []string{"OPENAI_API_KEY"}, Can: []string{"chat"}}}
}

func (FakeCatalog) ListModels(_ context.Context, ws flow.WorkspaceID, provider, query string) ([]admin.Model, error) {
	if provider != "openai" {
		return nil, errNoModel
	}
	return []admin.Model{{Model: "openai/gpt-" + query, Owner: string(ws)}}, nil
}

func (FakeCatalog) ListHosted(_ context.Context, _ flow.WorkspaceID, query, category string) ([]admin.HostedModel, string, error) {
	return []admin.HostedModel{{Model: "acme/paint", Description: query, Category: category}}, "", nil
}

func (FakeCatalog) FindHosted(_ context.Context, _ flow.WorkspaceID, model string) (admin.HostedForm, error) {
	if name, version, _ := strings.Cut(model, ":"); name == "acme/paint" {
		return admin.HostedForm{Model: name, Version: version, Inputs: []admin.HostedInput{}, Outputs: []admin.HostedOutput{}, Node: map[string]any{}}, nil
	}
	return admin.HostedForm{}, errNoModel
}

func (FakeCatalog) CompareHosted(_ context.Context, _ flow.WorkspaceID, model, from, to string) (admin.HostedChanges, error) {
	if model != "acme/paint" {
		return admin.HostedChanges{}, errNoModel
	}
	return admin.HostedChanges{Model: model, Old: from, New: to, Changes: []admin.HostedChange{}}, nil
}

// FakePrices are the prices of models in tests: those of the provider "fake" cost $3 and $15 per million
// tokens.
type FakePrices struct{}

// FindPrice implements flow.PriceStore.
func (FakePrices) FindPrice(_ context.Context, _ flow.WorkspaceID, model string) (flow.Price, bool, error) {
	if !strings.HasPrefix(model, "fake/") {
		return flow.Price{}, false, nil
	}
	return flow.Price{Model: model, Input: 3_000_000_000, Output: 15_000_000_000}, true, nil
}

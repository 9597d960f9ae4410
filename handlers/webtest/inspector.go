package webtest

import (
	"context"
	"encoding/json"
	"strings"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/views/components"
)

// FakeModels stands in for the models of all providers.
type FakeModels struct{}

// ListModels returns one group for each place that a picker shows: local models that
// match the query, a provider whose credential is refused, and one that can be
// connected.
func (FakeModels) ListModels(_ context.Context, _ flow.WorkspaceID, task string, query string) []components.ModelGroup {
	var list []components.ModelChoice
	for _, id := range []string{"ollama/llama3.2", "ollama/qwen3"} {
		if strings.Contains(id, query) {
			list = append(list, components.ModelChoice{ID: id, Text: "for " + task, Price: "Free"})
		}
	}
	return []components.ModelGroup{
		{Name: "ollama", Title: "Ollama", Place: components.PlaceLocal, Models: list}, {Name: "groq", Title: "Groq", Place: components.PlaceConnected, Note: "The credential is refused."},
		{Name: "openai_compatible", Title: "OpenAI-compatible server", Place: components.PlaceOwn, Address: "https://models.example.com/v1"},
		{Name: "mistral", Title: "Mistral", Place: components.PlaceOffered, KeysURL: "https://console.mistral.ai/api-keys", Models: []components.ModelChoice{{ID: "mistral/known", Context: "128K", Price: "$1.00 / $2.00", Can: []string{"Vision"}}}},
	}
}

// PinModel pins any model to a version with one input, except two names: "acme/none"
// does not exist and "acme/locked" needs a credential. The configured inputs are kept.
func (FakeModels) PinModel(_ context.Context, _ flow.WorkspaceID, n *flow.Node, model string) (map[string]any, error) {
	switch model {
	case "acme/none":
		return nil, flow.Errorf(flow.CodeModelIncompatible, "There is no model acme/none.")
	case "acme/locked":
		return nil, flow.Errorf(flow.CodeProviderAuth, "That needs a credential.")
	}
	config := map[string]any{"model": model, "version": strings.Repeat("b", 64), "schema": map[string]any{"version": strings.Repeat("b", 64), "input": map[string]any{
		"type": "object", "properties": map[string]any{"steps": map[string]any{"type": "integer", "minimum": json.Number("1"), "maximum": json.Number("50")}}}}}
	for name, value := range n.Config {
		if strings.HasPrefix(name, "input.") {
			config[name] = value
		}
	}
	return config, nil
}

// UpgradeModel always reports a newer version with a breaking change.
func (FakeModels) UpgradeModel(_ context.Context, _ flow.WorkspaceID, n *flow.Node, _ []flow.Edge) (components.Upgrade, error) {
	return components.Upgrade{Name: flow.Text(n.Config["model"]), Changes: []components.UpgradeChange{{Sentence: "The input seed is gone.", Breaking: true}}}, nil
}

// Providers returns the options of the form for a new credential.
func (FakeModels) Providers() []components.Option {
	return []components.Option{{Value: "openai", Label: "OpenAI"}}
}

// NewCredential rejects only an empty secret. It does not check the provider or hosts.
func (FakeModels) NewCredential(ws flow.WorkspaceID, name, provider, secret string, hosts []string, _ bool) (flow.Credential, error) {
	if secret == "" {
		return flow.Credential{}, &flow.Error{Code: flow.CodeInputInvalid, Message: "no", Fields: []flow.Problem{{Pointer: "secret", Detail: "Paste the secret here."}}}
	}
	return flow.Credential{WorkspaceID: ws, Name: name, Provider: provider}, nil
}

// Draft returns the parsed draft of a flow in the store. Problems of parsing fail the test.
func (h *Env) Draft(id string) *flow.Document {
	h.T.Helper()
	f, err := h.Store.FindFlow(h.T.Context(), flow.DefaultWorkspace, flow.FlowID(id))
	if err != nil {
		h.T.Fatal(err)
	}
	d, problems := document.ParseDocument(f.Draft)
	if len(problems) > 0 {
		h.T.Fatal(problems)
	}
	return d
}

// Config returns a field of a node as JSON.
func (h *Env) Config(id, node, field string) string {
	h.T.Helper()
	return string(flow.EncodeJSON(h.Draft(id).Node(node).Config[field]))
}

// Workspace creates another workspace and returns its ID.
func (h *Env) Workspace() string {
	h.T.Helper()
	if err := h.Store.CreateWorkspace(h.T.Context(), flow.Workspace{ID: "ws_other", Name: "Other"}); err != nil {
		h.T.Fatal(err)
	}
	return "ws_other"
}

// Rev returns the revision of a flow's draft, which every edit increases.
func (h *Env) Rev(id string) int64 {
	h.T.Helper()
	f, err := h.Store.FindFlow(h.T.Context(), flow.DefaultWorkspace, flow.FlowID(id))
	if err != nil {
		h.T.Fatal(err)
	}
	return f.Rev
}

package nodes

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"sluice/flow"
	"sluice/flow/wording"
	"sluice/providers"
)

// failures maps classes of provider errors to codes of the API.
var failures = map[providers.ErrorClass]flow.Code{
	providers.ClassAuth:         flow.CodeProviderAuth,
	providers.ClassRateLimited:  flow.CodeProviderRateLimited,
	providers.ClassRejected:     flow.CodeProviderRejected,
	providers.ClassUnavailable:  flow.CodeProviderUnavailable,
	providers.ClassNotFound:     flow.CodeModelNotFound,
	providers.ClassIncompatible: flow.CodeModelIncompatible,
	providers.ClassBadAnswer:    flow.CodeOutputInvalid,
	providers.ClassTooLarge:     flow.CodeOutputInvalid,
	providers.ClassBlocked:      flow.CodeDestinationBlocked,
	providers.ClassBadRequest:   flow.CodeInputInvalid,
}

// failed converts an error of a model call. The message names the model, the credential if it
// was rejected, and the request ID, which the provider's support asks for.
func (m *target) failed(ctx context.Context, err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !ok:
		return err
	}
	out := flow.Errorf(cmp.Or(failures[e.Class], flow.CodeInternal), "%s Model: %s.", e.Message, m.ref)
	if e.Class == providers.ClassAuth && m.access.Name != "" {
		out.Message += " Credential: " + m.access.Name + "."
	}
	if e.RequestID != "" {
		out.Message += " Request ID: " + e.RequestID + "."
	}
	out.Retryable, out.After = e.Retryable, e.After
	return out
}

// addCredential returns the command that adds a credential.
func addCredential(provider string) string {
	return `"sluice credential add --name ` + provider + " --provider " + provider + `"`
}

// noAccess returns the error for a provider without a credential. It lists all ways to get
// access.
func noAccess(in *flow.In, p providers.Preset, t task) error {
	if p.BaseURL == "" {
		return noAddress(p)
	}
	message := "There is no credential for " + p.Title + ". Add one with " + addCredential(p.Name)
	if p.KeysURL != "" {
		message += " (create a key at " + p.KeysURL + ")"
	}
	if len(p.EnvVars) > 0 && in.WorkspaceID == flow.DefaultWorkspace { // other workspaces may not use keys from the environment
		message += ", or set " + p.EnvVars[0] + " and restart Sluice"
	}
	if t.name == taskChat.name {
		message += ", or use a model server on this machine, such as Ollama with ollama/llama3.2"
	}
	return flow.Errorf(flow.CodeProviderAuth, "%s.", message)
}

// noAddress returns the error for a provider without a fixed base URL that has no credential.
func noAddress(p providers.Preset) error {
	return flow.Errorf(flow.CodeProviderAuth, "There is no credential for an %s provider. Add one with its base URL: %s.", p.Title, addCredential(p.Name))
}

// noProvider returns the error for an unknown provider.
func noProvider(name string) error {
	return flow.Errorf(flow.CodeProviderAuth, "There is no provider and no credential named %q. Known providers are %s; add others as a credential with a base URL.",
		wording.Truncate(name, 80), strings.Join(providersFor(func(providers.Capabilities) bool { return true }), ", "))
}

// providersFor returns the names of the providers with a capability.
func providersFor(can func(providers.Capabilities) bool) []string {
	var names []string
	for _, p := range providers.Presets() {
		if p.Wire != providers.WireHost && p.Wire != providers.WireTools && can(p.Capabilities) {
			names = append(names, p.Name)
		}
	}
	return names
}

// lacksTask returns the error for a provider that lacks a task.
func lacksTask(p providers.Preset, t task) error {
	if p.Wire == providers.WireHost {
		return flow.Errorf(flow.CodeModelIncompatible, "Models of %s run in a Hosted model node. Use that, or choose a model such as %s.", p.Title, t.example)
	}
	return flow.Errorf(flow.CodeModelIncompatible, "%s cannot %s. Choose a model of one of these providers: %s.", p.Title, t.what, strings.Join(providersFor(t.can), ", "))
}

// notFound returns the error for a local server that is not running. It is retryable, because
// local servers are searched for every 30 seconds.
func notFound(p providers.Preset) error {
	where := "this machine"
	if u, err := url.Parse(p.BaseURL); err == nil {
		where = u.Host
	}
	e := flow.Errorf(flow.CodeProviderUnavailable, "%s was not found at %s. Start it on the machine that Sluice runs on, or add a credential with its base URL: %s.",
		p.Title, where, addCredential(p.Name))
	e.Retryable = true
	return e
}

// noModel returns the error for a node without a model when no local server has
// one.
func noModel(found []providers.LocalServer, t task) error {
	provider, _, _ := providers.ParseModel(t.example)
	message := "No model is chosen. Choose one such as " + t.example + " and add a credential for it with " + addCredential(provider)
	switch {
	case t.name != taskChat.name:
	case len(found) > 0:
		message = "No model is chosen, and " + found[0].Preset.Title + " on this machine has no chat model. Install one, for example with \"ollama pull llama3.2\", or choose a model such as " +
			t.example + " and add a credential for it with " + addCredential(provider)
	default:
		message = "No model is chosen, and no model server was found on this machine. Choose a model such as " + t.example + " and add a credential for it with " +
			addCredential(provider) + "; or start Ollama, run \"ollama pull llama3.2\" and leave the model empty"
	}
	return flow.Errorf(flow.CodeProviderAuth, "%s.", message)
}

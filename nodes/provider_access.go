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

// customPreset is the preset for any OpenAI-compatible server at a custom base URL.
const customPreset = "openai_compatible"

// open resolves the credential and the preset. provider is the name of a known provider or of
// a credential; t is only named in errors.
func (m *target) open(ctx context.Context, in *flow.In, provider string, t task) error {
	preset, known := providers.FindPreset(provider)
	access, err := findAccess(ctx, in, provider, known)
	switch {
	case errors.Is(err, flow.ErrNoAccess) && preset.Local:
		access = flow.Access{} // a server on this machine needs no credential
	case errors.Is(err, flow.ErrNoAccess):
		return noAccess(in, preset, t)
	case err != nil:
		return err
	}
	m.access = access
	m.preset, err = presetFor(provider, preset, access)
	return err
}

// findAccess opens the credential to use: the chosen one, or else the default
// for the provider.
func findAccess(ctx context.Context, in *flow.In, provider string, known bool) (flow.Access, error) {
	chosen := in.Config["credential"]
	name, isRef := flow.SecretRef(chosen)
	switch {
	case chosen != nil && chosen != "" && !isRef && known: // the secret itself, from an edge
		secret, err := in.Secret(ctx, chosen, "")
		return flow.Access{Provider: provider, Secret: secret}, err
	case known:
		return in.Access(ctx, provider, chosen)
	case isRef && name != provider:
		return flow.Access{}, flow.Errorf(flow.CodeInputInvalid, "The model is one of %q and the credential is %q. Write the model as %s/…, or leave the credential empty.",
			wording.Truncate(provider, 80), name, name)
	}
	access, err := in.Access(ctx, provider, chosen) // the chosen credential has that name
	if errors.Is(err, flow.ErrNoAccess) {
		return access, noProvider(provider)
	}
	return access, err
}

// presetFor returns the preset to call a provider with. A credential with a
// base URL may have a provider's name, such as that of a gateway. The secret of
// one provider is never sent to another.
func presetFor(provider string, named providers.Preset, access flow.Access) (providers.Preset, error) {
	kind := access.Provider
	if access.Plain() {
		kind = ""
	}
	if kind == "" && named.Name == "" && access.BaseURL != "" {
		kind = customPreset
	}
	if named.Name != "" && (kind == "" || kind == named.Name) {
		return named, nil
	}
	preset, ok := providers.FindPreset(kind)
	switch {
	case !ok:
		return preset, flow.Errorf(flow.CodeProviderAuth, "The credential %q has no provider that Sluice knows, so it cannot be used for a model. Add it again with a provider, such as %s with a base URL.",
			access.Name, customPreset)
	case named.Name != "" && preset.Name != customPreset:
		return preset, flow.Errorf(flow.CodeInputInvalid, "The credential %q is for %s, but the model is one of %s. Choose another credential, or write the model as %s/….",
			access.Name, preset.Title, named.Title, preset.Name)
	}
	return preset, nil
}

// locate sets the endpoint: the base URL of the credential, or else where a local server was
// found.
func (m *target) locate(local LocalServers) error {
	m.at = providers.Endpoint{Provider: m.preset.Name, BaseURL: m.access.BaseURL, Secret: m.access.Secret, Trusted: m.access.Trusted && m.access.BaseURL != ""}
	switch {
	case m.at.BaseURL != "":
	case m.preset.Local:
		server, ok := findServer(local, m.preset.Name)
		if !ok {
			return notFound(m.preset)
		}
		m.at.BaseURL, m.at.Trusted = server.BaseURL, true
	case m.preset.BaseURL == "" && m.access.Name == "":
		return noAddress(m.preset)
	case m.preset.BaseURL == "":
		return flow.Errorf(flow.CodeProviderAuth, "The credential %q has no base URL, so Sluice cannot call the provider. Add it again with one, such as https://example.com/v1.", m.access.Name)
	}
	return nil
}

// checkBinding rejects an endpoint that the credential is not bound to.
func (m *target) checkBinding() error {
	base := cmp.Or(m.at.BaseURL, m.preset.BaseURL)
	u, err := url.Parse(base)
	if err != nil {
		return flow.Errorf(flow.CodeInputInvalid, "The base URL of the credential %q cannot be read. Write it like https://example.com/v1.", m.access.Name)
	}
	if m.at.Secret != "" && !m.access.May(flow.HostPort(u)) {
		return m.access.Refusal(flow.HostPort(u))
	}
	return nil
}

// ProviderOf returns the provider whose credential a node uses by default, according to its
// typed model. It returns "" for a node without a model.
func ProviderOf(n *flow.Node) string {
	ref, _ := n.Config["model"].(string)
	switch provider, _, ok := providers.ParseModel(strings.TrimSpace(ref)); {
	case n.Kind == "hosted_model":
		return hostProvider
	case ok:
		return provider
	}
	return ""
}

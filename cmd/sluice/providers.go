package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice/db"
	"sluice/flow"
	"sluice/providers"
)

// providerCmd groups the commands for model providers.
type providerCmd struct {
	List   providerListCmd   `cmd:"" help:"List the known providers and what they support."`
	Models providerModelsCmd `cmd:"" help:"List the models of a provider."`
}

// providerListCmd lists the providers that Sluice knows, with the environment
// variables that it reads for each.
type providerListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// Run lists the presets.
func (c providerListCmd) Run(_ context.Context, _ *Config, s *streams) error {
	object := func(p *providers.Preset) map[string]any {
		return map[string]any{"name": p.Name, "title": p.Title, "base_url": p.BaseURL, "environment": p.EnvVars, "keys_url": p.KeysURL, "local": p.Local, "can": abilities(*p)}
	}
	return printList(s.out, c.JSON, providers.Presets(), object, "NAME\tTITLE\tENVIRONMENT\tCAN", func(p *providers.Preset) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", p.Name, p.Title, orDash(strings.Join(p.EnvVars, ", ")), strings.Join(abilities(*p), ", "))
	})
}

// abilities returns the node kinds that work with a provider. The dashboard uses the same
// list to offer only models that fit a node.
func abilities(p providers.Preset) []string {
	var list []string
	for _, a := range []struct {
		kind string
		can  bool
	}{
		{"chat", p.Chat}, {"embed", p.Embed}, {"image", p.Image}, {"speech", p.Speech}, {"transcribe", p.Transcribe},
		{"hosted_model", p.Wire == providers.WireHost},
	} {
		if a.can {
			list = append(list, a.kind)
		}
	}
	return list
}

// providerModelsCmd asks a provider for its models.
type providerModelsCmd struct {
	Provider string   `arg:"" help:"A provider, or the name of a credential with its own base URL."`
	Query    []string `arg:"" optional:"" help:"Words that the names must contain."`
	JSON     bool     `help:"Print as JSON."`
}

// Run prints model references as nodes take them: provider/model.
func (c providerModelsCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	models, err := newUpstreams(ctx, cfg)
	if err != nil {
		return err
	}
	defer models.client.Close()
	list, err := models.list(ctx, store, c.Provider)
	if err != nil {
		return err
	}
	found := providers.Search(list, strings.Join(c.Query, " "))
	object := func(m *providers.Model) map[string]any {
		return map[string]any{"model": c.Provider + "/" + m.ID, "title": m.Title, "owner": m.Owner}
	}
	return printList(s.out, c.JSON, found, object, "", func(m *providers.Model) string { return c.Provider + "/" + m.ID })
}

// list asks a provider for its models, with a credential if one exists. The errors explain
// what is missing, because this is often the first command that a new user tries.
func (u *upstreams) list(ctx context.Context, store flow.CredentialStore, provider string) ([]providers.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	p, known := providers.FindPreset(provider)
	a, err := u.resolver(store).Access(ctx, flow.DefaultWorkspace, provider, nil)
	switch {
	case errors.Is(err, flow.ErrNoAccess) && !known:
		return nil, fmt.Errorf("there is no provider %q and no credential of that name; 'sluice provider list' lists them", provider)
	case errors.Is(err, flow.ErrNoAccess) && p.Local:
		a = flow.Access{Provider: p.Name, BaseURL: p.BaseURL, Trusted: true}
		err = u.reach.trust(ctx, p.BaseURL)
	case errors.Is(err, flow.ErrNoAccess) && p.BaseURL == "":
		return nil, fmt.Errorf("%s stands for any server; name the credential that has its base URL", p.Title)
	case errors.Is(err, flow.ErrNoAccess):
		return nil, fmt.Errorf("there is no credential for %s; add one with 'sluice credential add --name %s --provider %s'", p.Title, p.Name, p.Name)
	}
	if err != nil {
		return nil, err
	}
	if p.Wire == providers.WireHost {
		return nil, fmt.Errorf("'sluice model list' lists the models of %s", p.Title)
	}
	at, _ := u.preset(a.Provider) // a credential may have a name of its own
	if err := admit(a, at); err != nil {
		return nil, err
	}
	return u.providers.Models(ctx, providers.Endpoint{Provider: a.Provider, BaseURL: a.BaseURL, Secret: a.Secret, Trusted: a.Trusted})
}

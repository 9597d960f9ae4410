package main

import (
	"context"
	"fmt"
	"strings"

	"sluice/cmd/sluice/catalog"
	"sluice/db"
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
		return map[string]any{"name": p.Name, "title": p.Title, "base_url": p.BaseURL, "environment": p.EnvVars, "keys_url": p.KeysURL, "local": p.Local, "can": catalog.Abilities(*p)}
	}
	return printList(s.out, c.JSON, providers.Presets(), object, "NAME\tTITLE\tENVIRONMENT\tCAN", func(p *providers.Preset) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", p.Name, p.Title, orDash(strings.Join(p.EnvVars, ", ")), strings.Join(catalog.Abilities(*p), ", "))
	})
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
	defer models.HTTP.Close()
	list, err := models.List(ctx, store, c.Provider)
	if err != nil {
		return err
	}
	found := providers.Search(list, strings.Join(c.Query, " "))
	object := func(m *providers.Model) map[string]any {
		return map[string]any{"model": c.Provider + "/" + m.ID, "title": m.Title, "owner": m.Owner}
	}
	return printList(s.out, c.JSON, found, object, "", func(m *providers.Model) string { return c.Provider + "/" + m.ID })
}

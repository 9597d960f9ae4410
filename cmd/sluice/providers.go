package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"sluice/cmd/sluice/catalog"
	"sluice/cmd/sluice/client"
	"sluice/db"
	"sluice/handlers/admin"
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
	return c.print(s.Out, catalog.ListProviders())
}

// RunAPI lists the providers that the server knows, which can differ from those of this
// program if the versions differ.
func (c providerListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[admin.ProviderList](ctx, api, "GET", "/v1/providers", nil)
	if err != nil {
		return err
	}
	return c.print(s.Out, list.Providers)
}

// print prints the providers with the environment variables that can hold their secrets.
func (c providerListCmd) print(out io.Writer, list []admin.Provider) error {
	return printList(out, c.JSON, list, identity, "NAME\tTITLE\tENVIRONMENT\tCAN", func(p *admin.Provider) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", p.Name, p.Title, orDash(strings.Join(p.Environment, ", ")), strings.Join(p.Can, ", "))
	})
}

// providerModelsCmd asks a provider for its models.
type providerModelsCmd struct {
	Provider string   `arg:"" help:"A provider, or the name of a credential with its own base URL."`
	Query    []string `arg:"" optional:"" help:"Words that the names must contain."`
	JSON     bool     `help:"Print as JSON."`
}

// RunOn prints model references in the form that nodes use: provider/model.
func (c providerModelsCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	models, err := newUpstreams(ctx, cfg)
	if err != nil {
		return err
	}
	defer models.HTTP.Close()
	list, err := catalog.NewDirectory(models, nil, store, nil).ListModels(ctx, cfg.workspace(), c.Provider, strings.Join(c.Query, " "))
	if err != nil {
		return err
	}
	return c.print(s.Out, list)
}

// RunAPI has the server request the list with the credential that a run would use.
func (c providerModelsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	query := url.Values{"query": {strings.Join(c.Query, " ")}}
	list, err := fetch[admin.ModelList](ctx, api, "GET", "/v1/providers/"+url.PathEscape(c.Provider)+"/models?"+query.Encode(), nil)
	if err != nil {
		return notFound(err, fmt.Sprintf("there is no provider %q and no credential of that name; 'sluice provider list' lists them", c.Provider))
	}
	return c.print(s.Out, list.Models)
}

// print prints one model reference per line, for use in shell scripts.
func (c providerModelsCmd) print(out io.Writer, list []admin.Model) error {
	return printList(out, c.JSON, list, identity, "", func(m *admin.Model) string { return m.Model })
}

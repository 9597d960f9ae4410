package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"sluice/cmd/sluice/client"
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
	withoutDatabase
	JSON bool `help:"Print as JSON."`
}

// RunAPI lists the providers that the server knows, with the environment variables that can hold their
// secrets.
func (c providerListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[admin.ProviderList](ctx, api, "GET", "/v1/providers", nil)
	if err != nil {
		return err
	}
	return printList(s.Out, c.JSON, list.Providers, "NAME\tTITLE\tENVIRONMENT\tCAN", func(p *admin.Provider) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s", p.Name, p.Title, orDash(strings.Join(p.Environment, ", ")), strings.Join(p.Can, ", "))
	})
}

// providerModelsCmd asks a provider for its models.
type providerModelsCmd struct {
	Provider string   `arg:"" help:"A provider, or the name of a credential with its own base URL."`
	Query    []string `arg:"" optional:"" help:"Words that the names must contain."`
	JSON     bool     `help:"Print as JSON."`
}

// RunAPI prints one model reference per line in the form that nodes use, provider/model. The server
// requests the list with the credential that a run would use.
func (c providerModelsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	query := url.Values{"query": {strings.Join(c.Query, " ")}}
	list, err := fetch[admin.ModelList](ctx, api, "GET", "/v1/providers/"+url.PathEscape(c.Provider)+"/models?"+query.Encode(), nil)
	if err != nil {
		return notFound(err, fmt.Sprintf("there is no provider %q and no credential of that name; 'sluice provider list' lists them", c.Provider))
	}
	return printList(s.Out, c.JSON, list.Models, "", func(m *admin.Model) string { return m.Model })
}

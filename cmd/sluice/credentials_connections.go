package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/handlers/admin"
)

// credentialConnectionsCmd lists the connections of MCP servers.
type credentialConnectionsCmd struct {
	Name string `arg:"" optional:"" help:"Name of one credential."`
	JSON bool   `help:"Print as JSON."`
}

// connectionLine is the JSON of a credential with a connection.
type connectionLine struct {
	Credential string `json:"credential"`
	*admin.Connection
}

// RunAPI prints the connections. The name of a person is not known over the API, so that the ID is printed.
func (c credentialConnectionsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	lines, err := c.lines(ctx, api)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, lines)
	}
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tSIGNED IN AT\tBY\tSINCE")
	for _, l := range lines {
		since := "-"
		if l.ConnectedAt != nil {
			since = shortTime(time.Time(*l.ConnectedAt))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.Credential, l.State, orDash(l.Issuer), orDash(l.ConnectedBy), since)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, l := range lines {
		if l.Reason != "" {
			fmt.Fprintf(s.Err, "%s: %s Connect again at %s\n", l.Credential, l.Reason, l.URL)
		}
	}
	return nil
}

// lines reads the connections.
func (c credentialConnectionsCmd) lines(ctx context.Context, api *client.Client) ([]connectionLine, error) {
	lines := []connectionLine{}
	if c.Name == "" {
		list, err := fetch[admin.CredentialList](ctx, api, "GET", "/v1/credentials", nil)
		for i := range list.Credentials {
			if k := &list.Credentials[i]; k.Connection != nil {
				lines = append(lines, connectionLine{k.Name, k.Connection})
			}
		}
		return lines, err
	}
	k, err := fetch[admin.Credential](ctx, api, "GET", credentialPath(c.Name), nil)
	if err != nil {
		return nil, noSuchCredential(err, c.Name)
	}
	if k.Connection == nil {
		return nil, fmt.Errorf("%s is not an MCP server; only these are connected by signing in", k.Name)
	}
	return append(lines, connectionLine{k.Name, k.Connection}), nil
}

// credentialDisconnectCmd ends a connection.
type credentialDisconnectCmd struct {
	Name string `arg:"" help:"Name of the credential of the server."`
}

// RunAPI disconnects a server.
func (c credentialDisconnectCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	k, err := fetch[admin.Credential](ctx, api, "DELETE", credentialPath(c.Name)+"/connection", nil)
	if err != nil {
		return noSuchCredential(err, c.Name)
	}
	_, err = fmt.Fprintf(s.Out, "%s is not connected. A person can connect it at %s\n", k.Name, k.Connection.URL)
	return err
}

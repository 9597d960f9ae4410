package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"sluice/cmd/sluice/client"
	"sluice/flow"
	"sluice/handlers/admin"
)

// This file has the commands for credentials over HTTP. The API never returns a secret and
// requires hosts for each, so that the holder of a key cannot have a stored secret sent to
// another host.

// credentialPath returns the path of a credential in the API.
func credentialPath(name string) string { return "/v1/credentials/" + url.PathEscape(name) }

// RunAPI stores a credential over HTTP. Replacing a credential keeps its limits.
func (c credentialAddCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if c.AnyHost {
		return usageError("over HTTP, a secret must be bound to hosts, because anyone with the key could otherwise have it sent to any host; give --host, or run this on the server's machine")
	}
	if c.Provider != "" && len(c.Host) > 0 {
		return usageError("over HTTP, a secret for a provider is bound to the provider's address; leave out --host")
	}
	k, err := c.credential()
	if err != nil {
		return err
	}
	secret, err := c.secret(s)
	if err != nil {
		return err
	}
	verb, body := "replaced", map[string]any{"secret": secret}
	was, err := fetch[admin.Credential](ctx, api, "GET", credentialPath(c.Name), nil)
	if flow.IsNotFound(err) {
		verb, err = "stored", nil
	}
	if err != nil {
		return err
	}
	body["max_calls"], body["calls_per_minute"] = was.MaxCalls, was.PerMinute
	if body["provider"] = k.Provider; k.Provider == "" {
		body["hosts"] = k.Hosts
	}
	if k.BaseURL != "" {
		body["base_url"] = k.BaseURL
	}
	now, err := fetch[admin.Credential](ctx, api, "PUT", credentialPath(c.Name), body)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s is %s%s.\n", now.Name, verb, allowedHosts(now.Hosts))
	return err
}

// RunAPI refuses: the API changes hosts only together with the secret.
func (c credentialHostsCmd) RunAPI(context.Context, *client.Client, *streams) error {
	return usageError(fmt.Sprintf("over HTTP, hosts change only together with the secret, so that a key cannot have a stored secret sent elsewhere; use 'sluice credential add --name %s --host HOST', or run this on the machine of the server", c.Name))
}

// RunAPI sets the limits that have flags, or shows the limits if there are no flags.
func (c credentialLimitsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if err := c.apply(&flow.CallLimits{}); err != nil {
		return err
	}
	body := map[string]any{}
	for name, n := range map[string]*int64{"max_calls": c.AtOnce, "calls_per_minute": c.PerMinute} {
		if n != nil {
			body[name] = *n
		}
	}
	method, sent := "GET", any(nil)
	if len(body) > 0 {
		method, sent = "PATCH", body
	}
	k, err := fetch[admin.Credential](ctx, api, method, credentialPath(c.Name), sent)
	if err != nil {
		return noSuchCredential(err, c.Name)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s.\n", k.Name, flow.CallLimits{AtOnce: k.MaxCalls, PerMinute: k.PerMinute})
	return err
}

// RunAPI has the server test a stored credential. A credential that the provider rejects
// is an error, so that the exit code reports it.
func (c credentialTestCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	result, err := fetch[admin.CredentialTest](ctx, api, "POST", credentialPath(c.Name)+"/test", nil)
	if err != nil {
		return noSuchCredential(err, c.Name)
	}
	if !result.Accepted {
		return errors.New(uncapitalized(result.Message))
	}
	_, err = fmt.Fprintln(s.Out, result.Message)
	return err
}

// RunAPI lists the stored credentials. Secrets in the environment of the server belong to
// the operator and are not listed.
func (c credentialListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[admin.CredentialList](ctx, api, "GET", "/v1/credentials", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, list.Credentials)
	}
	return printCredentials(s, list.Credentials, nil, nil)
}

// RunAPI removes a credential. One that flows use is removed only with --force.
func (c credentialRemoveCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[admin.CredentialList](ctx, api, "GET", "/v1/credentials", nil)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list.Credentials, func(k admin.Credential) bool { return k.Name == c.Name })
	if i >= 0 {
		if err := c.checkUnused(list.Credentials[i].UsedBy); err != nil {
			return err
		}
	}
	if _, err := api.Call(ctx, "DELETE", credentialPath(c.Name), nil); err != nil {
		return noSuchCredential(err, c.Name)
	}
	_, err = fmt.Fprintf(s.Out, "%s is removed.\n", c.Name)
	return err
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/upstream"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/flow/wording"
	"sluice/handlers/admin"
	"sluice/providers"
)

// credentialCmd groups the commands for credentials: named secrets that flows refer
// to. A credential is sent only to the address of its provider or, if it is a plain
// secret, to a list of hosts.
type credentialCmd struct {
	Add    credentialAddCmd    `cmd:"" help:"Store a secret that flows use; it is read from standard input."`
	Hosts  credentialHostsCmd  `cmd:"" help:"Set the hosts that a credential may be sent to."`
	Limits credentialLimitsCmd `cmd:"" help:"Limit the calls of model nodes with a credential; without flags, show the limits."`
	Test   credentialTestCmd   `cmd:"" help:"Check with the provider that it accepts the secret."`
	Tools  credentialToolsCmd  `cmd:"" help:"List the tools of an MCP server, and what has changed since they were allowed."`
	List   credentialListCmd   `cmd:"" help:"List credentials and the flows that use them, without the secrets."`
	Remove credentialRemoveCmd `cmd:"" help:"Remove a credential."`

	Connections credentialConnectionsCmd `cmd:"" help:"List the MCP servers, who signed in to them, and where to connect again."`
	Disconnect  credentialDisconnectCmd  `cmd:"" help:"End the sign-in of a person to an MCP server."`
}

// credentialAddCmd stores a secret. The secret comes from standard input and never
// from a flag, because other users of a machine can see the arguments of a process
// and shells keep them in their history.
type credentialAddCmd struct {
	Name     string    `required:"" help:"Name that flows use, such as openai."`
	Provider string    `help:"Provider this secret is for: openai, anthropic, replicate … 'sluice provider list' lists them. Without it, a plain secret for other services." placeholder:"P"`
	BaseURL  string    `name:"base-url" help:"Base URL of the provider, if it is not the default one." placeholder:"URL"`
	Host     []string  `sep:"none" help:"A host that the secret may be sent to, such as api.example.com, api.example.com:8443 or *.example.com; repeat for several. Required for a plain secret, known for every provider." placeholder:"HOST"`
	Body     bodyFlags `body:"SetCredential" names:"secret=-,provider=-,base_url=-,hosts=-"`
	AnyHost  bool      `help:"Let a plain secret be sent to any host. Anyone who can run a flow whose URL is an input could then have it sent to themselves."`
}

// RunAPI stores a credential. Replacing a credential keeps its limits. The API never returns a secret
// and requires hosts for each, so that the holder of a key cannot have a stored secret sent to another
// host; the operator may do without.
func (c credentialAddCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if err := c.check(); err != nil {
		return err
	}
	secret, err := c.secret(s)
	if err != nil {
		return err
	}
	verb, body := "replaced", map[string]any{"secret": secret}
	given, err := c.Body.values()
	if err != nil {
		return err
	}
	was, err := fetch[admin.Credential](ctx, api, "GET", credentialPath(c.Name), nil)
	if flow.IsNotFound(err) {
		verb, err = "stored", nil
	}
	if err != nil {
		return err
	}
	body["max_calls"], body["calls_per_minute"] = was.MaxCalls, was.PerMinute
	maps.Copy(body, given)
	for name, text := range map[string]string{"provider": c.Provider, "base_url": c.BaseURL} {
		if text != "" {
			body[name] = text
		}
	}
	if len(c.Host) > 0 {
		body["hosts"] = c.Host
	}
	now, err := fetch[admin.Credential](ctx, api, "PUT", credentialPath(c.Name), body)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s is %s%s.\n", now.Name, verb, allowedHosts(now.Hosts))
	return err
}

// overHTTP refuses what only the operator may do.
func (c credentialAddCmd) overHTTP() error {
	switch {
	case c.AnyHost:
		return usageError("over HTTP, a secret must be bound to hosts, because anyone with the key could otherwise have it sent to any host; give --host, or run this on the server's machine")
	case c.Provider != "" && len(c.Host) > 0:
		return usageError("over HTTP, a secret for a provider is bound to the provider's address; leave out --host")
	}
	return nil
}

// credentialPath returns the path of a credential in the API.
func credentialPath(name string) string { return "/v1/credentials/" + url.PathEscape(name) }

// allowedHosts completes a message with the hosts that a credential may be sent to.
func allowedHosts(hosts []string) string {
	if len(hosts) == 0 {
		return "; it can be sent anywhere, use 'sluice credential hosts' to bind it"
	}
	return " and may be sent to " + strings.Join(hosts, ", ")
}

// check returns a usage error for flags that describe no valid credential. The server checks the rest.
func (c credentialAddCmd) check() error {
	p, known := providers.FindPreset(c.Provider)
	other, taken := providers.FindPreset(c.Name)
	switch {
	case !library.ValidCredentialName(c.Name):
		return usageError(fmt.Sprintf("%q is not a valid credential name; use up to 64 letters, digits, _, . and -", c.Name))
	case taken && c.Name != c.Provider:
		return usageError(fmt.Sprintf("%s is the name of a provider, so a credential of that name is for it; choose another name, or --provider %s", other.Name, other.Name))
	case p.Local && c.BaseURL == "":
		return usageError(fmt.Sprintf("%s on this machine needs no credential; for a server on another machine add --base-url, such as http://gpu-1:8000/v1", p.Title))
	case c.Provider != "" && !known:
		return usageError(fmt.Sprintf("there is no provider %q; 'sluice provider list' lists them; for any other server with OpenAI's API use openai_compatible with --base-url", c.Provider))
	case p.Wire == providers.WireHost && c.BaseURL != "":
		return usageError(fmt.Sprintf("%s has a fixed address; leave out --base-url", p.Title))
	case known && p.BaseURL == "" && c.BaseURL == "":
		return usageError(fmt.Sprintf("%s needs --base-url, such as https://models.example.com/v1", p.Title))
	case c.Provider == "" && c.BaseURL != "":
		return usageError("--base-url is the address of a provider; give --provider, or --host for a plain secret")
	}
	if c.BaseURL != "" {
		if _, err := upstream.BaseURL(c.BaseURL); err != nil {
			return usageError(err.Error())
		}
	}
	return checkHosts(c.Host, c.AnyHost || c.Provider != "" && len(c.Host) == 0)
}

// checkHosts returns an error unless a secret is either bound to valid hosts or allowed to go to any
// host.
func checkHosts(texts []string, anyHost bool) error {
	hosts, err := flow.ParseHosts(texts)
	switch {
	case err != nil:
		return usageError("--host " + err.Error())
	case len(hosts) > 0 && anyHost:
		return usageError("--host and --any-host cannot be used together; choose one")
	case len(hosts) == 0 && !anyHost:
		return usageError("the hosts are missing; give --host api.example.com, repeated for several hosts, or --any-host to let the secret be sent anywhere")
	}
	return nil
}

// credentialHostsCmd changes the hosts that a plain credential may be sent to, for example
// of a credential that was stored before hosts were required.
type credentialHostsCmd struct {
	Name    string   `arg:"" help:"Name of the credential."`
	Host    []string `sep:"none" help:"A host that the secret may be sent to, such as api.example.com, api.example.com:8443 or *.example.com; repeat for several. Replaces the current hosts." placeholder:"HOST"`
	AnyHost bool     `help:"Let it be sent to any host."`
}

// RunAPI sets the hosts of a plain credential. The hosts of a credential for a provider follow from
// its base URL.
func (c credentialHostsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	if err := checkHosts(c.Host, c.AnyHost); err != nil {
		return err
	}
	k, err := fetch[admin.Credential](ctx, api, "PUT", "/v1/local/credentials/"+url.PathEscape(c.Name)+"/hosts", map[string]any{"hosts": append([]string{}, c.Host...)})
	if err != nil {
		return noSuchCredential(err, c.Name)
	}
	_, err = fmt.Fprintf(s.Out, "Changed %s%s.\n", k.Name, allowedHosts(k.Hosts))
	return err
}

// overHTTP refuses: the API changes hosts only together with the secret.
func (c credentialHostsCmd) overHTTP() error {
	return usageError(fmt.Sprintf("over HTTP, hosts change only together with the secret, so that a key cannot have a stored secret sent elsewhere; use 'sluice credential add --name %s --host HOST', or run this on the machine of the server", c.Name))
}

// credentialLimitsCmd sets how many calls model nodes make with a credential.
type credentialLimitsCmd struct {
	Name string    `arg:"" help:"Name of the credential."`
	Body bodyFlags `body:"LimitCredential" names:"max_calls=at-once,calls_per_minute=per-minute"`
}

// RunAPI sets the limits that have flags, or shows the limits if there are no flags.
func (c credentialLimitsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	method, sent := "GET", any(nil)
	if len(body) > 0 {
		method, sent = "PATCH", body
	}
	k, err := fetch[admin.Credential](ctx, api, method, credentialPath(c.Name), sent)
	if err != nil {
		return noSuchCredential(c.Body.explain(err), c.Name)
	}
	_, err = fmt.Fprintf(s.Out, "%s: %s.\n", k.Name, flow.CallLimits{AtOnce: k.MaxCalls, PerMinute: k.PerMinute})
	return err
}

// secret reads and checks the secret. It may be empty only for servers that may work
// without authentication, such as local ones.
func (c credentialAddCmd) secret(s *streams) (string, error) {
	text, err := readSecret(s)
	if err != nil {
		return "", err
	}
	p, _ := providers.FindPreset(c.Provider)
	optional := p.Local || c.Provider == "openai_compatible" || c.Provider == flow.ProviderMCP
	if text == "" && !optional {
		return "", usageError("there is no secret on standard input; pipe it in, as in 'sluice credential add … < key.txt'")
	}
	if problem := library.CheckSecret(text); text != "" && problem != "" {
		return "", usageError(uncapitalized(problem))
	}
	return text, nil
}

// readSecret reads one secret from standard input. On a terminal it prompts and
// does not echo what is typed.
func readSecret(s *streams) (string, error) {
	if f, ok := s.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(s.Err, "Secret: ")
		text, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.Err)
		return strings.TrimSpace(string(text)), err
	}
	text, err := bufio.NewReader(io.LimitReader(s.In, library.MaxSecretBytes+2)).ReadString(0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the secret: %w", err)
	}
	return strings.TrimSpace(text), nil
}

// credentialTestCmd sends the secret to its provider in a request that costs
// nothing, such as the list of models.
type credentialTestCmd struct {
	Name string `arg:"" help:"Name of the credential, or of a provider whose secret is in the environment."`
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

// credentialToolsCmd lists the tools of an MCP server.
type credentialToolsCmd struct {
	Name string   `arg:"" help:"Name of the credential of the server."`
	Tool []string `sep:"none" help:"Print only this tool; repeat for several." placeholder:"TOOL"`
	JSON bool     `help:"Print the definitions as JSON, as a node stores them in tools."`
}

// RunAPI prints the tools, and those of nodes that have changed. A changed tool is an error, so that the exit
// code reports it.
func (c credentialToolsCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	check, err := fetch[admin.ToolCheck](ctx, api, "POST", credentialPath(c.Name)+"/tools/check", nil)
	if err != nil {
		return noSuchCredential(err, c.Name)
	}
	for _, name := range c.Tool {
		if !slices.ContainsFunc(check.Tools, func(t admin.ServerTool) bool { return t.Name == name }) {
			return fmt.Errorf("%s has no tool %q", c.Name, name)
		}
	}
	if len(c.Tool) > 0 {
		check.Tools = slices.DeleteFunc(check.Tools, func(t admin.ServerTool) bool { return !slices.Contains(c.Tool, t.Name) })
	}
	if c.JSON {
		return printJSON(s.Out, check.Tools)
	}
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "TOOL\tEFFECT\tDESCRIPTION")
	for _, t := range check.Tools {
		fmt.Fprintf(w, "%s\t%s\t%s\n", t.Name, t.Effect, wording.Truncate(wording.OneLine(t.Description), 80))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	changed := 0
	for _, u := range check.Uses {
		for _, t := range u.Tools {
			if t.State != flow.ToolSame {
				changed++
				fmt.Fprintf(s.Err, "%s, node %s: %s is %s\n", u.Flow, u.Node, t.Name, t.State)
			}
		}
	}
	if changed > 0 {
		return fmt.Errorf("%s of nodes differ from the server; accept the changes in the builder", count(int64(changed), "tool", "tools"))
	}
	return nil
}

// credentialListCmd lists credentials without their secrets. It also tries to decrypt
// each secret, since that fails if the master key was replaced.
type credentialListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// RunAPI lists the stored credentials, for the operator also those from the environment.
func (c credentialListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, err := fetch[admin.OperatorCredentials](ctx, api, "GET", "/v1/credentials", nil)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.Out, list.Credentials)
	}
	return printCredentials(s, list)
}

// printCredentials prints a table of credentials. It warns on standard error of credentials that
// cannot be decrypted or may be sent to any host.
func printCredentials(s *streams, list admin.OperatorCredentials) error {
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPROVIDER\tHOSTS\tCHANGED\tUSED BY")
	for _, k := range list.Credentials {
		hosts := orDash(strings.Join(k.Hosts, ","))
		if k.Unbound {
			hosts = "any"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Name, orDash(k.Provider), hosts, shortTime(time.Time(k.UpdatedAt)), usedBy(&k))
	}
	for _, k := range list.Environment {
		fmt.Fprintf(w, "%s\t%s\t%s\tenvironment\t-\n", k.Name, k.Provider, orDash(strings.Join(k.Hosts, ",")))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, k := range list.Credentials {
		if !k.Readable {
			fmt.Fprintf(s.Err, "%s\n", flow.SealedError(k.Name).Message)
		}
		if k.Unbound {
			hosts := list.ProposedHosts[k.Name]
			if len(hosts) == 0 {
				hosts = []string{"HOST"}
			}
			fmt.Fprintf(s.Err, "%s: credential can be sent anywhere. Bind it with: sluice credential hosts %s --host %s\n", k.Name, k.Name, strings.Join(hosts, " --host "))
		}
	}
	return nil
}

// orDash returns "-" for an empty text, because an empty cell looks like a missing column.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// usedBy returns the names of the flows without duplicates, since several nodes of a flow
// may use one credential. The API names the first nodes only.
func usedBy(k *admin.Credential) string {
	var flows []string
	for _, u := range k.UsedBy {
		if !slices.Contains(flows, u.Flow) {
			flows = append(flows, u.Flow)
		}
	}
	if more := k.Uses - len(k.UsedBy); more > 0 {
		flows = append(flows, fmt.Sprintf("%d more", more))
	}
	return orDash(strings.Join(flows, ", "))
}

// credentialRemoveCmd removes a credential. It cannot be undone, since the secret is
// not stored anywhere else.
type credentialRemoveCmd struct {
	Name  string `arg:"" help:"Name of the credential."`
	Force bool   `help:"Remove it even if flows use it."`
}

// RunAPI removes a credential. One that flows use is removed only with --force.
func (c credentialRemoveCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	k, err := fetch[admin.Credential](ctx, api, "GET", credentialPath(c.Name), nil)
	if err != nil {
		return noSuchCredential(err, c.Name)
	}
	if len(k.UsedBy) > 0 && !c.Force {
		return fmt.Errorf("%s is used by %s; change these flows first, or remove it with --force", c.Name, usedBy(&k))
	}
	if _, err := api.Call(ctx, "DELETE", credentialPath(c.Name), nil); err != nil {
		return noSuchCredential(err, c.Name)
	}
	_, err = fmt.Fprintf(s.Out, "%s is removed.\n", c.Name)
	return err
}

// noSuchCredential rewords err if it means that the credential does not exist.
func noSuchCredential(err error, name string) error {
	return notFound(err, "there is no credential "+name+"; 'sluice credential list' lists them")
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"sluice/cmd/sluice/upstream"
	"sluice/db"
	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/admin"
	"sluice/nodes"
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
	List   credentialListCmd   `cmd:"" help:"List credentials and the flows that use them, without the secrets."`
	Remove credentialRemoveCmd `cmd:"" help:"Remove a credential."`
}

// credentialAddCmd stores a secret. The secret comes from standard input and never
// from a flag, because other users of a machine can see the arguments of a process
// and shells keep them in their history.
type credentialAddCmd struct {
	Name     string   `required:"" help:"Name that flows use, such as openai."`
	Provider string   `help:"Provider this secret is for: openai, anthropic, replicate … 'sluice provider list' lists them. Without it, a plain secret for other services." placeholder:"P"`
	BaseURL  string   `name:"base-url" help:"Base URL of the provider, if it is not the default one." placeholder:"URL"`
	Host     []string `sep:"none" help:"A host that the secret may be sent to, such as api.example.com, api.example.com:8443 or *.example.com; repeat for several. Required for a plain secret, known for every provider." placeholder:"HOST"`
	AnyHost  bool     `help:"Let a plain secret be sent to any host. Anyone who can run a flow whose URL is an input could then have it sent to themselves."`
}

// Run stores a credential and replaces an existing one of the same name.
func (c credentialAddCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	created, err := c.credential()
	if err != nil {
		return err
	}
	secret, err := c.secret(s)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	created.WorkspaceID = cfg.workspace()
	if err := checkOpenFlows(ctx, store, created); err != nil {
		return err
	}
	_, err = store.FindCredential(ctx, created.WorkspaceID, created.Name)
	verb := "stored"
	if err == nil {
		verb = "replaced"
	}
	if err := store.SaveCredential(ctx, *created, secret); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s is %s%s.\n", created.Name, verb, allowedHosts(created.Hosts))
	return store.Audit(ctx, created.WorkspaceID, "cli", "credential.save", created.Name, created.Provider)
}

// checkOpenFlows rejects a credential without hosts if a published flow sends it to a host
// that the caller chooses: any caller could then read the secret.
func checkOpenFlows(ctx context.Context, store *db.Store, c *flow.Credential) error {
	if !c.Unbound() {
		return nil
	}
	return library.CheckAnyHost(ctx, store, c.WorkspaceID, c.Name, nodes.New(nodes.Deps{}))
}

// allowedHosts completes a message with the hosts that a credential may be sent to.
func allowedHosts(hosts []string) string {
	if len(hosts) == 0 {
		return "; it can be sent anywhere, use 'sluice credential hosts' to bind it"
	}
	return " and may be sent to " + strings.Join(hosts, ", ")
}

// credential returns the credential that the flags describe, with the hosts that it
// may be sent to.
func (c credentialAddCmd) credential() (*flow.Credential, error) {
	if !library.ValidCredentialName(c.Name) {
		return nil, usageError(fmt.Sprintf("%q is not a valid credential name; use up to 64 letters, digits, _, . and -", c.Name))
	}
	k := &flow.Credential{
		Name: c.Name, Provider: c.Provider,
		BaseURL: strings.TrimRight(c.BaseURL, "/"), Trusted: c.BaseURL != "", Overlap: flow.SigningOverlap,
	}
	p, known := providers.FindPreset(c.Provider)
	var err error
	if k.Hosts, err = flow.ParseHosts(c.Host); err != nil {
		return nil, usageError("--host " + err.Error())
	}
	if other, taken := providers.FindPreset(c.Name); taken && c.Name != c.Provider {
		return nil, usageError(fmt.Sprintf("%s is the name of a provider, so a credential of that name is for it; choose another name, or --provider %s", other.Name, other.Name))
	}
	switch {
	case p.Local && c.BaseURL == "":
		return nil, usageError(fmt.Sprintf("%s on this machine needs no credential; for a server on another machine add --base-url, such as http://gpu-1:8000/v1", p.Title))
	case c.Provider != "" && !known:
		return nil, usageError(fmt.Sprintf("there is no provider %q; 'sluice provider list' lists them; for any other server with OpenAI's API use openai_compatible with --base-url", c.Provider))
	case p.Wire == providers.WireHost && c.BaseURL != "":
		return nil, usageError(fmt.Sprintf("%s has a fixed address; leave out --base-url", p.Title))
	case known && p.BaseURL == "" && c.BaseURL == "":
		return nil, usageError(fmt.Sprintf("%s needs --base-url, such as https://models.example.com/v1", p.Title))
	case c.Provider == "" && c.BaseURL == "":
		return k, checkBound(k.Hosts, c.AnyHost)
	case c.BaseURL == "":
		k.Hosts = append(k.Hosts, p.Hosts...)
		return k, nil
	}
	u, err := upstream.BaseURL(c.BaseURL)
	if err != nil {
		return nil, usageError(err.Error())
	}
	if host := flow.BoundHost(u); host != "" && !slices.Contains(k.Hosts, host) {
		k.Hosts = append(k.Hosts, host)
	}
	return k, nil
}

// checkBound returns an error unless a plain secret is either bound to hosts or
// explicitly allowed to go to any host.
func checkBound(hosts []string, anyHost bool) error {
	switch {
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

// Run sets the hosts of a plain credential. The hosts of a credential for a
// provider follow from its base URL.
func (c credentialHostsCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	hosts, err := flow.ParseHosts(c.Host)
	if err != nil {
		return usageError("--host " + err.Error())
	}
	if err := checkBound(hosts, c.AnyHost); err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	k, err := store.FindCredential(ctx, cfg.workspace(), c.Name)
	if err != nil {
		return noSuchCredential(err, c.Name)
	}
	if !k.Plain() {
		return fmt.Errorf("%s is bound to the address of %s; to change the address, add the credential again", k.Name, k.Provider)
	}
	k.Hosts = hosts
	if err := checkOpenFlows(ctx, store, &k); err != nil {
		return err
	}
	if err := store.SetCredentialHosts(ctx, k.WorkspaceID, k.Name, hosts); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Changed %s%s.\n", k.Name, allowedHosts(hosts))
	return store.Audit(ctx, k.WorkspaceID, "cli", "credential.hosts", k.Name, strings.Join(hosts, ", "))
}

// credentialLimitsCmd sets how many calls model nodes make with a credential.
type credentialLimitsCmd struct {
	Name      string `arg:"" help:"Name of the credential."`
	AtOnce    *int64 `name:"at-once" help:"Calls at once; 0 for no limit." placeholder:"N"`
	PerMinute *int64 `help:"Calls a minute; 0 for no limit." placeholder:"N"`
}

// Run sets the limits that have flags.
func (c credentialLimitsCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	store, err := openStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	k, err := store.FindCredential(ctx, cfg.workspace(), c.Name)
	if err != nil {
		return noSuchCredential(err, c.Name)
	}
	if err := c.apply(&k.Limits); err != nil {
		return err
	}
	if c.AtOnce != nil || c.PerMinute != nil {
		if err := store.SetCredentialLimits(ctx, k.WorkspaceID, k.Name, k.Limits); err != nil {
			return err
		}
		if err := store.Audit(ctx, k.WorkspaceID, "cli", "credential.limits", k.Name, k.Limits.String()); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Out, "%s: %s.\n", k.Name, k.Limits)
	return nil
}

// apply sets the limits that have flags. A limit out of range is a usage error.
func (c credentialLimitsCmd) apply(l *flow.CallLimits) error {
	for _, one := range []struct{ flag, to *int64 }{{c.AtOnce, &l.AtOnce}, {c.PerMinute, &l.PerMinute}} {
		if one.flag == nil {
			continue
		}
		if *one.flag < 0 || *one.flag > flow.MaxCallLimit {
			return usageError(fmt.Sprintf("a limit is a number from 0 to %d", flow.MaxCallLimit))
		}
		*one.to = *one.flag
	}
	return nil
}

// secret reads and checks the secret. It may be empty only for servers that may work
// without authentication, such as local ones.
func (c credentialAddCmd) secret(s *streams) (string, error) {
	text, err := readSecret(s)
	if err != nil {
		return "", err
	}
	p, _ := providers.FindPreset(c.Provider)
	optional := p.Local || c.Provider == "openai_compatible"
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

// RunOn sends the secret to the provider and prints the result.
func (c credentialTestCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	models, err := newUpstreams(ctx, cfg)
	if err != nil {
		return err
	}
	defer models.HTTP.Close()
	access, err := models.Resolver(store).Access(ctx, cfg.workspace(), c.Name, map[string]any{"credential": c.Name})
	if _, missing := store.FindCredential(ctx, cfg.workspace(), c.Name); flow.IsNotFound(missing) { // it may be in the environment
		access, err = models.Resolver(store).Access(ctx, cfg.workspace(), c.Name, nil)
	}
	if errors.Is(err, flow.ErrNoAccess) {
		return fmt.Errorf("there is no credential %s; 'sluice credential list' lists them", c.Name)
	}
	if err != nil {
		return err
	}
	result, err := models.Test(ctx, access)
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, result)
	return nil
}

// credentialListCmd lists credentials without their secrets. It also tries to decrypt
// each secret, since that fails if the master key was replaced.
type credentialListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// RunOn lists the stored credentials and those from the environment.
func (c credentialListCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	list, err := store.ListCredentials(ctx, cfg.workspace())
	if err != nil {
		return err
	}
	uses, err := library.CredentialUses(ctx, store, cfg.workspace(), nodes.ProviderOf)
	if err != nil {
		return err
	}
	readable := map[string]bool{}
	for _, k := range list {
		_, _, err := store.OpenCredential(ctx, cfg.workspace(), k.Name)
		readable[k.Name] = err == nil
	}
	all := make([]admin.Credential, len(list))
	for i := range list {
		all[i] = admin.CredentialObject(&list[i], readable[list[i].Name], uses[list[i].Name])
	}
	if c.JSON {
		return printJSON(s.Out, all)
	}
	var rows []string
	env := upstream.Environment()
	for _, p := range providers.Presets() {
		if a, ok := env[p.Name]; ok {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", a.Name, p.Name, orDash(strings.Join(a.Hosts, ",")), "environment", "-"))
		}
	}
	proposed, err := library.ProposeHosts(ctx, store, cfg.workspace(), nodes.New(nodes.Deps{}))
	if err != nil {
		return err
	}
	return printCredentials(s, all, rows, proposed)
}

// printCredentials prints a table of credentials, followed by the additional rows in more. It
// warns on standard error of credentials that cannot be decrypted or may be sent to any
// host. proposed has the hosts that flows send each credential to, by credential name.
func printCredentials(s *streams, list []admin.Credential, more []string, proposed map[string][]string) error {
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPROVIDER\tHOSTS\tCHANGED\tUSED BY")
	for _, k := range list {
		hosts := orDash(strings.Join(k.Hosts, ","))
		if k.Unbound {
			hosts = "any"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", k.Name, orDash(k.Provider), hosts, shortTime(time.Time(k.UpdatedAt)), usedBy(k.UsedBy))
	}
	for _, row := range more {
		fmt.Fprintln(w, row)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, k := range list {
		if !k.Readable {
			fmt.Fprintf(s.Err, "%s\n", flow.SealedError(k.Name).Message)
		}
		if k.Unbound {
			hosts := proposed[k.Name]
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
// may use one credential.
func usedBy(uses []admin.CredentialUse) string {
	var flows []string
	for _, u := range uses {
		if !slices.Contains(flows, u.Flow) {
			flows = append(flows, u.Flow)
		}
	}
	return orDash(strings.Join(flows, ", "))
}

// credentialRemoveCmd removes a credential. It cannot be undone, since the secret is
// not stored anywhere else.
type credentialRemoveCmd struct {
	Name  string `arg:"" help:"Name of the credential."`
	Force bool   `help:"Remove it even if flows use it."`
}

// RunOn removes a credential. Flows that use it would fail, so they are listed
// first.
func (c credentialRemoveCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	uses, err := library.CredentialUses(ctx, store, cfg.workspace(), nodes.ProviderOf)
	if err != nil {
		return err
	}
	if err := c.checkUnused(admin.CredentialObject(&flow.Credential{}, false, uses[c.Name]).UsedBy); err != nil {
		return err
	}
	if err := store.RemoveCredential(ctx, cfg.workspace(), c.Name); err != nil {
		return noSuchCredential(err, c.Name)
	}
	fmt.Fprintf(s.Out, "%s is removed.\n", c.Name)
	return store.Audit(ctx, cfg.workspace(), "cli", "credential.remove", c.Name, "")
}

// checkUnused returns an error if flows use the credential and --force is not given.
func (c credentialRemoveCmd) checkUnused(uses []admin.CredentialUse) error {
	if len(uses) > 0 && !c.Force {
		return fmt.Errorf("%s is used by %s; change these flows first, or remove it with --force", c.Name, usedBy(uses))
	}
	return nil
}

// noSuchCredential rewords err if it means that the credential does not exist.
func noSuchCredential(err error, name string) error {
	return notFound(err, "there is no credential "+name+"; 'sluice credential list' lists them")
}

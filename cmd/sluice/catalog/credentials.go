package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/cmd/sluice/upstream"
	"sluice/flow"
	"sluice/flow/credentialuse"
	"sluice/flow/library"
	"sluice/flow/sorting"
	"sluice/flow/wording"
	"sluice/handlers/console"
	"sluice/nodes"
	"sluice/providers"
)

// Credentials implements console.Providers for the credentials in a store.
type Credentials struct {
	upstreams *upstream.Clients
	store     credentialuse.Store
	uses      *credentialuse.Finder
}

// NewCredentials returns the credentials of the workspaces in a store.
func NewCredentials(u *upstream.Clients, store credentialuse.Store) *Credentials {
	return &Credentials{u, store, credentialuse.New(store, nodes.ProviderOf)}
}

// List returns every provider. Local model servers are included because one on another
// machine may need a credential.
func (p *Credentials) List() (list []console.Provider) {
	for _, preset := range providers.Presets() {
		list = append(list, console.Provider{
			Name: preset.Name, Title: preset.Title, KeysURL: preset.KeysURL, Can: Abilities(preset), Local: preset.Local,
			OwnAddress: preset.Local || preset.BaseURL == "",
		})
	}
	return list
}

// fieldError returns a validation error for a field.
func fieldError(field, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return &flow.Error{Code: flow.CodeInputInvalid, Message: text, Fields: []flow.Problem{{Pointer: field, Code: "invalid", Detail: text}}}
}

// Credential validates a form and binds the credential to its hosts. Errors name the
// field of the form, which shows them beside it.
func (p *Credentials) Credential(c flow.Credential, secret string) (flow.Credential, error) {
	return checkCredential(c, secret, false)
}

// OperatorCredential implements library.Providers. The operator may choose the address of every
// provider but the hosting platform, also a private one, and hosts in addition to it.
func (p *Credentials) OperatorCredential(c flow.Credential, secret string) (flow.Credential, error) {
	c.Trusted = c.BaseURL != ""
	return checkCredential(c, secret, true)
}

// checkCredential validates a credential and binds it to its hosts.
func checkCredential(c flow.Credential, secret string, operator bool) (flow.Credential, error) {
	preset, known := providers.FindPreset(c.Provider)
	other, taken := providers.FindPreset(c.Name)
	own := preset.Local || known && preset.BaseURL == "" || operator && known && c.BaseURL != "" && preset.Wire != providers.WireHost
	switch {
	case !library.ValidCredentialName(c.Name):
		return c, fieldError("name", "Up to 64 letters, digits, _, . and -; it begins with a letter or a digit.")
	case taken && c.Name != c.Provider:
		return c, fieldError("name", "This is the name of a provider, so a credential of that name is for %s. Choose another name.", other.Title)
	case c.Provider != "" && !known:
		return c, fieldError("provider", "There is no such provider.")
	case !own && c.BaseURL != "":
		return c, fieldError("base_url", "%s has one address.", preset.Title)
	}
	hosts, err := flow.ParseHosts(c.Hosts)
	if err != nil {
		return c, fieldError("hosts", "%s", wording.Sentence(err.Error()))
	}
	c.Hosts = hosts
	if problem := library.CheckSecret(secret); problem != "" && !(own && secret == "") {
		return c, fieldError("secret", "%s", problem)
	}
	if problem := upstream.CheckToolSecret(secret); problem != "" && c.Provider == flow.ProviderMCP {
		return c, fieldError("secret", "%s", problem)
	}
	c.Trusted = c.Trusted && own
	if !own {
		c.Hosts = append(c.Hosts, preset.Hosts...)
		return c, nil
	}
	u, err := upstream.BaseURL(c.BaseURL)
	if err != nil {
		return c, fieldError("base_url", "Write it like https://models.example.com/v1, without a name or password in it.")
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if host := flow.BoundHost(u); !operator {
		c.Hosts = []string{host}
	} else if !slices.Contains(c.Hosts, host) {
		c.Hosts = append(c.Hosts, host)
	}
	return c, nil
}

// Test checks a credential with its provider. name may also be that of a provider whose secret is in
// the environment.
func (p *Credentials) Test(ctx context.Context, ws flow.WorkspaceID, name string) (string, error) {
	ref := any(map[string]any{"credential": name})
	if _, _, err := p.store.OpenCredential(ctx, ws, name); flow.IsNotFound(err) {
		ref = nil
	}
	access, err := p.upstreams.Resolver(p.store).Access(ctx, ws, name, ref)
	if err != nil {
		return "", err
	}
	return p.testAccess(ctx, access)
}

// TestSecret implements library.Providers.
func (p *Credentials) TestSecret(ctx context.Context, c flow.Credential, secret string) (string, error) {
	return p.testAccess(ctx, flow.Access{Provider: c.Provider, Name: c.Name, Secret: secret, BaseURL: c.BaseURL, Hosts: c.Hosts, Trusted: c.Trusted})
}

// testAccess tests a secret with its provider. Its errors are meant for users.
func (p *Credentials) testAccess(ctx context.Context, access flow.Access) (string, error) {
	result, err := p.upstreams.Test(ctx, access)
	if e, ok := errors.AsType[*providers.Error](err); ok {
		return "", flow.Errorf(cmp.Or(resolveCodes[e.Class], flow.CodeProviderUnavailable), "%s", e.Message)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "", flow.Errorf(flow.CodeProviderUnavailable, "The provider did not answer in time. Try again later.")
	}
	return result, err
}

// ListTools implements library.Providers.
func (p *Credentials) ListTools(ctx context.Context, ws flow.WorkspaceID, name string) (title string, tools []flow.ServerTool, err error) {
	access, err := p.upstreams.Resolver(p.store).Access(ctx, ws, flow.ProviderMCP, flow.SecretRefTo(name))
	if err != nil {
		return "", nil, err
	}
	return p.upstreams.ListTools(ctx, access)
}

// Environment lists the secrets in the environment. Only the default workspace may use
// them, because the operator pays for their use.
func (p *Credentials) Environment(ws flow.WorkspaceID) (list []flow.Credential) {
	if ws != flow.DefaultWorkspace {
		return nil
	}
	env := upstream.Environment()
	for _, name := range sorting.Keys(env) {
		a := env[name]
		list = append(list, flow.Credential{Name: a.Name, Provider: name, Hosts: a.Hosts, BaseURL: a.BaseURL})
	}
	return list
}

// ProposeHosts returns the hosts that the flows of the workspace send its
// credentials to.
func (p *Credentials) ProposeHosts(ctx context.Context, ws flow.WorkspaceID) (map[string][]string, error) {
	return library.ProposeHosts(ctx, p.store, ws, nodes.New(nodes.Deps{}))
}

// CredentialUses returns the uses of each credential in drafts and live versions.
func (p *Credentials) CredentialUses(ctx context.Context, ws flow.WorkspaceID) (map[string][]credentialuse.Use, error) {
	return p.uses.Find(ctx, ws)
}

// Abilities returns the node kinds that work with a provider. The dashboard uses the same
// list to offer only models that fit a node.
func Abilities(p providers.Preset) []string {
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

package upstream

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"sluice/flow"
	"sluice/mcpclient"
	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/hosted"
)

// Clients are the clients of model providers for the server and the commands. They share one
// outbound.Client, which blocks private addresses unless reach allows them.
type Clients struct {
	HTTP      *outbound.Client
	Providers *providers.Client
	Host      *hosted.Replicate
	// Servers calls MCP servers.
	Servers *mcpclient.Client
	reach   *endpoints
	// refuseUnbound prevents plain credentials without hosts from being sent.
	refuseUnbound bool
}

// apiLimit is the largest response of the hosting platform in bytes. It stops endless
// streams; responses that are read into memory have lower limits of their own.
const apiLimit = 64 << 20

// Config configures the clients.
type Config struct {
	// HTTP sends all requests. The clients share it.
	HTTP *outbound.Client
	// ReplicateURL replaces the address of the hosting platform, if it is set.
	ReplicateURL string
	// MaxFile is the largest file that the store accepts, in bytes.
	MaxFile int64
	// RefuseUnbound prevents plain credentials without hosts from being sent.
	RefuseUnbound bool
	// Version is that of Sluice, which it tells MCP servers.
	Version string
}

// New creates the clients. Config.ReplicateURL is trusted and may have a private address; all
// other requests to the platform are guarded. New fails only if ReplicateURL is invalid.
func New(ctx context.Context, cfg Config) (*Clients, error) {
	u := &Clients{HTTP: cfg.HTTP, reach: newEndpoints(cfg.HTTP), Providers: providers.NewClient(providers.Guarded(cfg.HTTP)), refuseUnbound: cfg.RefuseUnbound, Servers: mcpclient.New(cfg.HTTP, cfg.Version)}
	if cfg.ReplicateURL != "" {
		if err := u.reach.allow(ctx, cfg.ReplicateURL, true); err != nil {
			return nil, err
		}
	}
	// One byte more than the store accepts, so that the store reports the error, which
	// names the setting.
	fileLimit := cfg.MaxFile + 1
	own := outbound.ClientOptions{Provider: cfg.ReplicateURL != "", FirstByteTimeout: outbound.ModelFirstByteTimeout, MaxBody: apiLimit}
	hostConfig := hosted.ReplicateConfig{
		BaseURL: cfg.ReplicateURL, API: cfg.HTTP.HTTPClient(own),
		Files: cfg.HTTP.HTTPClient(outbound.ClientOptions{MaxRedirects: outbound.MaxRedirects, MaxBody: fileLimit}),
	}
	if cfg.ReplicateURL != "" { // only the configured platform may serve files from a private address
		own.MaxBody = fileLimit
		hostConfig.OwnFiles = cfg.HTTP.HTTPClient(own)
	}
	u.Host = hosted.NewReplicate(hostConfig)
	return u, nil
}

// Resolver returns the resolver of credential names, which looks up secrets in the store
// first, then in the environment. All secrets are looked up through it. If
// SLUICE_REPLICATE_URL is set, the platform's secret is sent only there.
func (u *Clients) Resolver(store flow.CredentialStore) *flow.Resolver {
	env := Environment()
	for name, a := range env {
		p, _ := u.Preset(name)
		if at, err := url.Parse(p.BaseURL); err == nil && p.Wire == providers.WireHost {
			a.Hosts = []string{at.Hostname()}
			env[name] = a
		}
	}
	return &flow.Resolver{Store: store, Reach: u.reach.trust, Environment: env, RefuseUnbound: u.refuseUnbound}
}

// Preset returns a provider with its effective base URL.
func (u *Clients) Preset(name string) (p providers.Preset, known bool) {
	if p, known = providers.FindPreset(name); p.Wire == providers.WireHost {
		p.BaseURL = u.Host.Address()
	}
	return p, known
}

// Admit returns an error if a secret may not be sent to the base URL of its credential or,
// without one, of its provider. It checks the host against the credential, while package
// outbound checks the address.
func Admit(a flow.Access, p providers.Preset) error {
	base := cmp.Or(a.BaseURL, p.BaseURL)
	if at, err := url.Parse(base); err == nil && (a.Secret == "" || a.May(flow.HostPort(at))) {
		return nil
	}
	if at, err := url.Parse(base); err == nil {
		return a.Refusal(flow.HostPort(at))
	}
	return flow.Errorf(flow.CodeProviderAuth, "The base URL of the credential %q cannot be read.", a.Name)
}

// testTimeout bounds the test of a secret, for which a person waits.
const testTimeout = 30 * time.Second

// Test tests a secret with its provider and returns a sentence about the result.
func (u *Clients) Test(ctx context.Context, a flow.Access) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	p, known := u.Preset(a.Provider)
	if !known {
		return "", flow.Errorf(flow.CodeInputInvalid, "%s is a plain secret, so there is no provider to test it with.", a.Name)
	}
	if err := Admit(a, p); err != nil {
		return "", err
	}
	if p.Wire == providers.WireHost {
		name, err := u.Host.Account(ctx, a.Secret)
		return fmt.Sprintf("%s is connected as %s.", p.Title, name), err
	}
	if p.Wire == providers.WireTools {
		_, tools, err := u.ListTools(ctx, a)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s is connected. %s found.", a.Name, flow.Count(len(tools), "tool")), nil
	}
	models, err := u.Providers.Test(ctx, providers.Endpoint{Provider: a.Provider, BaseURL: a.BaseURL, Secret: a.Secret, Trusted: a.Trusted})
	result := p.Title + " is connected."
	if a.BaseURL != "" && a.Name != "" && a.Name != a.Provider {
		result = a.Name + " is connected." // a server of one's own
	}
	switch {
	case models == 1:
		result += " 1 model found."
	case models > 1:
		result += fmt.Sprintf(" %d models found.", models)
	}
	return result, err
}

// ToolServer returns how the MCP server of a credential is called.
func ToolServer(a flow.Access) mcpclient.Server {
	return mcpclient.Server{Name: a.Name, URL: a.BaseURL, Secret: a.Secret, Trusted: a.Trusted, Update: a.Update}
}

// CheckToolSecret returns why an MCP server cannot have a secret, as a sentence, or "".
func CheckToolSecret(secret string) string {
	if _, err := mcpclient.ReadGrant(secret); err != nil {
		return err.Error()
	}
	return ""
}

// ListTools lists the tools of an MCP server, and the name by which it introduces itself. Its errors are a *flow.Error.
func (u *Clients) ListTools(ctx context.Context, a flow.Access) (title string, tools []flow.ServerTool, err error) {
	session, err := u.Servers.Open(ctx, ToolServer(a))
	if err != nil {
		return "", nil, mcpclient.AsFlowError(err)
	}
	defer func() { _ = session.Close() }()
	list, err := session.Tools(ctx)
	if err != nil {
		return "", nil, mcpclient.AsFlowError(err)
	}
	tools = make([]flow.ServerTool, len(list))
	for i := range list {
		tools[i] = list[i].ServerTool
	}
	return session.Title(), tools, nil
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"sluice/flow"
	"sluice/outbound"
	"sluice/providers"
	"sluice/providers/hosted"
)

// upstreams are the ways to models of other makers. The server and the commands
// that ask a provider something share them.
type upstreams struct {
	client    *outbound.Client
	reach     *endpoints
	providers *providers.Client
	host      *hosted.Replicate
	// refuseUnbound prevents plain credentials without hosts from being sent.
	refuseUnbound bool
}

// apiLimit is how many bytes an answer of the hosting platform may have. What
// is read into memory of it has smaller limits of its own.
const apiLimit = 64 << 20

func newUpstreams(ctx context.Context, cfg *Config) (*upstreams, error) {
	client, err := cfg.outbound()
	if err != nil {
		return nil, err
	}
	u := &upstreams{client: client, reach: newEndpoints(client), providers: providers.NewClient(providers.Guarded(client)), refuseUnbound: cfg.refuseUnbound()}
	if cfg.ReplicateURL != "" {
		if err := u.reach.enter(ctx, cfg.ReplicateURL, true); err != nil {
			return nil, usageError(fmt.Sprintf("SLUICE_REPLICATE_URL: %v", err))
		}
	}
	own := outbound.ClientOptions{Provider: cfg.ReplicateURL != "", FirstByteTimeout: outbound.ModelFirstByteTimeout, MaxBody: apiLimit}
	hostConfig := hosted.ReplicateConfig{
		BaseURL: cfg.ReplicateURL, API: client.HTTPClient(own),
		Files: client.HTTPClient(outbound.ClientOptions{MaxRedirects: outbound.MaxRedirects, MaxBody: fileLimit(cfg)}),
	}
	if cfg.ReplicateURL != "" { // its own files may be where nobody else's may
		own.MaxBody = fileLimit(cfg)
		hostConfig.OwnFiles = client.HTTPClient(own)
	}
	u.host = hosted.NewReplicate(hostConfig)
	return u, nil
}

// fileLimit is how many bytes of a file that a model made are read: one more
// than are kept, so that it is the store that says what the limit is.
func fileLimit(cfg *Config) int64 { return int64(cfg.MaxFile) + 1 }

// resolver looks secrets up: in the store, and in the environment. Whoever
// starts Sluice with another address for the hosting platform means its secret
// for that address alone.
func (u *upstreams) resolver(store flow.CredentialStore) *flow.Resolver {
	env := environment()
	for name, a := range env {
		p, _ := u.preset(name)
		if at, err := url.Parse(p.BaseURL); err == nil && p.Wire == providers.WireHost {
			a.Hosts = []string{at.Hostname()}
			env[name] = a
		}
	}
	return &flow.Resolver{Store: store, Reach: u.reach.trust, Environment: env, RefuseUnbound: u.refuseUnbound}
}

// preset is a provider at the address that it has here.
func (u *upstreams) preset(name string) (p providers.Preset, known bool) {
	if p, known = providers.FindPreset(name); p.Wire == providers.WireHost {
		p.BaseURL = u.host.Address()
	}
	return p, known
}

// admit refuses to send a secret where it may not go.
func admit(a flow.Access, p providers.Preset) error {
	base := cmp.Or(a.BaseURL, p.BaseURL)
	if at, err := url.Parse(base); err == nil && (a.Secret == "" || a.May(flow.HostPort(at))) {
		return nil
	}
	if at, err := url.Parse(base); err == nil {
		return a.Refusal(flow.HostPort(at))
	}
	return flow.Errorf(flow.CodeProviderAuth, "The base URL of the credential %q cannot be read.", a.Name)
}

// testTimeout bounds the question whether a provider accepts a secret.
const testTimeout = 30 * time.Second

// test asks a provider whether it accepts a secret, and says how it answered.
func (u *upstreams) test(ctx context.Context, a flow.Access) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	p, known := u.preset(a.Provider)
	if !known {
		return "", flow.Errorf(flow.CodeInputInvalid, "%s is a plain secret: there is nobody to ask about it.", a.Name)
	}
	if err := admit(a, p); err != nil {
		return "", err
	}
	if p.Wire == providers.WireHost {
		name, err := u.host.Account(ctx, a.Secret)
		return fmt.Sprintf("%s accepts it: the account is %s.", p.Title, name), err
	}
	err := u.providers.Test(ctx, providers.Endpoint{Provider: a.Provider, BaseURL: a.BaseURL, Secret: a.Secret, Trusted: a.Trusted})
	return p.Title + " accepts it.", err
}

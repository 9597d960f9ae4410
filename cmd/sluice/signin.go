package main

import (
	"context"
	"time"

	"sluice/flow"
	"sluice/outbound"
	"sluice/outbound/oidc"
)

// checkSignIn returns a usage error for settings of the sign-in that cannot work.
func (c *Config) checkSignIn() error {
	if c.OIDC != "" {
		if _, err := oidc.Load(c.OIDC); err != nil {
			return usageError("SLUICE_OIDC: " + err.Error())
		}
	}
	switch {
	case c.Passwords == "off" && c.OIDC == "":
		return usageError("SLUICE_PASSWORDS=off needs an identity provider; set SLUICE_OIDC")
	case c.Passwords == "off" && c.Signup == "open":
		return usageError("SLUICE_PASSWORDS=off and SLUICE_SIGNUP=open exclude each other; set SLUICE_SIGNUP=closed")
	}
	return nil
}

// maxProviderBody is the maximum size in bytes of a response of an identity provider.
const maxProviderBody = 1 << 20

// identityProviders returns the identity providers that people sign in with.
func (c *Config) identityProviders(client *outbound.Client, now func() time.Time) (list []*oidc.Provider, err error) {
	if c.OIDC == "" {
		return nil, nil
	}
	settings, err := oidc.Load(c.OIDC)
	if err != nil {
		return nil, usageError("SLUICE_OIDC: " + err.Error())
	}
	for _, s := range settings {
		list = append(list, oidc.New(s, client.HTTPClient(outbound.ClientOptions{MaxBody: maxProviderBody, FirstByteTimeout: oidc.Timeout}), now))
	}
	return list, nil
}

// requireFactor returns the least role that needs a second factor, or "".
func (c *Config) requireFactor() flow.MemberRole {
	if c.TwoStep == "optional" {
		return ""
	}
	return flow.MemberRole(c.TwoStep)
}

// signIn reports whether each identity provider can be reached and states the issuer of the settings.
func (f *findings) signIn(ctx context.Context, c *Config) {
	client, err := c.outbound()
	if err != nil { // the configuration was checked before
		return
	}
	defer client.Close()
	list, err := c.identityProviders(client, time.Now)
	if err != nil {
		return
	}
	for _, p := range list {
		ctx, cancel := context.WithTimeout(ctx, oidc.Timeout)
		err := p.Discover(ctx)
		cancel()
		if err != nil {
			f.add("sign-in", verdictBad, "Check the issuer in SLUICE_OIDC, and SLUICE_ALLOW_PRIVATE if the provider is in a private network.", "%s does not work: %v.", p.Name, err)
			continue
		}
		f.add("sign-in", verdictOK, "", "People sign in with %s (%s).", p.Name, p.Issuer)
	}
}

// countSet counts the texts that are not empty.
func countSet(texts ...string) (n int) {
	for _, s := range texts {
		if s != "" {
			n++
		}
	}
	return n
}

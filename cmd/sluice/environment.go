package main

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"sluice/flow"
	"sluice/outbound"
	"sluice/providers"
)

// environment are the secrets of providers that the process was started with,
// such as OPENAI_API_KEY, by provider. Config.check has seen that their base
// URLs can be read.
func environment() map[string]flow.Access {
	found := map[string]flow.Access{}
	for _, p := range providers.Presets() {
		for _, name := range p.EnvVars {
			if secret := os.Getenv(name); secret != "" {
				found[p.Name] = elsewhere(flow.Access{Provider: p.Name, Name: name, Secret: secret, Hosts: p.Hosts})
				break
			}
		}
	}
	return found
}

// elsewhere follows a variable such as OPENAI_BASE_URL, which the providers'
// own packages read too: the secret is then for that host alone.
func elsewhere(a flow.Access) flow.Access {
	_, base := baseVariable(a.Name)
	if base == "" {
		return a
	}
	u, err := baseURL(base)
	if err != nil { // then it is for no host at all, rather than for the usual one
		a.Hosts = []string{"invalid"}
		return a
	}
	a.BaseURL, a.Hosts, a.Trusted = u.String(), []string{u.Hostname()}, true
	return a
}

// baseVariable is the variable beside that of a secret, and what is in it.
func baseVariable(secret string) (name, value string) {
	stem, isKey := strings.CutSuffix(secret, "_API_KEY")
	if !isKey {
		return "", ""
	}
	name = stem + "_BASE_URL"
	return name, strings.TrimSpace(os.Getenv(name))
}

// baseURL reads the address of a provider as a person writes it.
func baseURL(text string) (*url.URL, error) {
	u, err := outbound.ParseURL(strings.TrimRight(text, "/"))
	if err != nil {
		return nil, fmt.Errorf("%q is not a base URL; write it like https://models.example.com/v1, without a name or password in it", text)
	}
	return u, nil
}

// checkEnvironment finds addresses that cannot be read, before a secret goes to
// the usual one instead.
func checkEnvironment() error {
	for _, p := range providers.Presets() {
		for _, variable := range p.EnvVars {
			name, base := baseVariable(variable)
			if base == "" {
				continue
			}
			if _, err := baseURL(base); err != nil {
				return usageError(fmt.Sprintf("%s: %v", name, err))
			}
		}
	}
	return nil
}

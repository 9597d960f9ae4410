package main

import (
	"net/url"
	"os"
	"strings"

	"sluice/flow"
	"sluice/providers"
)

// environment are the secrets of providers that the process was started with,
// such as OPENAI_API_KEY, by provider.
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
	stem, isKey := strings.CutSuffix(a.Name, "_API_KEY")
	base := os.Getenv(stem + "_BASE_URL")
	u, err := url.Parse(base)
	if !isKey || base == "" || err != nil || u.Hostname() == "" {
		return a
	}
	a.BaseURL, a.Hosts, a.Trusted = strings.TrimRight(base, "/"), []string{u.Hostname()}, true
	return a
}

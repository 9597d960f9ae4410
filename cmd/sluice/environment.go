package main

import (
	"os"

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
				found[p.Name] = flow.Access{Provider: p.Name, Name: name, Secret: secret, Hosts: p.Hosts}
				break
			}
		}
	}
	return found
}

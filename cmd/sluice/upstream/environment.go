package upstream

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"sluice/flow"
	"sluice/outbound"
	"sluice/providers"
)

// Environment returns the providers' secrets in the environment, such as
// OPENAI_API_KEY, by provider. CheckEnvironment validates their base URLs. These are
// the names that the providers' own tools use, so an existing environment works.
func Environment() map[string]flow.Access {
	found := map[string]flow.Access{}
	for _, p := range providers.Presets() {
		for _, name := range p.EnvVars {
			if secret := os.Getenv(name); secret != "" {
				found[p.Name] = withBaseURL(flow.Access{Provider: p.Name, Name: name, Secret: secret, Hosts: p.Hosts})
				break
			}
		}
	}
	return found
}

// withBaseURL applies a variable such as OPENAI_BASE_URL, which the providers' own
// SDKs read too. The secret is then sent only to that host.
func withBaseURL(a flow.Access) flow.Access {
	_, base := baseVariable(a.Name)
	if base == "" {
		return a
	}
	u, err := BaseURL(base)
	if err != nil { // matches no host: the default host must not get the secret
		a.Hosts = []string{"invalid"}
		return a
	}
	a.BaseURL, a.Hosts, a.Trusted = u.String(), []string{u.Hostname()}, true
	return a
}

// baseVariable returns the variable with the base URL that belongs to a secret,
// and its value.
func baseVariable(secret string) (name, value string) {
	stem, isKey := strings.CutSuffix(secret, "_API_KEY")
	if !isKey {
		return "", ""
	}
	name = stem + "_BASE_URL"
	return name, strings.TrimSpace(os.Getenv(name))
}

// BaseURL parses the base URL of a provider. It applies the rules of package outbound, so
// that an accepted URL is not rejected later when it is used.
func BaseURL(text string) (*url.URL, error) {
	u, err := outbound.ParseURL(strings.TrimRight(text, "/"))
	if err != nil {
		return nil, fmt.Errorf("%q is not a base URL; write it like https://models.example.com/v1, without a name or password in it", text)
	}
	return u, nil
}

// CheckEnvironment returns an error for an invalid base URL, so that its secret is not sent to
// the default host instead. It checks the variables of all providers, including those whose
// secret is not set.
func CheckEnvironment() error {
	for _, p := range providers.Presets() {
		for _, variable := range p.EnvVars {
			name, base := baseVariable(variable)
			if base == "" {
				continue
			}
			if _, err := BaseURL(base); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

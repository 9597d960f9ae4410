// Package oidc signs people in with OpenID Connect providers.
//
// It owns the settings of providers, the authorization code flow with PKCE, and what a token must prove. It
// returns who a person is, and must not know users, sessions or pages.
package oidc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Settings are those of one provider.
type Settings struct {
	// ID is part of the redirect URL, PUBLIC_URL/sign-in/callback/ID.
	ID string `json:"id"`
	// Name is shown on the sign-in page; default is the host of the issuer.
	Name string `json:"name"`
	// Issuer identifies the provider and the people it knows. Its metadata is read from there.
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	// The secret of the client, or the file that has it. Without one, the client is public.
	ClientSecret     string `json:"client_secret"`
	ClientSecretFile string `json:"client_secret_file"`
	// ClientAuth is client_secret_basic or client_secret_post; default is what the provider supports, basic first.
	ClientAuth string `json:"client_auth"`
	// Scopes are requested in addition to openid, email and profile.
	Scopes []string `json:"scopes"`
	// Domains are those whose addresses the provider may vouch for.
	Domains []string `json:"domains"`
	// Workspace is the ID of the workspace that people join; default is the first one.
	Workspace string `json:"workspace"`
	// Role is that of people without a matching value of Claim: viewer, editor, owner, or "" for no access.
	// Without Claim, it is the role of new people, viewer by default.
	Role string `json:"role"`
	// Claim names the member of the token with the groups of a person, such as groups or realm_access.roles.
	Claim string `json:"claim"`
	// Roles lists the groups of each role.
	Roles map[string][]string `json:"roles"`
}

// maxSettings is the maximum size of the file in bytes, and maxProviders of its providers.
const (
	maxSettings  = 1 << 20
	maxProviders = 20
)

var idForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)

// Load reads the providers from a JSON file: {"providers": [{…}]}.
func Load(path string) ([]*Settings, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Providers []*Settings `json:"providers"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d.More() {
		return nil, fmt.Errorf("%s: there is text after the JSON object", path)
	}
	if n := len(file.Providers); n == 0 || n > maxProviders {
		return nil, fmt.Errorf("%s: \"providers\" has %d entries; write 1 to %d", path, n, maxProviders)
	}
	seen := map[string]bool{}
	for i, s := range file.Providers {
		if s == nil {
			return nil, fmt.Errorf("%s: providers[%d] is null", path, i)
		}
		if err := s.check(filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("%s: providers[%d]: %w", path, i, err)
		}
		if seen[s.ID] {
			return nil, fmt.Errorf("%s: providers[%d]: another provider has the id %q", path, i, s.ID)
		}
		seen[s.ID] = true
	}
	return file.Providers, nil
}

// readFile reads a file of bounded size.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSettings {
		return nil, fmt.Errorf("%s has more than 1 MiB", path)
	}
	return os.ReadFile(path)
}

// check validates the settings and sets the defaults. The path of a secret is relative to dir.
func (s *Settings) check(dir string) error {
	u, err := url.Parse(s.Issuer)
	switch {
	case !idForm.MatchString(s.ID):
		return fmt.Errorf("the id is %q; use 1 to 40 lower-case letters, digits and hyphens", s.ID)
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("the issuer is %q; write the URL that the provider states as its issuer", s.Issuer)
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())):
		return fmt.Errorf("the issuer is %q; it must start with https://", s.Issuer)
	case s.ClientID == "":
		return errors.New("client_id is missing")
	case !slices.Contains([]string{"", "client_secret_basic", "client_secret_post"}, s.ClientAuth):
		return fmt.Errorf("client_auth is %q; use client_secret_basic or client_secret_post", s.ClientAuth)
	case s.ClientSecret != "" && s.ClientSecretFile != "":
		return errors.New("there are client_secret and client_secret_file; keep one")
	case len(s.Domains) == 0:
		return errors.New("domains is missing; list the domains of the addresses that this provider may vouch for")
	}
	if s.Name == "" {
		s.Name = u.Host
	}
	for i, d := range s.Domains {
		s.Domains[i] = strings.ToLower(strings.TrimSpace(d))
		if s.Domains[i] == "" || strings.ContainsAny(d, "@*/ ") || !strings.Contains(d, ".") {
			return fmt.Errorf("domains has %q; write a domain such as example.com", d)
		}
	}
	if s.ClientSecretFile != "" {
		path := s.ClientSecretFile
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		data, err := readFile(path)
		if err != nil {
			return fmt.Errorf("client_secret_file: %w", err)
		}
		s.ClientSecret = strings.TrimRight(string(data), "\r\n")
	}
	return s.checkRoles()
}

// roles are the roles of members, the one with the most rights first.
var roles = []string{"owner", "editor", "viewer"}

func (s *Settings) checkRoles() error {
	if s.Role != "" && !slices.Contains(roles, s.Role) {
		return fmt.Errorf("role is %q; use viewer, editor or owner", s.Role)
	}
	for name := range s.Roles {
		if !slices.Contains(roles, name) {
			return fmt.Errorf("roles has %q; use viewer, editor and owner", name)
		}
	}
	if (s.Claim == "") != (len(s.Roles) == 0) {
		return errors.New("claim and roles belong together: claim names the groups of a person, roles says which role they give")
	}
	if s.Claim == "" && s.Role == "" {
		s.Role = "viewer"
	}
	return nil
}

// Allows reports whether the provider may vouch for an address.
func (s *Settings) Allows(email string) bool {
	name, domain, ok := strings.Cut(strings.ToLower(email), "@")
	return ok && name != "" && slices.Contains(s.Domains, domain)
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

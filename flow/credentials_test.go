package flow

import (
	"context"
	"errors"
	"testing"
	"time"
)

// safe is a store of credentials whose secrets are "secret of NAME".
type safe []Credential

func (s safe) ListCredentials(context.Context, string) ([]Credential, error) { return s, nil }

func (s safe) OpenCredential(_ context.Context, _, name string) (Credential, string, error) {
	for _, c := range s {
		if c.Name == name {
			return c, "secret of " + name, nil
		}
	}
	return Credential{}, "", Errorf(CodeNotFound, "There is no such credential.")
}

func TestResolverAccess(t *testing.T) {
	t.Parallel()
	env := map[string]Access{"openai": {Provider: "openai", Name: "OPENAI_API_KEY", Secret: "from the environment"}}
	team := Credential{ID: "cred_1", Name: "team", Provider: "openai", CreatedAt: time.Unix(1, 0)}
	spare := Credential{ID: "cred_2", Name: "a-spare", Provider: "openai", CreatedAt: time.Unix(2, 0)}
	own := Credential{Name: "openai", Provider: "openai"}
	gateway := Credential{Name: "gateway", Provider: "openai_compatible", BaseURL: "http://10.0.0.8/v1", Trusted: true}
	ref := func(name string) any { return map[string]any{"credential": name} }
	tests := []struct {
		name     string
		store    safe
		ws       string
		provider string
		ref      any
		secret   string
		code     Code
		none     bool
	}{
		{"the credential that is named", safe{own, team}, DefaultWorkspace, "openai", ref("team"), "secret of team", "", false},
		{"the provider's namesake first", safe{team, own}, DefaultWorkspace, "openai", nil, "secret of openai", "", false},
		{"else the first that was made for it", safe{spare, team}, DefaultWorkspace, "openai", nil, "secret of team", "", false},
		{"a credential as a provider of its own", safe{gateway}, DefaultWorkspace, "gateway", nil, "secret of gateway", "", false},
		{"the environment last", safe{gateway}, DefaultWorkspace, "openai", nil, "from the environment", "", false},
		{"the environment is the operator's alone", nil, "ws_other", "openai", nil, "", "", true},
		{"nothing", nil, DefaultWorkspace, "mistral", nil, "", "", true},
		{"a plain secret is not for a provider of its name", safe{{Name: "mistral"}}, DefaultWorkspace, "mistral", nil, "", "", true},
		{"a name that is not there", safe{own}, DefaultWorkspace, "openai", ref("gone"), "", CodeProviderAuth, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &Resolver{Store: tt.store, Environment: env}
			a, err := r.Access(t.Context(), tt.ws, tt.provider, tt.ref)
			switch {
			case tt.none:
				if !errors.Is(err, ErrNoAccess) {
					t.Fatalf("got %v, %v", a, err)
				}
			case tt.code != "":
				if AsError(err).Code != tt.code {
					t.Fatalf("got %v, %v", a, err)
				}
			case err != nil || a.Secret != tt.secret:
				t.Fatalf("got %q, %v; want %q", a.Secret, err, tt.secret)
			}
		})
	}
}

func TestResolverReachesWhatTheOperatorEntered(t *testing.T) {
	t.Parallel()
	var reached []string
	r := &Resolver{
		Store: safe{
			{Name: "mine", Provider: "vllm", BaseURL: "http://gpu:8000/v1", Trusted: true},
			{Name: "theirs", Provider: "vllm", BaseURL: "http://10.0.0.1/v1"},
			{Name: "lost", Provider: "vllm", BaseURL: "http://nowhere/v1", Trusted: true},
		},
		Reach: func(_ context.Context, baseURL string) error {
			if reached = append(reached, baseURL); baseURL == "http://nowhere/v1" {
				return errors.New("the name nowhere cannot be resolved")
			}
			return nil
		},
	}
	for _, name := range []string{"mine", "theirs"} {
		if _, err := r.Access(t.Context(), DefaultWorkspace, name, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(reached) != 1 || reached[0] != "http://gpu:8000/v1" {
		t.Errorf("let through: %v", reached)
	}
	if _, err := r.Access(t.Context(), DefaultWorkspace, "lost", nil); AsError(err).Code != CodeProviderUnavailable {
		t.Errorf("got %v", err)
	}
}

func TestResolverSecretIsBoundToHosts(t *testing.T) {
	t.Parallel()
	r := &Resolver{Store: safe{{Name: "bound", Hosts: []string{"api.example.com"}}, {Name: "free"}}}
	tests := []struct {
		name, host string
		allowed    bool
	}{
		{"bound", "api.example.com", true},
		{"bound", "API.Example.com", true},
		{"bound", "", true},
		{"bound", "evil.example.com", false},
		{"bound", "api.example.com.evil.org", false},
		{"free", "anywhere.example", true},
	}
	for _, tt := range tests {
		secret, err := r.Secret(t.Context(), DefaultWorkspace, tt.name, tt.host)
		if tt.allowed && (err != nil || secret != "secret of "+tt.name) || !tt.allowed && (AsError(err).Code != CodeProviderAuth || secret != "") {
			t.Errorf("%s for %q: %q, %v", tt.name, tt.host, secret, err)
		}
	}
}

package upstream

import (
	"context"
	"errors"
	"fmt"

	"sluice/flow"
	"sluice/providers"
)

// ErrNoProvider is wrapped by the error of List for a name that is neither a provider nor a
// credential. It begins that error's text.
var ErrNoProvider = errors.New("there is no provider")

// List requests the models of a provider, with a credential if one exists. Its errors name
// the missing set-up, because listing models is often the first command of a new user.
func (u *Clients) List(ctx context.Context, store flow.CredentialStore, ws flow.WorkspaceID, provider string) ([]providers.Model, error) {
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	p, known := providers.FindPreset(provider)
	a, err := u.Resolver(store).Access(ctx, ws, provider, nil)
	switch {
	case errors.Is(err, flow.ErrNoAccess) && !known:
		return nil, fmt.Errorf("%w %q and no credential of that name; 'sluice provider list' lists them", ErrNoProvider, provider)
	case errors.Is(err, flow.ErrNoAccess) && p.BaseURL == "":
		return nil, fmt.Errorf("%s stands for any server; name the credential that has its base URL", p.Title)
	case errors.Is(err, flow.ErrNoAccess):
		return nil, fmt.Errorf("there is no credential for %s; add one with 'sluice credential add --name %s --provider %s'", p.Title, p.Name, p.Name)
	}
	if err != nil {
		return nil, err
	}
	if p.Wire == providers.WireHost {
		return nil, fmt.Errorf("'sluice model list' lists the models of %s", p.Title)
	}
	at, _ := u.Preset(a.Provider) // a credential may have a name of its own
	if err := Admit(a, at); err != nil {
		return nil, err
	}
	return u.Providers.Models(ctx, providers.Endpoint{Provider: a.Provider, BaseURL: a.BaseURL, Secret: a.Secret, Trusted: a.Trusted})
}

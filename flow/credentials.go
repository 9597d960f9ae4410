package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/flow/value"
)

// Credential is a named secret that flows use to call external services. The secret itself is
// stored encrypted and decrypted only for use.
type Credential struct {
	ID          string
	WorkspaceID WorkspaceID
	Name        string
	Provider    string   // openai, anthropic …; empty for a plain secret
	BaseURL     string   // of the provider; empty for its default
	Hosts       []string // hosts it may be sent to, as ParseHost returns them; empty: any
	Trusted     bool     // the operator entered the base URL, so it may be a private address
	// Overlap is how long a replaced plain secret still signs webhooks along with the new
	// one. It is a parameter of saving and is not stored.
	Overlap              time.Duration
	Limits               CallLimits
	CreatedAt, UpdatedAt time.Time
}

// Plain reports whether the secret is not for a model provider. It is for headers and the like,
// or was extracted from a node.
func (c *Credential) Plain() bool {
	return c.Provider == "" || strings.HasPrefix(c.Provider, ExtractedPrefix)
}

// Unbound reports whether the secret can be sent anywhere because it has no
// hosts. A secret for a provider is bound to the provider's address.
func (c *Credential) Unbound() bool { return c.Plain() && len(c.Hosts) == 0 }

// Access is a decrypted credential for a provider.
type Access struct {
	Provider string
	Name     string // of the credential, or of the environment variable
	Secret   string
	BaseURL  string   // empty for the provider's default
	Hosts    []string // hosts that the secret may be sent to; empty: any
	Trusted  bool     // the base URL may be private
	// RefuseUnbound prevents a secret without hosts from being sent.
	RefuseUnbound bool
	Limits        CallLimits
	// Update changes the stored secret, for those that are renewed. Nil for a secret that is not stored.
	Update func(ctx context.Context, change func(secret string) (string, error)) error
}

// Plain is Credential.Plain.
func (a *Access) Plain() bool {
	return a.Provider == "" || strings.HasPrefix(a.Provider, ExtractedPrefix)
}

// May reports whether the secret may be sent to a host, given with its port as
// HostPort returns it.
func (a *Access) May(host string) bool {
	if len(a.Hosts) == 0 {
		return !a.RefuseUnbound
	}
	return HostAllowed(a.Hosts, host)
}

// Refusal returns the error for sending the secret to a host that is not
// allowed.
func (a *Access) Refusal(host string) *Error {
	if len(a.Hosts) == 0 {
		return Errorf(CodeProviderAuth, "The credential %q has no hosts, and this server does not send such credentials (SLUICE_UNBOUND_CREDENTIALS). Enter its hosts under Credentials, such as %s.",
			a.Name, shownHost(host))
	}
	return Errorf(CodeProviderAuth, "The credential %q may not be sent to %s. It may be sent to %s. Add the host under Credentials, or choose another credential.",
		a.Name, shownHost(host), strings.Join(a.Hosts, ", "))
}

// ErrNoAccess means that there is no credential for a provider. The caller adds the name of
// the provider to the message for users.
var ErrNoAccess = errors.New("there is no credential for this provider")

// SealedError returns the error for a stored credential that cannot be
// decrypted because it was encrypted with another master key.
func SealedError(name string) *Error {
	return Errorf(CodeProviderAuth, "The credential %q cannot be opened with this server's master key. Set the right key in SLUICE_MASTER_KEY or SLUICE_MASTER_KEY_FILE and restart, or enter the secret again under Credentials.", name)
}

// CredentialStore stores credentials. Opening one that was encrypted with
// another master key returns a SealedError.
type CredentialStore interface {
	ListCredentials(ctx context.Context, ws WorkspaceID) ([]Credential, error)
	OpenCredential(ctx context.Context, ws WorkspaceID, name string) (c Credential, secret string, err error)
}

// Resolver looks up all secrets that steps use.
type Resolver struct {
	Store CredentialStore
	// Environment holds the secrets in environment variables, by provider. Only the default
	// workspace may use them, because they are billed to the operator.
	Environment map[string]Access
	// Reach is called with a base URL that the operator entered, immediately before its use,
	// to allow a private address. It may be nil.
	Reach func(ctx context.Context, baseURL string) error
	// RefuseUnbound prevents plain credentials without hosts from being sent.
	RefuseUnbound bool
}

// Secret opens a credential to be sent to host, given as HostPort returns it.
// An empty host means that the secret is not sent, as for signing.
func (r *Resolver) Secret(ctx context.Context, ws WorkspaceID, name, host string) (string, error) {
	a, err := r.open(ctx, ws, name)
	if err != nil {
		return "", err
	}
	switch {
	case host != "" && !a.May(host):
		return "", a.Refusal(host)
	case host != "" && a.Provider == ProviderMCP && strings.HasPrefix(a.Secret, "{"): // tokens are requested with it
		return "", Errorf(CodeProviderAuth, "The credential %q is for an MCP server that signs in with OAuth. Use it in a node MCP server.", name)
	}
	return a.Secret, nil
}

// previousStore is an optional method of a CredentialStore. It returns the previous secrets of
// a credential that still sign during the overlap.
type previousStore interface {
	PreviousSecrets(ctx context.Context, ws WorkspaceID, name string) ([]SigningSecret, error)
}

// secretUpdater is an optional method of a CredentialStore.
type secretUpdater interface {
	UpdateSecret(ctx context.Context, ws WorkspaceID, name string, change func(secret string) (string, error)) error
}

// SigningSecrets returns the secrets with which a credential signs: the current one, and the
// previous ones during the overlap after a rotation.
func (r *Resolver) SigningSecrets(ctx context.Context, ws WorkspaceID, name string) ([]SigningSecret, error) {
	secret, err := r.Secret(ctx, ws, name, "")
	if err != nil {
		return nil, err
	}
	list := []SigningSecret{{Secret: secret}}
	store, ok := r.Store.(previousStore)
	if !ok {
		return list, nil
	}
	before, err := store.PreviousSecrets(ctx, ws, name)
	if err != nil {
		return nil, fmt.Errorf("read the previous secrets of credential %q: %w", name, err)
	}
	return append(list, before...), nil
}

// Access returns the credential for a provider: the one that ref names, or else the default of
// the workspace (see ChooseCredential), or else the one in the environment.
func (r *Resolver) Access(ctx context.Context, ws WorkspaceID, provider string, ref any) (Access, error) {
	a, err := r.find(ctx, ws, provider, ref)
	if err == nil && a.Trusted && a.BaseURL != "" && r.Reach != nil {
		if err := r.Reach(ctx, a.BaseURL); err != nil {
			return Access{}, &Error{Code: CodeProviderUnavailable, Retryable: true, Message: fmt.Sprintf("The address of the credential %q cannot be used: %v.", a.Name, err)}
		}
	}
	return a, err
}

// find is Access without the check of the base URL.
func (r *Resolver) find(ctx context.Context, ws WorkspaceID, provider string, ref any) (Access, error) {
	if name, isRef := SecretRef(ref); isRef {
		return r.open(ctx, ws, name)
	}
	// ChooseCredential prefers one that is named like the provider, which needs no list.
	if a, err := r.open(ctx, ws, provider); err == nil && a.Provider != "" {
		return a, nil
	}
	list, err := r.Store.ListCredentials(ctx, ws)
	if err != nil {
		return Access{}, fmt.Errorf("list the credentials of %s: %w", ws, err)
	}
	if name := ChooseCredential(list, provider); name != "" {
		return r.open(ctx, ws, name)
	}
	if a, ok := r.Environment[provider]; ok && ws == DefaultWorkspace {
		return a, nil
	}
	return Access{}, ErrNoAccess
}

// ChooseCredential returns the name of the credential that nodes without one use for a
// provider, or "". A model credential named like the provider is preferred, so that a
// workspace can choose its default; otherwise it is the oldest one for the provider.
func ChooseCredential(list []Credential, provider string) string {
	var first *Credential
	for i := range list {
		c := &list[i]
		switch {
		case c.Name == provider && c.Provider != "":
			return c.Name
		case c.Provider == provider && (first == nil || c.older(first)):
			first = c
		}
	}
	if first == nil {
		return ""
	}
	return first.Name
}

// older orders credentials by creation, so that adding another credential does not change
// which account is billed.
func (c *Credential) older(than *Credential) bool {
	if !c.CreatedAt.Equal(than.CreatedAt) {
		return c.CreatedAt.Before(than.CreatedAt)
	}
	return c.ID < than.ID
}

// open decrypts a credential. A missing credential gets the code of a rejected one, because
// the user can fix it.
func (r *Resolver) open(ctx context.Context, ws WorkspaceID, name string) (Access, error) {
	c, secret, err := r.Store.OpenCredential(ctx, ws, name)
	if errors.Is(err, &Error{Code: CodeNotFound}) {
		return Access{}, Errorf(CodeProviderAuth, "There is no credential %q. Add it, or choose another one in the node.", name)
	}
	if err != nil {
		return Access{}, fmt.Errorf("read credential %q: %w", name, err)
	}
	var update func(ctx context.Context, change func(secret string) (string, error)) error
	if store, can := r.Store.(secretUpdater); can {
		update = func(ctx context.Context, change func(secret string) (string, error)) error {
			return store.UpdateSecret(ctx, ws, c.Name, change)
		}
	}
	return Access{
		Provider: c.Provider, Name: c.Name, Secret: secret, Update: update, BaseURL: c.BaseURL, Hosts: c.Hosts, Trusted: c.Trusted,
		RefuseUnbound: r.RefuseUnbound && c.Unbound(), Limits: c.Limits,
	}, nil
}

// Credentials lists the credentials that a node's config names, each once.
func (n *Node) Credentials() []string { return CredentialsIn(n.Config) }

// CredentialsIn lists the credentials that a config value names, each once.
func CredentialsIn(v any) []string {
	if name, ok := SecretRef(v); ok {
		return []string{name}
	}
	var list []string
	switch v := v.(type) {
	case string:
		list = TextCredentials(v)
	case *Object, map[string]any:
		for _, item := range value.Members(v) {
			list = append(list, CredentialsIn(item)...)
		}
	case []any:
		for _, item := range v {
			list = append(list, CredentialsIn(item)...)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ExtractedPrefix begins the provider of a credential that was extracted from a node.
const ExtractedPrefix = "flow:"

package console

import (
	"net/url"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// CredentialsPage lists what flows reach providers with. No secret is in it.
type CredentialsPage struct {
	Query       string
	Credentials []CredentialRow
	// Providers are those that match the search.
	Providers []ProviderCard
	// MayEdit is false for viewers, who see names alone.
	MayEdit bool
	Now     time.Time
}

// CredentialRow is one credential.
type CredentialRow struct {
	Name, Provider string
	// Can are the tasks of the provider's models.
	Can       []string
	Hosts     []string
	BaseURL   string
	ChangedAt time.Time
	Uses      []CredentialUse
	// Environment is set if it comes from the environment of the process and is not stored.
	Environment bool
	// Plain is a secret for headers and the like, which nobody can be asked about.
	Plain bool
	// Unbound is set if it can be sent anywhere, Sealed if it cannot be
	// decrypted.
	Unbound, Sealed bool
}

// CredentialUse is a flow that uses a credential.
type CredentialUse struct {
	FlowID, Flow string
	Nodes        []string
	Live         bool
}

// ProviderCard is a maker of models that a credential can be for.
type ProviderCard struct {
	Name, Title, Text string
	Can               []string
	// Connected is set if the workspace has a credential for it.
	Connected bool
}

// AddCredential is the form for a new credential.
type AddCredential struct {
	Provider, Title string
	// KeysURL is where a person gets a key.
	KeysURL string
	// OwnAddress asks for a base URL; Plain is a secret for no provider.
	OwnAddress, Plain    bool
	Name, BaseURL, Hosts string
	// AnyHost allows a plain secret without hosts.
	AnyHost bool
	// Optional is set if there may be no secret.
	Optional bool
	Errors   components.Errors
}

// CredentialPage is one credential and what can be done with it.
type CredentialPage struct {
	Credential CredentialRow
	Errors     components.Errors
	Now        time.Time
	// Hosts and AnyHost are the values of the form. Proposed is set if the
	// hosts come from flows that use the credential and are not saved yet.
	Hosts             string
	AnyHost, Proposed bool
	AtOnce, PerMinute string // limits of calls, as typed
}

// to returns the URL of an action on the credential. what begins with a slash; empty,
// it is the page of the credential.
func (c CredentialRow) to(what string) templ.SafeURL {
	return templ.SafeURL("/credentials/" + url.PathEscape(c.Name) + what)
}

// goesTo says where the secret may be sent.
func (c CredentialRow) goesTo() string {
	if len(c.Hosts) == 0 {
		return "any host"
	}
	return strings.Join(c.Hosts, ", ")
}

// usedBy names the flows in a few words.
func (c CredentialRow) usedBy() string {
	if len(c.Uses) == 0 {
		return "–"
	}
	if len(c.Uses) == 1 {
		return c.Uses[0].Flow
	}
	return c.Uses[0].Flow + " and " + components.Count(len(c.Uses)-1) + " more"
}

// addressOf is the host of an address, as people know it.
func addressOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host + strings.TrimSuffix(u.Path, "/")
}

// addLabel says what the button does: who can be asked is asked at once.
func addLabel(f AddCredential) string {
	if f.Plain {
		return "Add"
	}
	return "Add and test"
}

// unboundAdvice returns what to do about a credential without hosts.
func unboundAdvice(proposed bool) string {
	if proposed {
		return "If the URL of a request is an input, anyone who starts the flow can have the secret sent to themselves. Your flows send it to the hosts below. Save them to bind it."
	}
	return "If the URL of a request is an input, anyone who starts the flow can have the secret sent to themselves. Enter the hosts it is for."
}

// found reports whether anything matches the search.
func (f CredentialsPage) found() bool { return len(f.Credentials)+len(f.Providers) > 0 }

// verb is what the link of a provider says.
func (p ProviderCard) verb() string {
	if p.Connected {
		return "Add another"
	}
	return "Connect"
}

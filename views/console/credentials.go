package console

import (
	"net/url"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// CredentialsPage lists the credentials of a workspace. It contains no secrets.
type CredentialsPage struct {
	Query       string
	Credentials []CredentialRow
	// Providers are the providers that match the search.
	Providers []ProviderCard
	// MayEdit is false for viewers, who see only names.
	MayEdit bool
	Now     time.Time
}

// CredentialRow is one credential in the list.
type CredentialRow struct {
	Name, Provider string
	// Can are the tasks that the provider's models can do.
	Can       []string
	Hosts     []string
	BaseURL   string
	ChangedAt time.Time
	Uses      []CredentialUse
	// Environment is set if the credential comes from an environment variable and is not
	// stored.
	Environment bool
	// Plain is set for a secret without a provider, such as a header value. It can't be tested.
	Plain bool
	// Unbound is set if the secret may be sent to any host, Sealed if it can't be decrypted
	// with the current master key.
	Unbound, Sealed bool
}

// usesShown is how many flows that use a credential its page lists.
const usesShown = 100

// CredentialUse is a flow that uses a credential.
type CredentialUse struct {
	FlowID, Flow string
	Nodes        []string
	Live         bool
}

// ProviderCard is a model provider that can be connected.
type ProviderCard struct {
	Name, Title, Text string
	Can               []string
	// Connected is set if the workspace has a credential for it.
	Connected bool
}

// AddCredential is the form for a new credential.
type AddCredential struct {
	Provider, Title string
	// KeysURL is the provider's page on which users create API keys.
	KeysURL string
	// OwnAddress asks for a base URL; Plain is a secret without a provider.
	OwnAddress, Plain    bool
	Name, BaseURL, Hosts string
	// AnyHost allows a plain secret to be sent to any host.
	AnyHost bool
	// Optional is set if the secret may be empty.
	Optional bool
	Errors   components.Errors
}

// CredentialPage is one credential with the forms that change it.
type CredentialPage struct {
	Credential CredentialRow
	Errors     components.Errors
	Now        time.Time
	// Hosts and AnyHost are the values of the form. Proposed is set if the hosts are
	// suggestions, taken from the flows that use the credential, and not saved yet.
	Hosts             string
	AnyHost, Proposed bool
	AtOnce, PerMinute string // call limits, as typed
	// Connection is how an MCP server is connected; nil for other credentials.
	Connection *components.Connection
}

// ConnectPage shows where a person signs in to an MCP server.
type ConnectPage struct {
	Name, URL                          string
	Issuer, Authorize, Token, Register string
	Hosts, Digest                      string
	Redirect                           string // address that the service sends people back to
	ClientID                           string // as typed
	Known                              bool   // the service reads who Sluice is, so no client ID is needed
	NeedsPassword                      bool
	Errors                             components.Errors
	Continue                           string // where the person signs in, once that has begun
}

// actionURL returns the URL of an action on the credential. action starts with a slash; "" is
// the page of the credential.
func (c CredentialRow) actionURL(action string) templ.SafeURL {
	return templ.SafeURL("/credentials/" + url.PathEscape(c.Name) + action)
}

// destinations lists the hosts that the secret may be sent to.
func (c CredentialRow) destinations() string {
	if len(c.Hosts) == 0 {
		return "any host"
	}
	return strings.Join(c.Hosts, ", ")
}

// usedBy summarizes the flows that use the credential.
func (c CredentialRow) usedBy() string {
	if len(c.Uses) == 0 {
		return "–"
	}
	if len(c.Uses) == 1 {
		return c.Uses[0].Flow
	}
	return c.Uses[0].Flow + " and " + components.Count(len(c.Uses)-1) + " more"
}

// addLabel returns the button's label. Credentials of providers are tested before they are
// saved; plain secrets can't be.
func addLabel(f AddCredential) string {
	if f.Plain {
		return "Add"
	}
	return "Add and test"
}

// unboundAdvice returns what to do about a credential without hosts. proposed is set if hosts
// are suggested.
func unboundAdvice(proposed bool) string {
	if proposed {
		return "If the URL of a request is an input, anyone who starts the flow can have the secret sent to themselves. Your flows send it to the hosts below. Save them to bind it."
	}
	return "If the URL of a request is an input, anyone who starts the flow can have the secret sent to themselves. Enter the hosts it is for."
}

// found reports whether anything matches the search.
func (f CredentialsPage) found() bool { return len(f.Credentials)+len(f.Providers) > 0 }

// verb returns the label of the link that connects the provider.
func (p ProviderCard) verb() string {
	if p.Connected {
		return "Add another"
	}
	return "Connect"
}

// secretHelp describes the secret of a new credential.
func secretHelp(f AddCredential) string {
	const stored = "Stored encrypted and never shown again."
	if f.Provider == "mcp" {
		return "A token, a header such as X-API-Key: …, or client credentials as JSON. " + stored
	}
	return stored
}

// heading names what the form adds.
func (f AddCredential) heading() string {
	if f.Provider == "mcp" {
		return "Add an MCP server"
	}
	return "Add a credential for " + f.Title
}

package people

import (
	"context"
	"time"

	"sluice/flow"
)

// Connector lets people sign in to the MCP servers of credentials. An implementation of library.Providers may be one.
type Connector interface {
	// Discover finds out where a person signs in to a server.
	Discover(ctx context.Context, c flow.Credential) (*SignIn, error)
	// Begin makes Sluice known to the authorization server if it must. change puts the sign-in into the secret of the credential;
	// the person continues at the address.
	Begin(ctx context.Context, c flow.Credential, s *SignIn, b ConnectBegin) (change func(secret string) string, address string, err error)
	// Take ends the sign-in that an answer belongs to, and returns the secret without it. finish returns the secret of the
	// connection.
	Take(c flow.Credential, secret string, a ConnectAnswer) (changed string, finish func(ctx context.Context) (secret string, err error), err error)
	// Connected describes the connection in a secret; nil for another secret.
	Connected(secret string) *Connected
	// Disconnect returns the secret of a connection without its tokens; why completes "The connection has ended: ". Another secret is
	// returned as it is.
	Disconnect(secret, why string) string
}

// SignIn is where a person signs in to a server.
type SignIn struct {
	Issuer, Authorize, Token string
	Register                 string   // empty: a client ID is needed, unless Document
	Document                 bool     // the authorization server reads who Sluice is at a URL of Sluice
	Hosts                    []string // of all addresses
	Digest                   string   // identifies the addresses
	Addresses                any      // of the Connector
}

// ConnectBegin is what a person enters to connect a server.
type ConnectBegin struct {
	ClientID, ClientSecret   string // empty: Sluice registers itself
	State, Session, Redirect string
	Document                 string // URL that describes Sluice; empty if authorization servers cannot read it
}

// ConnectAnswer is what an authorization server answers.
type ConnectAnswer struct {
	State, Code, Issuer         string
	Failed                      string // error and description
	Session, Redirect, PersonID string
}

// Connected describes a connection.
type Connected struct {
	Issuer string
	By     string // user ID
	At     time.Time
	// Account is who signed in there, and Scope what the sign-in may do, both as far as the server says.
	Account, Scope string
	Dead           string // why the person must connect again, as a sentence; empty while it works
}

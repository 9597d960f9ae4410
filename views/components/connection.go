package components

import (
	"strings"
	"time"
)

// Connection is the sign-in of a person to an MCP server.
type Connection struct {
	Connected bool
	Issuer    string
	By        string // name of the person
	At        time.Time
	Account   string // who signed in there; empty if the server does not say
	Scope     string // what the sign-in may do; empty if the server does not say
	Dead      string // why the person must connect again
}

// scopes lists the scopes for people.
func (c *Connection) scopes() string { return strings.Join(strings.Fields(c.Scope), ", ") }

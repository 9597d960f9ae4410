// Package client calls the API of a Sluice server for commands, with the same
// paths and rules as any other client. It owns requests and responses; it knows
// nothing of commands and flags.
package client

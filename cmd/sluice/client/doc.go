// Package client calls the API of a Sluice server for commands, with the same
// routes and rules as any other client. It owns requests and responses; it does not
// parse flags or print output.
package client

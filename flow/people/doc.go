// Package people holds the rules of who belongs to a workspace and how they sign in: members and their
// roles, invitations, passwords, sessions, people of identity providers, second factors, and the
// connections that members have made to MCP servers. Each act is one method, which adds its entry to
// the audit log in the same transaction.
//
// It must not know flows, runs or keys; package library holds their rules.
package people

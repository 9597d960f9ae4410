// Package library holds the rules of every noun that people and programs change: flows, credentials,
// keys, secrets, limits, prices, members and so on. Each act is one method, which checks the rule,
// writes, and adds the entry to the audit log in one transaction. It reaches storage through
// interfaces.
package library

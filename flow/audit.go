package flow

import "time"

// AuditEntry is one line of a workspace's audit log.
type AuditEntry struct {
	ID, WorkspaceID string
	Actor           string // ID of a person, or "cli"; empty when nobody was signed in
	Person          string // the name of that person
	Action          string // noun.verb, such as key.create
	Target, Detail  string
	IP              string // where it came from; empty for the command line
	CreatedAt       time.Time
}

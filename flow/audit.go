package flow

import "time"

// AuditEntry is one line of a workspace's audit log.
type AuditEntry struct {
	ID             string
	WorkspaceID    WorkspaceID
	Actor          string // ID of a person or a key, or "cli"; empty for actions without a signed-in user
	Person         string // the name of that person or key
	Action         string // noun.verb, such as key.create
	Target, Detail string
	IP             string // of the client; empty for the command line
	CreatedAt      time.Time
}

// AuditRecord is an entry with its place in the chain of its workspace.
type AuditRecord struct {
	AuditEntry
	Seq int64  // number of the entry, from 1
	MAC string // over the entry and the MAC of the entry before it
}

// AuditChain is the result of verifying a workspace's audit log.
type AuditChain struct {
	WorkspaceID WorkspaceID
	Entries     int64     // entries that were verified
	BeganAt     time.Time // when the chain was started
	Adopted     int64     // the first entries, which existed before the chain
	Pruned      int64     // entries that were deleted when their retention ended
	PrunedAt    time.Time // when the last of those was deleted
	LastSeq     int64     // number of the newest entry
	Break       *AuditBreak
}

// AuditBreak is the first place at which an audit log differs from what was
// written.
type AuditBreak struct {
	Seq    int64  // number of the entry; 0 where the entry has none
	ID     string // of the entry; empty when it is missing or the chain itself is wrong
	Reason string // a sentence for people
}

package flow

import "time"

// MemberRole is what a member may do in a workspace.
type MemberRole string

// The roles. A viewer looks, an editor changes flows and starts runs, an owner
// also decides about people, keys and settings.
const (
	MemberViewer MemberRole = "viewer"
	MemberEditor MemberRole = "editor"
	MemberOwner  MemberRole = "owner"
)

// memberRanks orders the roles; an unknown one may nothing.
var memberRanks = map[MemberRole]int{MemberViewer: 1, MemberEditor: 2, MemberOwner: 3}

// AtLeast reports whether the role may do what another may.
func (r MemberRole) AtLeast(other MemberRole) bool {
	return memberRanks[r] > 0 && memberRanks[r] >= memberRanks[other]
}

// Member is a person in a workspace.
type Member struct {
	UserID, Name, Email string
	WorkspaceID         WorkspaceID
	Workspace           string // the workspace's ID and name
	Role                MemberRole
	JoinedAt            time.Time // only where members are listed
}

package flow

import "time"

// MemberRole is the role of a member in a workspace.
type MemberRole string

// The roles. A viewer only reads, an editor changes flows and starts runs, an owner also manages
// members, keys and settings.
const (
	MemberViewer MemberRole = "viewer"
	MemberEditor MemberRole = "editor"
	MemberOwner  MemberRole = "owner"
)

// memberRanks orders the roles. An unknown role has rank 0 and no permissions.
var memberRanks = map[MemberRole]int{MemberViewer: 1, MemberEditor: 2, MemberOwner: 3}

// AtLeast reports whether the role has all permissions of another.
func (r MemberRole) AtLeast(other MemberRole) bool {
	return memberRanks[r] > 0 && memberRanks[r] >= memberRanks[other]
}

// Member is a person in a workspace.
type Member struct {
	UserID, Name, Email string
	WorkspaceID         WorkspaceID
	Workspace           string // name of the workspace
	Role                MemberRole
	JoinedAt            time.Time // set only in lists of members
}

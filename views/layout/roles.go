package layout

import "slices"

// Role is the role of a member in a workspace.
type Role string

// The roles in ascending order.
const (
	RoleViewer Role = "viewer"
	RoleEditor Role = "editor"
	RoleOwner  Role = "owner"
)

// roles are the roles of members in ascending order: each has all rights of those
// before it.
var roles = []Role{RoleViewer, RoleEditor, RoleOwner}

// AtLeast reports whether the role allows everything that other allows. An
// unknown role allows nothing.
func (r Role) AtLeast(other Role) bool {
	at := slices.Index(roles, r)
	return at >= 0 && at >= slices.Index(roles, other)
}

package flow

import (
	"crypto/rand"
	"time"
)

// How long links work. A password reset link works for a shorter time, because
// anyone who finds it can take over the account.
const (
	InviteLife = 7 * 24 * time.Hour
	ResetLife  = time.Hour
)

// Life returns how long the invite's link works.
func (i *Invite) Life() time.Duration {
	if i.UserID != "" {
		return ResetLife
	}
	return InviteLife
}

// Invite is a link that works once. It lets somebody become a member, or, with
// a UserID, lets that member set a new password.
type Invite struct {
	ID                   string
	WorkspaceID          WorkspaceID
	Workspace            string
	Email                string // for whom it is
	Role                 MemberRole
	UserID               string // whose password it sets; empty on invitations
	CreatedBy, InvitedBy string // ID and name of who made it
	CreatedAt, ExpiresAt time.Time
}

// NewLinkToken makes the secret part of a link: 130 random bits. It is kept
// nowhere but as its Hash.
func NewLinkToken() string { return rand.Text() }

// MayResetPassword reports whether a person may hand out a new password for
// another: who sets a password can act as that person, so they must own every
// workspace that the other is in.
func MayResetPassword(own, theirs []Member) bool {
	for _, their := range theirs {
		owned := false
		for _, mine := range own {
			owned = owned || mine.WorkspaceID == their.WorkspaceID && mine.Role == MemberOwner
		}
		if !owned {
			return false
		}
	}
	return len(theirs) > 0
}

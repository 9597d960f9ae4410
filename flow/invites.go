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

// Invite is a link that works once. It makes someone a member or, with a UserID, allows that
// member to set a new password.
type Invite struct {
	ID                   string
	WorkspaceID          WorkspaceID
	Workspace            string
	Email                string // of the recipient
	Role                 MemberRole
	UserID               string // for a password reset; empty on invitations
	CreatedBy, InvitedBy string // ID and name of the creator
	CreatedAt, ExpiresAt time.Time
}

// NewLinkToken returns the secret part of a link: 130 random bits. Only its Hash is stored.
func NewLinkToken() string { return rand.Text() }

// MayResetPassword reports whether a user may reset the password of another user. The user
// could then act as the other, so they must own every workspace of the other.
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

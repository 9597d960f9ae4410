// Package account renders setup, sign-in, sign-up, passwords, invites, members,
// sessions and workspaces. It knows nothing of stores, sessions or requests.
package account

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
)

// MemberRow is one person of a workspace.
type MemberRow struct {
	UserID, Name, Email, Role string
	JoinedAt                  time.Time
	// You marks the row of who looks; Last that no other owner is there.
	You, Last bool
	// Keys are the person's keys that are not revoked. They are set only if the
	// current user may act on them.
	Keys []MemberKey
	// MayReset is set if the viewer may create a password reset link for the person.
	MayReset bool
}

// dialog names the dialog of a row that does something.
func (m MemberRow) dialog(what string) string { return what + "-" + m.UserID }

// MemberKey is a key that a member created.
type MemberKey struct {
	Name, Prefix string
	LastUsedAt   time.Time
}

// heirs returns the other members who may have keys.
func (m MembersPage) heirs(of MemberRow) (list []components.Option) {
	for _, one := range m.Members {
		if one.UserID != of.UserID && layout.Role(one.Role).AtLeast(layout.RoleEditor) {
			list = append(list, components.Option{Value: one.UserID, Label: one.Name})
		}
	}
	return list
}

// asked returns the member that Ask names.
func (m MembersPage) asked() (one MemberRow, ok bool) {
	for _, one := range m.Members {
		if one.UserID == m.Ask && m.Ask != "" {
			return one, true
		}
	}
	return one, false
}

// InviteRow is one open invitation.
type InviteRow struct {
	ID, Email, Role, InvitedBy string
	ExpiresAt                  time.Time
}

// InviteMember is the form that invites somebody.
type InviteMember struct {
	Email, Role string
	Errors      components.Errors
}

// Link is what was just made and is shown once.
type Link struct {
	// For is the recipient; Password is set if the link sets a password.
	For      string
	Password bool
	URL      string
}

// MembersPage is who is in a workspace.
type MembersPage struct {
	Members []MemberRow
	Invites []InviteRow
	Form    InviteMember
	Link    *Link
	// Ask is the ID of a member with keys who is about to become a viewer.
	Ask string
	// Error is about what was just tried with a member.
	Error string
	// InviteLife and ResetLife are how long a link works.
	InviteLife, ResetLife time.Duration
	Now                   time.Time
}

var roleOptions = []components.Option{{Value: "viewer", Label: "Viewer"}, {Value: "editor", Label: "Editor"}, {Value: "owner", Label: "Owner"}}

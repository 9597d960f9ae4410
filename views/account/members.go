// Package account renders setup, sign-in, sign-up, passwords, invites, members,
// sessions and workspaces. It knows nothing of stores, sessions or requests.
package account

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
)

// MemberRow is one member of a workspace.
type MemberRow struct {
	UserID, Name, Email, Role string
	JoinedAt                  time.Time
	// You marks the viewer's own row, Last the only owner.
	You, Last bool
	// Keys are the person's keys that are not revoked. They are set only if the
	// current user may act on them.
	Keys     []MemberKey
	MoreKeys int // that are not in Keys
	// Connections are the MCP servers that the person has connected. Owners see those of all members, others only their own.
	Connections []MemberConnection
	// Triggers are those that the person or the keys above created. They stay. They are set only if Keys are.
	Triggers     []MemberTrigger
	MoreTriggers int // that are not in Triggers
	// MayReset is set if the viewer may create a password reset link for the person.
	MayReset bool
}

// dialog returns the HTML ID of the row's dialog for an action.
func (m MemberRow) dialog(what string) string { return what + "-" + m.UserID }

// MemberKey is a key that a member created.
type MemberKey struct {
	Name, Prefix string
	LastUsedAt   time.Time
}

// MemberConnection is an MCP server that a member has connected.
type MemberConnection struct{ Name, Href, Issuer string }

// MemberTrigger is a trigger that a member created.
type MemberTrigger struct{ Name, Href string }

// heirs returns the members who can take over another member's keys.
func (m MembersPage) heirs(of MemberRow) (list []components.Option) {
	for _, one := range m.Members {
		if one.UserID != of.UserID && layout.Role(one.Role).AtLeast(layout.RoleEditor) {
			list = append(list, components.Option{Value: one.UserID, Label: one.Name})
		}
	}
	return list
}

// asked returns the member with the ID Ask.
func (m MembersPage) asked() (one MemberRow, ok bool) {
	for _, one := range m.Members {
		if one.UserID == m.Ask && m.Ask != "" {
			return one, true
		}
	}
	return one, false
}

// InviteRow is one pending invitation.
type InviteRow struct {
	ID, Email, Role, InvitedBy string
	ExpiresAt                  time.Time
}

// InviteMember is the form that invites a member.
type InviteMember struct {
	Email, Role string
	Mail        bool // the link is mailed
	Errors      components.Errors
}

// Link is a new link, which is shown only once.
type Link struct {
	// For is the recipient; Password is set if the link sets a password.
	For      string
	Password bool
	URL      string
	// Mailed is set if the server has a mail server; MailError is why it has not taken the link.
	Mailed    bool
	MailError string
}

// what returns what to do with a link.
func (l *Link) what() string {
	switch {
	case l.Mailed && l.MailError == "":
		return "We sent this link to " + l.For + ". You can also copy it now."
	case l.Mailed:
		return "The mail to " + l.For + " was not sent: copy this link now and send it yourself."
	default:
		return "Copy this link now and send it to " + l.For + "."
	}
}

// MembersPage lists the members of a workspace and pending invitations.
type MembersPage struct {
	Members []MemberRow
	Invites []InviteRow
	Form    InviteMember
	Link    *Link
	// Ask is the ID of a member with keys who is about to become a viewer.
	Ask string
	// Error says why the last action on a member failed.
	Error string
	// InviteLife and ResetLife are how long links are valid.
	InviteLife, ResetLife time.Duration
	Now                   time.Time
}

var roleOptions = []components.Option{{Value: "viewer", Label: "Viewer"}, {Value: "editor", Label: "Editor"}, {Value: "owner", Label: "Owner"}}

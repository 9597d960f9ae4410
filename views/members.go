package views

import "time"

// MemberRow is one person of a workspace.
type MemberRow struct {
	UserID, Name, Email, Role string
	JoinedAt                  time.Time
	// You marks the row of who looks; Last that no other owner is there.
	You, Last bool
	// MayReset tells that the person's password is in the hands of who looks.
	MayReset bool
}

// dialog names the dialog of a row that does something.
func (m MemberRow) dialog(what string) string { return what + "-" + m.UserID }

// InviteRow is one open invitation.
type InviteRow struct {
	ID, Email, Role, InvitedBy string
	ExpiresAt                  time.Time
}

// InviteMember is the form that invites somebody.
type InviteMember struct {
	Email, Role string
	Errors      Errors
}

// Link is what was just made and is shown once.
type Link struct {
	// For is whom to send it to; Password tells that it sets a password.
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
	// Error is about what was just tried with a member.
	Error string
	Now   time.Time
}

var roleOptions = []Option{{"viewer", "Viewer"}, {"editor", "Editor"}, {"owner", "Owner"}}

// SessionRow is one browser in which a person is signed in.
type SessionRow struct {
	ID, Device, IP     string
	SignedInAt, SeenAt time.Time
	This               bool
}

// AuditRow is one line of the audit log, in words.
type AuditRow struct {
	At        time.Time
	Who, What string
	// Target is what it was done to; Detail says more, and From is an address.
	Target, Detail, From string
	// Alarm marks what an owner should look at.
	Alarm bool
}

package account

import (
	"fmt"
	"strings"
	"time"

	"sluice/views/components"
	"sluice/views/layout"
)

// SessionRow is one session of the user, identified by its browser.
type SessionRow struct {
	ID, Device, IP     string
	SignedInAt, SeenAt time.Time
	This               bool
}

// SessionsPage lists the sessions of the user.
type SessionsPage struct {
	Rows []SessionRow
	// How long a session lasts: without use, and in total.
	Idle, Max time.Duration
	Now       time.Time
	// Of is the member whose sessions an owner sees; nil on the user's own page. MayEnd is set if the owner may end them.
	Of     *MemberRow
	MayEnd bool
}

// FactorPage turns two-step sign-in on and off.
type FactorPage struct {
	Email string
	// HasPassword is unset for people who sign in with an identity provider only. They need no second step here.
	HasPassword bool
	// Required is set if the role of the user requires it.
	Required bool
	// On is set if it is on, since Since. Left is the number of recovery codes that are left.
	On         bool
	Left       int
	Since, Now time.Time
	// Secret is set while a first code is awaited. QR is the data of a path, Side the length of the picture.
	Secret, QR string
	Side       int
	// Codes are new recovery codes, which are shown only once.
	Codes  []string
	Errors components.Errors
}

// parts returns the secret in groups of four, for typing it.
func (p FactorPage) parts() string {
	var b strings.Builder
	for i, r := range p.Secret {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// box returns the view box of the picture, with the quiet zone of four units that QR codes need.
func (p FactorPage) box() string { return fmt.Sprintf("-4 -4 %d %d", p.Side+8, p.Side+8) }

// tab returns the tab of the page.
func (s SessionsPage) tab() layout.SettingsTab {
	if s.Of != nil {
		return layout.TabMembers
	}
	return layout.TabSessions
}

// title returns the heading of the list.
func (s SessionsPage) title() string {
	if s.Of != nil {
		return "Where " + s.Of.Name + " is signed in"
	}
	return "Where you are signed in"
}

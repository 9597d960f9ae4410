package account

import "time"

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
}

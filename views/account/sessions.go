package account

import "time"

// SessionRow is one browser in which a person is signed in.
type SessionRow struct {
	ID, Device, IP     string
	SignedInAt, SeenAt time.Time
	This               bool
}

// SessionsPage lists the browsers in which a person is signed in.
type SessionsPage struct {
	Rows []SessionRow
	// How long a session lasts: without use, and in total.
	Idle, Max time.Duration
	Now       time.Time
}

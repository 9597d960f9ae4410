package flow

import "time"

// User is a person who can sign in. What they may do is said by the workspaces
// that they are a member of.
type User struct {
	ID, Email, Name string
	PasswordHash    string // argon2id, in its own notation
	CreatedAt       time.Time
}

// Session is one browser in which a person is signed in.
type Session struct {
	TokenHash  string // SHA-256 of the cookie; the cookie itself is kept nowhere
	ID         string // names the session to its person
	UserID     string
	IP, Agent  string // address and browser that it was last used from
	SignedInAt time.Time
	SeenAt     time.Time // to the minute
	ExpiresAt  time.Time
	Data       []byte
}

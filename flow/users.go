package flow

import "time"

// User is a person who can sign in. Their permissions depend on their role in each workspace.
type User struct {
	ID, Email, Name string
	Unverified      bool   // from an open sign-up, which does not prove the address
	PasswordHash    string // argon2id in PHC string format
	CreatedAt       time.Time
}

// Session is one browser in which a person is signed in.
type Session struct {
	TokenHash  string // SHA-256 of the cookie, which is not stored
	ID         string // identifies the session to its user
	UserID     string
	IP, Agent  string // client address and browser of the last use
	SignedInAt time.Time
	SeenAt     time.Time // last use, to the minute
	ExpiresAt  time.Time
	Data       []byte
}

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

// SecondFactor is what a user who signs in with a password must prove in addition.
type SecondFactor struct {
	UserID      string
	Secret      string    // in base32
	LastStep    int64     // the newest time step whose code was used
	Recovery    []string  // hashes of the recovery codes that are left
	ConfirmedAt time.Time // zero until the user has entered a first code
}

// Confirmed reports whether a sign-in requires the factor. f may be nil.
func (f *SecondFactor) Confirmed() bool { return f != nil && !f.ConfirmedAt.IsZero() }

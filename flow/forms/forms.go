package forms

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
)

// Form is a published flow as a page that anybody with its address can use.
type Form struct {
	FlowID      string
	WorkspaceID flow.WorkspaceID
	On          bool // off is as if there were no form
	Settings
	Day, Taken int64 // runs that it started on Day, as Day counts days
	UpdatedAt  time.Time
}

// Settings is what members decide about a form.
type Settings struct {
	Title        string   `json:"title,omitempty"`  // empty: the flow's name
	Intro        string   `json:"intro,omitempty"`  // empty: the flow's description
	Button       string   `json:"button,omitempty"` // empty: Run
	PasswordHash string   `json:"password_hash,omitempty"`
	PerMinute    int64    `json:"per_minute"` // times that one address may send it
	PerDay       int64    `json:"per_day"`    // runs that it starts in a day, UTC
	MaxFile      int64    `json:"max_file"`   // bytes of one file
	Origins      []string `json:"origins,omitempty"`
	Unlisted     bool     `json:"unlisted,omitempty"` // search engines are asked to leave it out
	Keep         bool     `json:"keep,omitempty"`     // of a chat: its runs are kept with their content, as those of other forms
}

// New is the form of a flow before anybody decided about it: off.
func New(ws flow.WorkspaceID, flowID string) *Form {
	return &Form{FlowID: flowID, WorkspaceID: ws, Settings: Settings{PerMinute: 10, PerDay: 500, MaxFile: 25 << 20}}
}

// Changed names what differs from the settings before, for the audit log.
func (s *Settings) Changed(before *Settings) (names []string) {
	for _, part := range []struct {
		name string
		same bool
	}{
		{"title", s.Title == before.Title}, {"introduction", s.Intro == before.Intro}, {"button", s.Button == before.Button},
		{"password", s.PasswordHash == before.PasswordHash}, {"limits", s.PerMinute == before.PerMinute && s.PerDay == before.PerDay && s.MaxFile == before.MaxFile},
		{"embedding", slices.Equal(s.Origins, before.Origins)}, {"search engines", s.Unlisted == before.Unlisted},
		{"keeping of conversations", s.Keep == before.Keep},
	} {
		if !part.same {
			names = append(names, part.name)
		}
	}
	return names
}

// Day is the day of a moment, counted in UTC since 1970.
func Day(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// UsedUp reports whether the form has started all runs that it may on a day.
func (f *Form) UsedUp(now time.Time) bool { return f.Day == Day(now) && f.Taken >= f.PerDay }

// Seals signs what visitors of forms are given: tickets to their own runs,
// and passes where there is a password.
type Seals struct{ Key []byte }

// Ticket is part of a URL. Its bearer may follow and cancel this one
// run of the form until it expires.
func (s *Seals) Ticket(flowID, runID string, expires time.Time) string {
	at := strconv.FormatInt(expires.Unix(), 36)
	return strings.TrimPrefix(runID, flow.PrefixRun) + "." + at + "." + s.sign("run", flowID, runID, at)
}

// Admits finds the run that a ticket is for, and until when.
func (s *Seals) Admits(flowID, ticket string, now time.Time) (runID string, expires time.Time, ok bool) {
	parts := strings.Split(ticket, ".")
	if len(parts) != 3 {
		return "", expires, false
	}
	runID = flow.PrefixRun + parts[0]
	expires, ok = sealTime(parts[1])
	ok = ok && now.Before(expires) && hmac.Equal([]byte(parts[2]), []byte(s.sign("run", flowID, runID, parts[1])))
	return runID, expires, ok
}

// Pass stands in a cookie: somebody gave the form's password. It is worth
// nothing once there is another.
func (s *Seals) Pass(f *Form, expires time.Time) string {
	at := strconv.FormatInt(expires.Unix(), 36)
	return at + "." + s.sign("pass", f.FlowID, f.PasswordHash, at)
}

// Passes reports whether a pass is valid for the form's current password.
func (s *Seals) Passes(f *Form, pass string, now time.Time) bool {
	at, signature, _ := strings.Cut(pass, ".")
	expires, ok := sealTime(at)
	return ok && now.Before(expires) && hmac.Equal([]byte(signature), []byte(s.sign("pass", f.FlowID, f.PasswordHash, at)))
}

// Turn signs a reply of the assistant in a chat. digest is a hash of the conversation up to
// and including the reply.
func (s *Seals) Turn(flowID, digest string) string { return s.sign("turn", flowID, digest, "") }

// IsTurn reports whether a signature is that of a reply.
func (s *Seals) IsTurn(flowID, digest, signature string) bool {
	return hmac.Equal([]byte(signature), []byte(s.Turn(flowID, digest)))
}

func sealTime(text string) (t time.Time, ok bool) {
	seconds, err := strconv.ParseInt(text, 36, 64)
	return time.Unix(seconds, 0), err == nil
}

// sign begins with what kind of seal it is: the key signs other things too.
func (s *Seals) sign(what, flowID, whom, expires string) string {
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte("form " + what + "\n" + flowID + "\n" + whom + "\n" + expires))
	return hex.EncodeToString(mac.Sum(nil))
}

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

// Form is a public page that runs a published flow. Anyone who knows its URL can use it.
type Form struct {
	FlowID      flow.FlowID
	WorkspaceID flow.WorkspaceID
	On          bool // if false, the form's URL does not exist
	Settings
	Day, Taken int64 // Taken runs were started on Day; see the function Day
	UpdatedAt  time.Time
}

// Settings are the options of a form that members choose.
type Settings struct {
	Title        string   `json:"title,omitempty"`  // empty: the flow's name
	Intro        string   `json:"intro,omitempty"`  // empty: the flow's description
	Button       string   `json:"button,omitempty"` // empty: Run
	PasswordHash string   `json:"password_hash,omitempty"`
	PerMinute    int64    `json:"per_minute"`         // limit of submissions per minute and IP address
	PerDay       int64    `json:"per_day"`            // limit of runs per day in UTC
	MaxFile      int64    `json:"max_file"`           // bytes of one file
	Origins      []string `json:"origins,omitempty"`  // sites that may embed the form
	Unlisted     bool     `json:"unlisted,omitempty"` // asks search engines not to index it
	Keep         bool     `json:"keep,omitempty"`     // of a chat: keeps the content of its runs, as other forms do
}

// New returns the form of a flow with default settings, turned off.
func New(ws flow.WorkspaceID, flowID flow.FlowID) *Form {
	return &Form{FlowID: flowID, WorkspaceID: ws, Settings: Settings{PerMinute: 10, PerDay: 500, MaxFile: 25 << 20}}
}

// Changed returns the names of the settings that differ from before, for the audit log.
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

// Day returns the number of the day of a time: days in UTC since 1970.
func Day(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

// UsedUp reports whether the form has reached its limit of runs for the day.
func (f *Form) UsedUp(now time.Time) bool { return f.Day == Day(now) && f.Taken >= f.PerDay }

// Seals signs the tokens of a form's visitors: tickets for their own runs, passes for
// forms with a password, and the replies of a chat.
type Seals struct{ Key []byte }

// Ticket returns a token for use in URLs. Its bearer can follow and cancel this run of the
// form until it expires.
func (s *Seals) Ticket(flowID flow.FlowID, runID flow.RunID, expires time.Time) string {
	at := strconv.FormatInt(expires.Unix(), 36)
	return strings.TrimPrefix(string(runID), flow.PrefixRun) + "." + at + "." + s.sign("run", flowID, string(runID), at)
}

// VerifyTicket verifies a ticket and returns its run and when it expires.
func (s *Seals) VerifyTicket(flowID flow.FlowID, ticket string, now time.Time) (runID flow.RunID, expires time.Time, ok bool) {
	parts := strings.Split(ticket, ".")
	if len(parts) != 3 {
		return "", expires, false
	}
	runID = flow.RunID(flow.PrefixRun + parts[0])
	expires, ok = sealTime(parts[1])
	ok = ok && now.Before(expires) && hmac.Equal([]byte(parts[2]), []byte(s.sign("run", flowID, string(runID), parts[1])))
	return runID, expires, ok
}

// Pass returns the value of the cookie for visitors who entered the form's password.
// Changing the password invalidates it.
func (s *Seals) Pass(f *Form, expires time.Time) string {
	at := strconv.FormatInt(expires.Unix(), 36)
	return at + "." + s.sign("pass", f.FlowID, f.PasswordHash, at)
}

// VerifyPass reports whether a pass is valid for the form's current password.
func (s *Seals) VerifyPass(f *Form, pass string, now time.Time) bool {
	at, signature, _ := strings.Cut(pass, ".")
	expires, ok := sealTime(at)
	return ok && now.Before(expires) && hmac.Equal([]byte(signature), []byte(s.sign("pass", f.FlowID, f.PasswordHash, at)))
}

// SignTurn signs a reply of the assistant in a chat, so that clients cannot forge one. digest
// is a hash of the conversation up to and including the reply.
func (s *Seals) SignTurn(flowID flow.FlowID, digest string) string {
	return s.sign("turn", flowID, digest, "")
}

// VerifyTurn reports whether a signature of SignTurn is valid for the conversation.
func (s *Seals) VerifyTurn(flowID flow.FlowID, digest, signature string) bool {
	return hmac.Equal([]byte(signature), []byte(s.SignTurn(flowID, digest)))
}

func sealTime(text string) (t time.Time, ok bool) {
	seconds, err := strconv.ParseInt(text, 36, 64)
	return time.Unix(seconds, 0), err == nil
}

// sign returns a MAC that covers the type of token, since the same key signs other data
// too.
func (s *Seals) sign(what string, flowID flow.FlowID, whom, expires string) string {
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte("form " + what + "\n" + string(flowID) + "\n" + whom + "\n" + expires))
	return hex.EncodeToString(mac.Sum(nil))
}

package console

import (
	"net/url"
	"strings"
	"time"

	"sluice/views/components"

	"github.com/a-h/templ"
)

// The states of a key.
const (
	KeyActive  = "active"
	KeyExpired = "expired"
	KeyRevoked = "revoked"
)

// KeyFacts is what is known of a key at a moment. Its secret is not.
type KeyFacts struct {
	ID, Name, Prefix string
	Scopes           []string
	// Limits are phrases: "600 requests a minute".
	Limits []string
	// State is one of the states of a key; EndsSoon is set if an active key is
	// about to expire.
	State    string
	EndsSoon bool
	// Overlaps is set if the secret before the last rotation still works.
	Overlaps bool
	Previous PreviousKey

	CreatedAt, ExpiresAt, RevokedAt, LastUsedAt time.Time
	LastUsedIP                                  string
	Uses                                        int64
	// RenewedExpiry is when the key expires if it is rotated now; zero is never.
	RenewedExpiry time.Time
}

// PreviousKey is the secret that a key had before it was rotated.
type PreviousKey struct {
	Prefix        string
	Until, UsedAt time.Time
	UsedIP        string
	Uses          int64
}

// KeyRow is one key, with the names of what it points to. Its text is nowhere.
type KeyRow struct {
	KeyFacts
	// FlowNames are the flows that it may call; none means all flows.
	FlowNames []string
	// MadeBy is a person or the command line; Former is set if the person is no
	// longer a member.
	MadeBy string
	Former bool
	// MakerKey is the ID of the key that made it, if MadeBy is the name of a key.
	MakerKey string
	// Made are the keys that it made, directly or through others, and that are not revoked.
	Made []KeyFlow
	Now  time.Time
}

// MadeKey is a key whose text is on the screen, for this once.
type MadeKey struct {
	Text string
	// WebhookSecret signs the webhooks of its runs.
	WebhookSecret string
	Key           KeyRow
	// Rolled is set if it follows another text; Done leads away from it.
	Rolled bool
	Done   string
}

// KeysPage lists the keys of a workspace.
type KeysPage struct {
	Keys []KeyRow
	// All shows those that have ended too; Ended is how many they are.
	All    bool
	Active int
	Ended  int
	Made   *MadeKey
	// MayEdit is false for viewers.
	MayEdit bool
	Now     time.Time
}

// KeyPage is one key and what can be done with it.
type KeyPage struct {
	Key  KeyRow
	Form KeyForm
	Made *MadeKey
	// Error says why what was just tried was not done.
	Error   string
	MayEdit bool
}

// FlowKeysPanel are the keys that may call a flow, and a way to a new one.
type FlowKeysPanel struct {
	FlowID, Flow string
	Keys         []KeyRow
	Form         KeyForm
	Made         *MadeKey
	Error        string
	MayEdit      bool
}

// KeyFlow is a flow that a key may call, or a key that it made.
type KeyFlow struct{ ID, Name string }

// KeyForm is what people say of a key. Numbers are as they were typed.
type KeyForm struct {
	// ID is the key's. A new one has it too, so that sending the form twice does
	// not make two keys.
	ID     string
	Name   string
	Scopes []string
	// Only limits the key to Flows, out of Choices.
	Only    bool
	Flows   []string
	Choices []KeyFlow
	// Expiry is one of the choices of expiries; Date goes with "date".
	Expiry, Date                            string
	RPM, Concurrency, RunsPerDay, USDPerDay string
	AllowUnpriced                           bool
	// Existing is the key that the form changes; nil for a new one.
	Existing *KeyFacts
	// Within begins the names of the fields where a page has other forms.
	Within string
	Now    time.Time
	Errors components.Errors
}

// KeyWarning is a key in use that will stop.
type KeyWarning struct {
	ID, Name  string
	ExpiresAt time.Time
}

// KeyPath is where a key lives.
func KeyPath(id string) string { return "/keys/" + url.PathEscape(id) }

// to returns the URL of an action on the key. what begins with a slash; empty, it is
// the page of the key.
func (k KeyRow) to(what string) templ.SafeURL { return templ.SafeURL(KeyPath(k.ID) + what) }

// dialog names the dialog of a key that does something.
func (k KeyRow) dialog(what string) string { return what + "-" + k.ID }

// tag says where the key stands, and how urgent that is.
func (k KeyRow) tag() (components.Tone, string) {
	switch k.State {
	case KeyRevoked:
		return components.ToneNone, "revoked"
	case KeyExpired:
		return components.ToneBad, "expired"
	}
	if k.EndsSoon {
		return components.ToneWait, "expires " + In(k.ExpiresAt, k.Now)
	}
	return components.ToneOK, "active"
}

func (k KeyRow) tone() components.Tone { tone, _ := k.tag(); return tone }
func (k KeyRow) state() string         { _, word := k.tag(); return word }

// usable is set if programs can call with it.
func (k KeyRow) usable() bool { return k.State == KeyActive }

// scopes returns the scopes of the key, such as "run, read", separated by commas.
func (k KeyRow) scopes() string {
	return strings.Join(k.Scopes, ", ")
}

// reach names the flows in a few words.
func (k KeyRow) reach() string {
	switch len(k.FlowNames) {
	case 0:
		return "all flows"
	case 1:
		return k.FlowNames[0]
	}
	return k.FlowNames[0] + " and " + components.Count(len(k.FlowNames)-1) + " more"
}

// reachHere is reach where one flow is meant anyway.
func (k KeyRow) reachHere() string {
	switch len(k.FlowNames) {
	case 0:
		return "all flows"
	case 1:
		return "this flow only"
	}
	return "this flow and " + components.Count(len(k.FlowNames)-1) + " more"
}

// maker names who created the key. A key keeps working after its maker left the
// workspace, unless it was revoked then, so the row points a former member out.
func (k KeyRow) maker() string {
	if k.Former {
		return k.MadeBy + ", no longer a member"
	}
	return k.MadeBy
}

// made names the keys that it made: the first few.
func (k KeyRow) made() string {
	var names []string
	for i, m := range k.Made {
		if i == 3 && len(k.Made) > 4 {
			names = append(names, components.Count(len(k.Made)-i)+" more")
			break
		}
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// terms are the limits and the expiry in one line.
func (k KeyRow) terms(reach string) string {
	list := append([]string{k.scopes(), reach}, k.Limits...)
	if !k.ExpiresAt.IsZero() && k.usable() {
		list = append(list, "expires "+day(k.ExpiresAt))
	}
	return strings.Join(list, " · ")
}

// lastUse is who would notice if the key stopped.
func (k KeyRow) lastUse() string {
	if k.LastUsedAt.IsZero() {
		return "It has never been used."
	}
	return "It was last used " + components.Ago(k.LastUsedAt, k.Now) + " from " + k.LastUsedIP + ", and " + components.Quantity(int(k.Uses), "time") + " in all."
}

// until returns roughly how long something continues.
func until(at, now time.Time) string {
	if d := at.Sub(now); d < 48*time.Hour {
		return strings.Replace(In(at, now), "in ", "for ", 1)
	}
	return "until " + day(at)
}

// day and moment format times in UTC, because keys expire and daily limits reset by
// UTC. day leaves the time out.
func day(at time.Time) string    { return at.UTC().Format("2 Jan 2006") }
func moment(at time.Time) string { return at.UTC().Format("2 Jan 2006, 15:04 UTC") }

// In says roughly how far after now something is, or its date.
func In(at, now time.Time) string {
	d := at.Sub(now)
	switch {
	case d < time.Minute:
		return "in less than a minute"
	case d < time.Hour:
		return "in " + components.Count(int(d.Minutes())) + " min."
	case d < 48*time.Hour:
		return "in " + components.Count(int(d.Hours())) + " hr."
	case d < 30*24*time.Hour:
		return "in " + components.Count(int((d+12*time.Hour).Hours()/24)) + " days"
	}
	return day(at)
}

// to returns the URL of an action in the panel of keys of a flow, which stays on the
// page. rest begins with a slash or is empty.
func (f FlowKeysPanel) to(rest string) templ.SafeURL {
	return components.FlowURL(f.FlowID, "/keys"+rest)
}

// swaps are the attributes of a form whose answer takes the panel's place.
func (f FlowKeysPanel) swaps(rest string) templ.Attributes {
	return templ.Attributes{"data-hx-post": string(f.to(rest)), "data-hx-target": "#flow-keys", "data-hx-swap": "outerHTML"}
}

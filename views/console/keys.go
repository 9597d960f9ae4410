package console

import (
	"net/url"
	"strings"
	"time"

	"sluice/flow/wording"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// The states of a key.
const (
	KeyActive  = "active"
	KeyExpired = "expired"
	KeyRevoked = "revoked"
)

// KeyFacts describes a key without its secret.
type KeyFacts struct {
	ID, Name, Prefix string
	Scopes           []string
	// Limits are for display, such as "600 requests a minute".
	Limits []string
	// State is one of the states of a key; EndsSoon is set if an active key is
	// about to expire.
	State    string
	EndsSoon bool
	// Overlaps is set if the secret from before the last rotation still works.
	Overlaps bool
	Previous PreviousKey

	CreatedAt, ExpiresAt, RevokedAt, LastUsedAt time.Time
	LastUsedIP                                  string
	Uses                                        int64
	// RenewedExpiry is when the key would expire if it were rotated now; zero is never.
	RenewedExpiry time.Time
}

// PreviousKey is the secret that a key had before it was rotated.
type PreviousKey struct {
	Prefix        string
	Until, UsedAt time.Time
	UsedIP        string
	Uses          int64
}

// KeyRow is one key with the names of its flows and its creator. It does not contain the
// secret.
type KeyRow struct {
	KeyFacts
	// FlowNames are the flows that the key may call; empty means all flows.
	FlowNames []string
	// MadeBy is the user who created the key, another key, or the command line. Former is set
	// if the user is no longer a member.
	MadeBy string
	Former bool
	// MakerKey is the ID of the key that created it, if MadeBy is the name of a key.
	MakerKey string
	// Made are the keys created with this key, directly or indirectly, that are not revoked.
	Made []KeyFlow
	Now  time.Time
}

// MadeKey is a new secret, which is shown only once.
type MadeKey struct {
	Text string
	// WebhookSecret signs the webhooks of runs started with the key.
	WebhookSecret string
	Key           KeyRow
	// Rotated is set if the key was rotated, and not created. Done is the URL to go to next.
	Rotated bool
	Done    string
}

// KeysPage lists the keys of a workspace.
type KeysPage struct {
	Keys []KeyRow
	// All also lists expired and revoked keys; Ended is their number.
	All    bool
	Active int
	Ended  int
	Made   *MadeKey
	// MayEdit is false for viewers.
	MayEdit bool
	Now     time.Time
	Pages   components.Pages
}

// KeyPage is one key with the forms that change it.
type KeyPage struct {
	Key  KeyRow
	Form KeyForm
	Made *MadeKey
	// Error says why the last action failed.
	Error   string
	MayEdit bool
}

// FlowKeysPanel lists the keys that may call a flow, with a form for a new one.
type FlowKeysPanel struct {
	FlowID, Flow string
	LiveVersion  int64
	Keys         []KeyRow
	More         int // older keys that are not in Keys
	Form         KeyForm
	Made         *MadeKey
	Error        string
	MayEdit      bool
}

// KeyFlow is a flow that a key may call, or a key that it made.
type KeyFlow struct{ ID, Name string }

// KeyForm holds the fields of a new or changed key. Numbers are kept as typed.
type KeyForm struct {
	// ID is the ID of the key. A new key has one as well, so that submitting the form twice
	// doesn't create two keys.
	ID     string
	Name   string
	Scopes []string
	// Only limits the key to Flows, which are a subset of Choices.
	Only    bool
	Flows   []string
	Choices []KeyFlow
	More    int // flows that are not in Choices
	// Expiry is one of the values of expiries; Date is used with "date".
	Expiry, Date                            string
	RPM, Concurrency, RunsPerDay, USDPerDay string
	AllowUnpriced                           bool
	// Existing is the key that the form changes; nil for a new one.
	Existing *KeyFacts
	// Within is a prefix for field names on pages with several forms.
	Within string
	Now    time.Time
	Errors components.Errors
}

// KeyWarning is a key that is in use and will stop working.
type KeyWarning struct {
	ID, Name  string
	ExpiresAt time.Time
}

// KeyPath returns the URL of a key's page.
func KeyPath(id string) string { return "/keys/" + url.PathEscape(id) }

// actionURL returns the URL of an action on the key. action starts with a slash; "" is the page
// of the key.
func (k KeyRow) actionURL(action string) templ.SafeURL { return templ.SafeURL(KeyPath(k.ID) + action) }

// dialog returns the HTML ID of the key's dialog for an action.
func (k KeyRow) dialog(action string) string { return action + "-" + k.ID }

// tag returns the label of the key's state, and a tone for its urgency.
func (k KeyRow) tag() (components.Tone, string) {
	switch k.State {
	case KeyRevoked:
		return components.ToneNone, "Revoked"
	case KeyExpired:
		return components.ToneBad, "Expired"
	}
	if k.EndsSoon {
		return components.ToneWait, "Expires " + In(k.ExpiresAt, k.Now)
	}
	return components.ToneOK, "Active"
}

func (k KeyRow) tone() components.Tone { tone, _ := k.tag(); return tone }
func (k KeyRow) state() string         { _, word := k.tag(); return word }

// usable reports whether requests with the key are accepted.
func (k KeyRow) usable() bool { return k.State == KeyActive }

// scopes returns the scopes of the key, such as "run, read", separated by commas.
func (k KeyRow) scopes() string {
	return strings.Join(k.Scopes, ", ")
}

// reach summarizes the flows that the key may call.
func (k KeyRow) reach() string {
	switch len(k.FlowNames) {
	case 0:
		return "all flows"
	case 1:
		return k.FlowNames[0]
	}
	return k.FlowNames[0] + " and " + components.Count(len(k.FlowNames)-1) + " more"
}

// reachHere is reach for the page of a single flow.
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

// made names the first few keys that this key created.
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

// terms returns the limits and the expiry in one line.
func (k KeyRow) terms(reach string) string {
	list := append([]string{k.scopes(), reach}, k.Limits...)
	if !k.ExpiresAt.IsZero() && k.usable() {
		list = append(list, "expires "+wording.Day(k.ExpiresAt))
	}
	return strings.Join(list, " · ")
}

// lastUse says when and from where the key was last used, so that its owner can be found before
// it is revoked.
func (k KeyRow) lastUse() string {
	if k.LastUsedAt.IsZero() {
		return "It has never been used."
	}
	return "It was last used " + components.Ago(k.LastUsedAt, k.Now) + " from " + k.LastUsedIP + ", and " + components.Quantity(int(k.Uses), "time") + " in all."
}

// until formats roughly how long it is from now until at.
func until(at, now time.Time) string {
	if d := at.Sub(now); d < 48*time.Hour {
		return strings.Replace(In(at, now), "in ", "for ", 1)
	}
	return "until " + wording.Day(at)
}

// In formats roughly how long it is from now until at, or at's date if that is far off.
func In(at, now time.Time) string {
	d := at.Sub(now)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return "in " + components.Count(int(d.Seconds())) + " s"
	case d < time.Hour:
		return "in " + components.Count(int(d.Minutes())) + " min."
	case d < 48*time.Hour:
		return "in " + components.Count(int(d.Hours())) + " hr."
	case d < 30*24*time.Hour:
		return "in " + components.Count(int((d+12*time.Hour).Hours()/24)) + " days"
	}
	return wording.Day(at)
}

// actionURL returns the URL of an action in the panel of keys of a flow, which stays on the
// page. action starts with a slash or is empty.
func (f FlowKeysPanel) actionURL(action string) templ.SafeURL {
	return components.FlowURL(f.FlowID, "/keys"+action)
}

// swaps returns the attributes of a form whose response replaces the panel.
func (f FlowKeysPanel) swaps(action string) templ.Attributes {
	return templ.Attributes{"data-hx-post": string(f.actionURL(action)), "data-hx-target": "#flow-keys", "data-hx-swap": "outerHTML"}
}

package flow

import (
	"crypto/rand"
	"hash/crc32"
	"math/big"
	"slices"
	"strings"
	"time"
)

// Scope is a permission of a key.
type Scope string

const (
	ScopeRun    Scope = "run"    // start, cancel, rerun, files, and reading runs this key started
	ScopeRead   Scope = "read"   // every GET of the allowed flows
	ScopeManage Scope = "manage" // DELETE, redeliver, draft and non-live versions
	ScopeEdit   Scope = "edit"   // create, replace, publish, archive and apply flows
	// ScopeApprove reads and answers the questions that runs ask people.
	ScopeApprove Scope = "approve"
	// ScopeAdmin manages keys within the key's own rights, and credentials. No other
	// scope includes it.
	ScopeAdmin Scope = "admin"
)

// Scopes lists all scopes, from least to most powerful.
var Scopes = []Scope{ScopeRun, ScopeRead, ScopeManage, ScopeEdit, ScopeApprove, ScopeAdmin}

// ScopeNames returns all scopes as text, separated by commas.
func ScopeNames() string {
	names := make([]string, len(Scopes))
	for i, s := range Scopes {
		names[i] = string(s)
	}
	return strings.Join(names, ", ")
}

// Key allows a program to call /v1. Only a hash of its secret is stored.
type Key struct {
	ID          string
	WorkspaceID WorkspaceID
	Name        string
	Prefix      string // the first characters of the secret, to recognize it
	Hash        string // SHA-256 of the secret, in hex
	Scopes      []Scope
	Flows       []string // allowed flow IDs; empty means all flows of the workspace
	RPM         int64    // requests per minute; 0 means no limit, as below
	Concurrency int64    // runs that have not ended
	USDPerDay   NanoUSD  // nano-dollars per UTC day
	// AllowUnpriced lets runs use models without a price although USDPerDay is set.
	AllowUnpriced bool
	RunsPerDay    int64 // runs accepted per UTC day
	CreatedAt     time.Time
	CreatedBy     string    // ID of a person or of a key, or "cli"
	RotatedAt     time.Time // when the current secret was made, if it is not the first
	RotatedBy     []string  // IDs of the other keys that have ever rotated it, so that they knew a secret
	Previous      PreviousSecret
	ExpiresAt     time.Time // zero: never
	RevokedAt     time.Time // zero unless revoked
	LastUsedAt    time.Time
	LastUsedIP    string
	Uses          int64
	UserID        string  // the person for whom the dashboard sends a request; empty for stored keys
	Trigger       Trigger // what runs started with it are triggered by; empty means api

	// Makers are the key that created this one, the key that created that one, and so on.
	// Their limits include its usage. They are set only for a key that a caller presents.
	Makers []Key

	// Presented is the hash of the secret that the caller sent: Hash or
	// Previous.Hash. It is empty if the key was read for another reason.
	Presented string
	// Recent reports that the key comes from a cache, so it may have changed.
	Recent bool
}

// SameAccess reports whether a cached key grants the same access as this one, which was read
// just now.
func (k *Key) SameAccess(cached *Key) bool {
	r := cached
	return k.RevokedAt.Equal(r.RevokedAt) && k.ExpiresAt.Equal(r.ExpiresAt) &&
		k.Hash == r.Hash && k.Previous.Hash == r.Previous.Hash && k.Previous.Until.Equal(r.Previous.Until) &&
		slices.Equal(k.Scopes, r.Scopes) && slices.Equal(k.Flows, r.Flows) && k.RPM == r.RPM &&
		k.Concurrency == r.Concurrency && k.USDPerDay == r.USDPerDay && k.RunsPerDay == r.RunsPerDay && k.AllowUnpriced == r.AllowUnpriced
}

// PreviousSecret is the secret of a key before its rotation. It works until a time, so that
// callers can switch one by one.
type PreviousSecret struct {
	Prefix, Hash string
	Until        time.Time
	UsedAt       time.Time // last use since it was replaced
	UsedIP       string
	Uses         int64 // since it was replaced
}

// KeyMaker is a user who created keys. Member reports whether they are still a member of the
// workspace.
type KeyMaker struct {
	Name   string
	Member bool
}

// KeyHandover determines what happens to the keys of a user who leaves a workspace or loses the
// right to create keys. The zero value revokes them.
type KeyHandover struct {
	HeirID string // the member who takes them over; their secrets keep working
	By     Actor  // author of the decision, for the audit log
	// KeepConnections leaves the user's sign-ins to MCP servers in use. By default they end.
	KeepConnections bool
}

// KeyState is the state of a key.
type KeyState string

// The states of keys.
const (
	KeyActive  KeyState = "active"
	KeyExpired KeyState = "expired"
	KeyRevoked KeyState = "revoked"
)

// KeyWarning is how long before the expiry of a key users are warned.
const KeyWarning = 7 * 24 * time.Hour

// State returns the state of the key at a time.
func (k *Key) State(now time.Time) KeyState {
	switch {
	case !k.RevokedAt.IsZero():
		return KeyRevoked
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return KeyExpired
	}
	return KeyActive
}

// ExpiresSoon reports whether the key is active and expires within KeyWarning.
func (k *Key) ExpiresSoon(now time.Time) bool {
	return k.State(now) == KeyActive && !k.ExpiresAt.IsZero() && k.ExpiresAt.Sub(now) <= KeyWarning
}

// Overlaps reports whether the previous secret still works.
func (k *Key) Overlaps(now time.Time) bool {
	return k.State(now) == KeyActive && k.Previous.Prefix != "" && now.Before(k.Previous.Until)
}

// Refusal returns why the secret that the caller presented is not valid at a time, or nil.
func (k *Key) Refusal(now time.Time) error {
	switch k.State(now) {
	case KeyRevoked:
		return Errorf(CodeKeyRevoked, "This key was revoked.")
	case KeyExpired:
		return Errorf(CodeKeyExpired, "This key has expired.")
	}
	if k.Presented != "" && k.Presented == k.Previous.Hash && !k.Overlaps(now) {
		return Errorf(CodeKeyRevoked, "This key was replaced by a new one. Use that.")
	}
	return nil
}

// MaxKeyMakers bounds the length of Key.Makers.
const MaxKeyMakers = 5

// Maker returns the ID of the key that created this one, or "" if a user did.
func (k *Key) Maker() string {
	if strings.HasPrefix(k.CreatedBy, PrefixKey) {
		return k.CreatedBy
	}
	return ""
}

// MayMakeKeys reports whether this key may have created other keys. Scopes never change, so a
// key without ScopeAdmin never has.
func (k *Key) MayMakeKeys() bool { return k.Has(ScopeAdmin) }

// KeysMadeBy returns the keys in a list that a user or a key created, directly or through other
// keys in the list.
func KeysMadeBy(maker string, keys []Key) (made []Key) {
	for makers := []string{maker}; len(makers) > 0; makers = makers[1:] {
		for i := range keys {
			if k := &keys[i]; k.CreatedBy == makers[0] {
				made, makers = append(made, *k), append(makers, k.ID)
			}
		}
	}
	return made
}

// NeedsPrices reports whether the budget of the key forbids models without a price.
func (k *Key) NeedsPrices() bool { return k.USDPerDay > 0 && !k.AllowUnpriced }

// Has reports whether the key has the scope.
func (k *Key) Has(s Scope) bool { return slices.Contains(k.Scopes, s) }

// Allows reports whether the key may call the flow.
func (k *Key) Allows(flowID FlowID) bool {
	return len(k.Flows) == 0 || slices.Contains(k.Flows, string(flowID))
}

const (
	keyPrefix   = "slu_"
	keyRandom   = 30
	keyChecksum = 6
	base62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	// KeyShown is the number of characters of a secret that are stored to recognize it.
	KeyShown = len(keyPrefix) + 6
)

// NewKeyText returns a new secret: slu_, 30 random base62 characters (178 bits) and their CRC-32
// in 6 base62 characters, so that secret scanners can find and check it.
func NewKeyText() string {
	var b strings.Builder
	b.WriteString(keyPrefix)
	for range keyRandom {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(base62))))
		if err != nil {
			panic("flow: no randomness: " + err.Error())
		}
		b.WriteByte(base62[n.Int64()])
	}
	return b.String() + checksum(b.String()[len(keyPrefix):])
}

// ValidKeyText reports whether a text has the form and checksum of a secret. Such a key need
// not exist.
func ValidKeyText(s string) bool {
	rest, ok := strings.CutPrefix(s, keyPrefix)
	if !ok || len(rest) != keyRandom+keyChecksum {
		return false
	}
	for _, c := range []byte(rest) {
		if strings.IndexByte(base62, c) < 0 {
			return false
		}
	}
	return checksum(rest[:keyRandom]) == rest[keyRandom:]
}

// checksum returns the last characters of a secret: a CRC-32 in base 62. With it, secret
// scanners can distinguish keys from similar texts without the server.
func checksum(random string) string {
	sum := crc32.ChecksumIEEE([]byte(random))
	out := [keyChecksum]byte{}
	for i := range out {
		out[keyChecksum-1-i] = base62[sum%62]
		sum /= 62
	}
	return string(out[:])
}

package flow

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of public IDs.
const (
	PrefixFlow     = "flow_"
	PrefixRun      = "run_"
	PrefixKey      = "key_"
	PrefixDelivery = "whd_"
	PrefixEndpoint = "end_"
	// PrefixWebhookSecret begins the IDs of signing secrets of webhook nodes.
	PrefixWebhookSecret = "whs_"

	PrefixFile       = "file_"
	PrefixWorkspace  = "ws_"
	PrefixUser       = "user_"
	PrefixCredential = "cred_"
	PrefixAudit      = "aud_"
	PrefixInvite     = "inv_"
	PrefixSession    = "sess_"
	PrefixTrigger    = "trg_"
	PrefixEvent      = "evt_" // positions of events
	PrefixAlarm      = "alarm_"
	PrefixMessage    = "msg_" // messages of alarms
)

// IDs generates prefixed ULIDs: 48 bits of milliseconds and 80 random bits, in lower-case
// Crockford base32, so that later IDs sort after earlier ones.
type IDs struct {
	Now    func() time.Time
	Random io.Reader
}

// NewIDs returns a generator with the system clock and random source.
func NewIDs() IDs { return IDs{Now: time.Now, Random: rand.Reader} }

// New returns a new ID.
func (g IDs) New(prefix string) string {
	id := ulid.MustNew(ulid.Timestamp(g.Now()), g.Random)
	return prefix + strings.ToLower(id.String())
}

// NewFlow returns a fresh ID for a flow.
func (g IDs) NewFlow() FlowID { return FlowID(g.New(PrefixFlow)) }

// NewRun returns a fresh ID for a run.
func (g IDs) NewRun() RunID { return RunID(g.New(PrefixRun)) }

// DeliveryID derives the ID of a webhook message from its run and the path of the sending
// step. A step that runs again, as after a restore, sends the same ID, so that receivers can
// deduplicate. n numbers the messages of a step. The per-run webhook has an empty path. The
// time in the ID is that of the run's ID.
func DeliveryID(runID RunID, path string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "delivery\x00%s\x00%s\x00%d", runID, path, n))
	return derivedID(PrefixDelivery, string(runID), sum[:])
}

// ValidID reports whether s has the form of an ID with this prefix. Callers check it before a
// query, and treat malformed IDs like unknown ones.
func ValidID[ID ~string](prefix string, s ID) bool {
	rest, ok := strings.CutPrefix(string(s), prefix)
	if !ok || len(rest) != ulid.EncodedSize || strings.ToLower(rest) != rest {
		return false
	}
	_, err := ulid.ParseStrict(rest)
	return err == nil
}

// FirstID returns the smallest ID of time t, so that a time range maps to an ID range.
func FirstID(prefix string, t time.Time) string {
	var id ulid.ULID
	if ms := t.UnixMilli(); ms > 0 {
		_ = id.SetTime(min(uint64(ms), ulid.MaxTime()))
	}
	return prefix + strings.ToLower(id.String())
}

// TimeOfID returns the creation time in an ID, in milliseconds, or zero for anything else.
func TimeOfID(prefix, id string) time.Time {
	parsed, err := ulid.Parse(strings.TrimPrefix(id, prefix))
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(parsed.Time()).UTC()
}

package flow

import (
	"strconv"
	"strings"
	"time"
)

// DeliveryState is the state of a delivery.
type DeliveryState string

const (
	DeliveryPending   DeliveryState = "pending"   // being sent, or waiting for its next attempt
	DeliveryDelivered DeliveryState = "delivered" // answered 2xx
	DeliveryFailed    DeliveryState = "failed"    // all attempts failed, or the receiver answered 410
)

// Delivery is one webhook message and its state. Its ID is the webhook-id header, which is
// the same for every attempt.
type Delivery struct {
	ID               string
	WorkspaceID      WorkspaceID
	FlowID           FlowID
	Position         string // orders deliveries by creation
	RunID            RunID  // empty for tests and alarms, which belong to no run
	Node             string // empty for the per-run webhook; of alarms see AlarmNode
	EndpointID       string
	EndpointFailures int64 // failed attempts at its endpoint since the last success; set only for workers
	URL              string
	Body             []byte
	Secret           any    // secret value; nil for the secret of the signer
	Signer           string // ID of the key or of the webhook secret that signs it; empty for the flow
	Header           string // custom signature header
	Signature        any    // value of that header: secret reference or text
	State            DeliveryState
	Attempt          int64 // attempts begun in the current series
	CreatedAt        time.Time
	NextAt           time.Time // when it is due; zero once ended
	EndedAt          time.Time
	Erased           Code   // why the content was erased; empty while it exists
	Traceparent      string // of its run; set only for workers
}

// Test marks a message sent to test a receiver. It is sent once.
func (d *Delivery) Test() bool { return d.RunID == "" && AlarmOf(d.Node) == "" }

// AlarmNode returns what takes the place of the node in deliveries of an alarm.
func AlarmNode(alarmID string) string { return "@" + alarmID }

// AlarmOf returns the ID of the alarm that sent a delivery of a node, or "".
func AlarmOf(node string) string {
	id, ok := strings.CutPrefix(node, "@")
	if !ok {
		return ""
	}
	return id
}

// Cause classifies the failure of an attempt, so that pages can suggest a fix.
type Cause string

// The causes. An attempt that succeeded has none.
const (
	CauseStatus     Cause = "status"     // a response that is not 2xx
	CauseRedirect   Cause = "redirect"   // 3xx
	CauseGone       Cause = "gone"       // 410
	CauseTimeout    Cause = "timeout"    // no complete response in time
	CauseTLS        Cause = "tls"        // an invalid certificate, or no HTTPS at all
	CauseConnection Cause = "connection" // any other network error
	CauseOwn        Cause = "own"        // it could not be signed or its URL is invalid
)

// DeliveryAttempt is one try at sending a delivery.
type DeliveryAttempt struct {
	DeliveryID string
	Number     int64 // 1, 2, 3 … over all series
	StartedAt  time.Time
	Latency    time.Duration
	Status     int    // HTTP status; 0 without a response
	Response   string // at most the first 4 KiB of the body
	Error      string // message for users; empty on success
	Cause      Cause
	Signature  string // the webhook-signature header; empty if signing failed
}

// Header is one header of a request.
type Header struct{ Name, Value string }

// Headers returns the request headers of an attempt, without the custom signature.
func (a *DeliveryAttempt) Headers() []Header {
	return []Header{
		{"Content-Type", "application/json"},
		{"User-Agent", "Sluice-Webhooks/1"},
		{"Webhook-Id", a.DeliveryID},
		{"Webhook-Timestamp", strconv.FormatInt(a.StartedAt.Unix(), 10)},
		{"Webhook-Signature", a.Signature},
	}
}

// deliveryPauses are the waits after the first, second … failed attempt.
var deliveryPauses = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// DeliveryPause returns the wait after the given number of failed attempts, or
// false after the last one. jitter in [0,1) lengthens it by up to a tenth.
func DeliveryPause(failed int64, jitter float64) (time.Duration, bool) {
	if failed < 1 || failed > int64(len(deliveryPauses)) {
		return 0, false
	}
	p := deliveryPauses[failed-1]
	return p + time.Duration(jitter*float64(p)/10), true
}

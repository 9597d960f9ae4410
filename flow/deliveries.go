package flow

import (
	"strconv"
	"time"
)

// DeliveryState is where a delivery stands.
type DeliveryState string

const (
	DeliveryPending   DeliveryState = "pending"   // being sent, or waiting for its next attempt
	DeliveryDelivered DeliveryState = "delivered" // answered 2xx
	DeliveryFailed    DeliveryState = "failed"    // all attempts used up, or stopped by 410
)

// Delivery is one webhook message and where it stands. Its ID is the
// webhook-id header, the same on every attempt.
type Delivery struct {
	ID               string
	WorkspaceID      WorkspaceID
	FlowID           string
	Position         string // orders deliveries by when they were made
	RunID            string // empty for a test, which belongs to no run
	Node             string // empty for the per-run webhook
	EndpointID       string
	EndpointFailures int64 // failed attempts at its endpoint since the last success; set only for workers
	URL              string
	Body             []byte
	Secret           any    // secret value; nil for that of the signer
	Signer           string // ID of the key or of the webhook secret that signs it; empty for the flow
	Header           string // custom signature header
	Signature        any    // its value: secret reference or text
	State            DeliveryState
	Attempt          int64 // attempts begun in the present series
	CreatedAt        time.Time
	NextAt           time.Time // when it is due; zero when ended
	EndedAt          time.Time
	Erased           Code // why its content is gone; empty while it is there
}

// Test marks a message sent to test a receiver. It is sent once.
func (d *Delivery) Test() bool { return d.RunID == "" }

// Cause is what kind of failure an attempt ended with, for advice.
type Cause string

// The causes. An attempt that succeeded has none.
const (
	CauseStatus     Cause = "status"     // an answer that is not 2xx
	CauseRedirect   Cause = "redirect"   // 3xx
	CauseGone       Cause = "gone"       // 410
	CauseTimeout    Cause = "timeout"    // no complete answer in time
	CauseTLS        Cause = "tls"        // a certificate, or no HTTPS at all
	CauseConnection Cause = "connection" // everything else on the way there
	CauseOwn        Cause = "own"        // it could not be signed or addressed
)

// DeliveryAttempt is one try at sending a delivery.
type DeliveryAttempt struct {
	DeliveryID string
	Number     int64 // 1, 2, 3 … over all series
	StartedAt  time.Time
	Latency    time.Duration
	Status     int    // HTTP status; 0 when there was no answer
	Response   string // at most the first 4 KiB of the body
	Error      string // why there was no success, as a person reads it
	Cause      Cause
	Signature  string // the webhook-signature header; empty when it could not be made
}

// Header is one header of a request.
type Header struct{ Name, Value string }

// Headers are what an attempt at a delivery sends, without the custom signature.
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

package flow

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Endpoint is where a webhook node, or the webhooks of a flow's runs, send to
// on one host.
type Endpoint struct {
	ID, FlowID   string
	Node         string // empty for the webhooks of runs
	Host         string
	FailingSince time.Time // of the first failure after the last success; zero while it works
	URL          string    // of the newest delivery
	LastAt       time.Time // when the newest delivery was made
	// Attempts are the newest ones, the oldest first, without their responses.
	Attempts []DeliveryAttempt
}

// HostOf is the host of a URL with its port, as endpoints are told apart.
func HostOf(address string) string {
	u, err := url.Parse(WithSampleSecrets(address))
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// Last is the newest attempt; nil before the first.
func (e *Endpoint) Last() *DeliveryAttempt {
	if len(e.Attempts) == 0 {
		return nil
	}
	return &e.Attempts[len(e.Attempts)-1]
}

// Succeeded counts the attempts that were answered 2xx.
func (e *Endpoint) Succeeded() (n int) {
	for i := range e.Attempts {
		if e.Attempts[i].Error == "" {
			n++
		}
	}
	return n
}

// P95 is the time within which 95 % of the attempts were over; zero without any.
func (e *Endpoint) P95() time.Duration {
	if len(e.Attempts) == 0 {
		return 0
	}
	took := make([]time.Duration, len(e.Attempts))
	for i := range e.Attempts {
		took[i] = e.Attempts[i].Latency
	}
	slices.Sort(took)
	return took[(len(took)*95+99)/100-1]
}

// Trouble is what an endpoint needs somebody to look at.
type Trouble string

// The troubles.
const (
	TroubleNone     Trouble = ""
	TroubleRedirect Trouble = "redirect" // it redirects
	TroubleGone     Trouble = "gone"     // its owner disabled it
	TroubleTLS      Trouble = "tls"      // no secure connection comes about
	TroubleTimeout  Trouble = "timeout"  // it answers too late
	TroubleRefuses  Trouble = "refuses"  // 401, 403 or 404: a wrong secret or address
	TroubleOwn      Trouble = "own"      // the message could not be made
	TroubleLong     Trouble = "long"     // it has failed for long in some other way
)

// longFailing is after how long a failure is more than a hiccup: the third
// attempt of a message comes later than that.
const longFailing = 30 * time.Minute

// Trouble says what is wrong now. A success ends it, whatever was before.
func (e *Endpoint) Trouble(now time.Time) Trouble {
	last := e.Last()
	if last == nil || last.Error == "" {
		return TroubleNone
	}
	switch last.Cause {
	case CauseRedirect:
		return TroubleRedirect
	case CauseGone:
		return TroubleGone
	case CauseTLS:
		return TroubleTLS
	case CauseTimeout:
		return TroubleTimeout
	case CauseOwn:
		return TroubleOwn
	}
	if slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, last.Status) {
		return TroubleRefuses
	}
	if !e.FailingSince.IsZero() && now.Sub(e.FailingSince) >= longFailing {
		return TroubleLong
	}
	return TroubleNone
}

// FailedChoice is which failed deliveries are to be sent again.
type FailedChoice struct {
	WorkspaceID        WorkspaceID
	FlowID, EndpointID string    // one of them, or neither for the whole workspace
	Since              time.Time // made then or later; zero for all
	// Asked is when the person looked at how many there are. What failed later
	// is left alone, so that asking twice sends nothing twice.
	Asked time.Time
}

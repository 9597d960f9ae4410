// Package endpoints judges the receivers of webhooks by their newest attempts: how many
// succeeded, how long they took, and what a person has to look at.
//
// It must not know how attempts are made or stored.
package endpoints

import (
	"net/http"
	"slices"
	"time"

	"sluice/flow"
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
	Attempts []flow.DeliveryAttempt
}

// Last is the newest attempt; nil before the first.
func (e *Endpoint) Last() *flow.DeliveryAttempt {
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

// Trouble is a problem of an endpoint that a person has to look at.
type Trouble string

// The troubles.
const (
	TroubleNone     Trouble = ""
	TroubleRedirect Trouble = "redirect" // it redirects
	TroubleGone     Trouble = "gone"     // its owner disabled it
	TroubleTLS      Trouble = "tls"      // no secure connection can be made
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
	case flow.CauseRedirect:
		return TroubleRedirect
	case flow.CauseGone:
		return TroubleGone
	case flow.CauseTLS:
		return TroubleTLS
	case flow.CauseTimeout:
		return TroubleTimeout
	case flow.CauseOwn:
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

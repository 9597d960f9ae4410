// Package endpoints rates the receivers of webhooks by their latest attempts: how many
// succeeded, how long they took, and which problems need attention.
//
// It must not depend on how attempts are made or stored.
package endpoints

import (
	"net/http"
	"slices"
	"time"

	"sluice/flow"
)

// Endpoint is a URL to which a webhook node, or the webhooks of a flow's runs, send. From the
// 101st URL of a node at one host on, several URLs share one.
type Endpoint struct {
	ID           string
	FlowID       flow.FlowID
	Node         string // empty for the webhooks of runs
	Host         string
	FailingSince time.Time // first failure after the last success; zero while it works
	URL          string    // of the newest delivery
	LastAt       time.Time // when the newest delivery was created
	// Attempts are the latest attempts in chronological order, without their responses.
	Attempts []flow.DeliveryAttempt
}

// Last returns the newest attempt, or nil if there was none.
func (e *Endpoint) Last() *flow.DeliveryAttempt {
	if len(e.Attempts) == 0 {
		return nil
	}
	return &e.Attempts[len(e.Attempts)-1]
}

// Succeeded counts the attempts without an error, which had a 2xx response.
func (e *Endpoint) Succeeded() (n int) {
	for i := range e.Attempts {
		if e.Attempts[i].Error == "" {
			n++
		}
	}
	return n
}

// P95 returns the 95th percentile of the latencies, or 0 without attempts.
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

// Problem is a problem of an endpoint that needs attention.
type Problem string

// The problems.
const (
	ProblemNone     Problem = ""
	ProblemRedirect Problem = "redirect" // it responds with a redirect
	ProblemGone     Problem = "gone"     // its owner disabled it
	ProblemTLS      Problem = "tls"      // the TLS handshake fails
	ProblemTimeout  Problem = "timeout"  // it does not respond in time
	ProblemRefuses  Problem = "refuses"  // 401, 403 or 404: a wrong secret or URL
	ProblemOwn      Problem = "own"      // the message could not be built
	ProblemLong     Problem = "long"     // another failure, for longer than longFailing
)

// longFailing is how long failures are tolerated as transient. The third attempt of a
// message comes later than that.
const longFailing = 30 * time.Minute

// Problem returns the current problem of the endpoint. A success clears it.
func (e *Endpoint) Problem(now time.Time) Problem {
	last := e.Last()
	if last == nil || last.Error == "" {
		return ProblemNone
	}
	switch last.Cause {
	case flow.CauseRedirect:
		return ProblemRedirect
	case flow.CauseGone:
		return ProblemGone
	case flow.CauseTLS:
		return ProblemTLS
	case flow.CauseTimeout:
		return ProblemTimeout
	case flow.CauseOwn:
		return ProblemOwn
	}
	if slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound}, last.Status) {
		return ProblemRefuses
	}
	if !e.FailingSince.IsZero() && now.Sub(e.FailingSince) >= longFailing {
		return ProblemLong
	}
	return ProblemNone
}

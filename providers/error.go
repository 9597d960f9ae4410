package providers

import (
	"fmt"
	"time"
)

// Kind says what went wrong, in words a program can compare.
type Kind string

// The kinds of failure.
const (
	KindAuth         Kind = "auth"         // the secret is missing, wrong or not allowed to do this
	KindRateLimited  Kind = "rate_limited" // too many calls
	KindRejected     Kind = "rejected"     // the provider refuses this request: wrong value, no money left, content policy
	KindUnavailable  Kind = "unavailable"  // not reached, out of order, broken off
	KindNotFound     Kind = "not_found"    // no such model
	KindIncompatible Kind = "incompatible" // the model or provider cannot do this
	KindBadAnswer    Kind = "bad_answer"   // the answer is not what was asked for
	KindBlocked      Kind = "blocked"      // the address is private or reserved
	KindTooLarge     Kind = "too_large"    // the answer exceeds its limit
	KindBadRequest   Kind = "bad_request"  // the request makes no sense, so it was not sent
)

// Error is the only type of error that this package and those below it return
// for what an upstream did; the end of a context stays the context's error.
// Message is one or two sentences for people: what happened, in the provider's
// own words where it gave any, and what to do.
type Error struct {
	Kind      Kind
	Message   string
	Retryable bool          // the same request could succeed later
	After     time.Duration // do not try again sooner; zero when unknown
	RequestID string        // the provider's, for its support; empty when unknown
	Status    int           // of the HTTP answer; zero when there was none

	about string // which parameter a refusal names, with its sentence
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Sentence is Error by the name under which callers that do not know this
// package find a text made for people.
func (e *Error) Sentence() string { return e.Message }

func badRequest(format string, args ...any) *Error {
	return &Error{Kind: KindBadRequest, Message: fmt.Sprintf(format, args...)}
}

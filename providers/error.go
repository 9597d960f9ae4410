package providers

import (
	"fmt"
	"time"
)

// ErrorClass is the machine-readable reason of an Error.
type ErrorClass string

// The classes of errors.
const (
	ClassAuth         ErrorClass = "auth"         // the secret is missing, wrong or not allowed to do this
	ClassRateLimited  ErrorClass = "rate_limited" // too many calls
	ClassRejected     ErrorClass = "rejected"     // the provider refuses this request: wrong value, no money left, content policy
	ClassUnavailable  ErrorClass = "unavailable"  // not reached, out of order, broken off
	ClassNotFound     ErrorClass = "not_found"    // no such model
	ClassIncompatible ErrorClass = "incompatible" // the model or provider cannot do this
	ClassBadAnswer    ErrorClass = "bad_answer"   // the answer is not what was asked for
	ClassBlocked      ErrorClass = "blocked"      // the address is private or reserved
	ClassTooLarge     ErrorClass = "too_large"    // the answer exceeds its limit
	ClassBadRequest   ErrorClass = "bad_request"  // the request makes no sense, so it was not sent
)

// Error is the only type of error that this package and those below it return
// for what an upstream did; the end of a context stays the context's error.
// Message is one or two sentences for people: what happened, in the provider's
// own words where it gave any, and what to do.
type Error struct {
	Class     ErrorClass
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

// badRequest is the error for a request that is wrong before it is sent.
func badRequest(format string, args ...any) *Error {
	return &Error{Class: ClassBadRequest, Message: fmt.Sprintf(format, args...)}
}

package providers

import (
	"errors"
	"fmt"
	"time"
)

// ErrorClass is the machine-readable reason of an Error.
type ErrorClass string

// The classes of errors.
const (
	ClassAuth         ErrorClass = "auth"         // the secret is missing, wrong or not allowed to do this
	ClassRateLimited  ErrorClass = "rate_limited" // too many calls
	ClassRejected     ErrorClass = "rejected"     // the provider rejected the request: invalid value, no credit, content policy
	ClassUnavailable  ErrorClass = "unavailable"  // not reachable, failing, or the response broke off
	ClassNotFound     ErrorClass = "not_found"    // no such model
	ClassIncompatible ErrorClass = "incompatible" // the model or provider cannot do this
	ClassBadAnswer    ErrorClass = "bad_answer"   // the response is invalid or does not match the request
	ClassBlocked      ErrorClass = "blocked"      // the address is private or reserved
	ClassTooLarge     ErrorClass = "too_large"    // the response exceeds its limit
	ClassBadRequest   ErrorClass = "bad_request"  // the request is invalid, so it was not sent
)

// Error is the only type of error that this package and its subpackages return for
// failures of a provider; the end of a context stays the context's error. Message is one
// or two sentences for users: what happened, quoting the provider if possible, and what
// to do.
type Error struct {
	Class     ErrorClass
	Message   string
	Retryable bool          // the same request could succeed later
	After     time.Duration // minimum wait before a retry; 0 if unknown
	RequestID string        // for the provider's support; "" if unknown
	Status    int           // HTTP status; 0 without a response

	about    string // parameter, code and sentence of a rejection
	unbilled bool   // the provider refused the request, which costs nothing
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Sentence returns the message. Callers that do not import this package use the method to
// recognize errors with a text for users.
func (e *Error) Sentence() string { return e.Message }

// lostError is the error of a call that was sent and whose cost is therefore unknown: no
// response came, or it broke off or could not be read.
type lostError struct{ error }

// Unwrap returns the error of the call: an *Error or the context's.
func (e lostError) Unwrap() error { return e.error }

// Lost reports whether an error of this package ended a call that was sent, so that it may have
// been charged although its cost is unknown.
func Lost(err error) bool {
	_, lost := errors.AsType[lostError](err)
	return lost
}

// AsLost marks the error of a call that was sent; see Lost. It is for subpackages.
func AsLost(err error) error {
	if err == nil || Lost(err) {
		return err
	}
	return lostError{err}
}

// badRequest returns the error for an invalid request, which was not sent.
func badRequest(format string, args ...any) *Error {
	return &Error{Class: ClassBadRequest, Message: fmt.Sprintf(format, args...)}
}

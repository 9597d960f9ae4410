package outbound

import "errors"

// ErrorClass is the machine-readable reason of an Error.
type ErrorClass string

// The kinds of failure.
const (
	// ClassBlocked: the address is private or reserved and not allowed.
	ClassBlocked ErrorClass = "destination_blocked"
	// ClassBadURL: the URL is not one Sluice sends requests to.
	ClassBadURL ErrorClass = "bad_url"
	// ClassBadRequest: the method or a header cannot be sent.
	ClassBadRequest ErrorClass = "bad_request"
	// ClassTimeout: connecting, the first byte or the whole took too long.
	ClassTimeout ErrorClass = "timeout"
	// ClassTooLarge: the body or the headers of the answer exceed their limit.
	ClassTooLarge ErrorClass = "response_too_large"
	// ClassRedirect: a redirect that is not followed.
	ClassRedirect ErrorClass = "redirect_refused"
	// ClassConnection: no connection, or it broke before the answer was complete.
	ClassConnection ErrorClass = "connection_failed"
	// ClassCanceled: the caller gave up.
	ClassCanceled ErrorClass = "canceled"
)

// blockedMessage is the same for every reason, so that nobody can map a private
// network by comparing answers.
const blockedMessage = "The address is private or reserved. An operator can allow ranges with SLUICE_ALLOW_PRIVATE."

// errBlocked is what the dialers' control functions return; classify turns it
// into an Error.
var errBlocked = errors.New("outbound: address blocked")

// Error is the only type of error this package returns from requests. Message
// is one sentence for people: it names the host from the URL and never the
// addresses behind it.
type Error struct {
	Class   ErrorClass
	Message string

	retryable bool
	cause     error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Sentence is Error by the name under which callers that do not know this
// package find a text made for people.
func (e *Error) Sentence() string { return e.Message }

// Unwrap returns the cause as the standard library reported it, so that
// errors.Is works with context.Canceled and its like. The cause can hold
// addresses: it is for operators' logs, not for callers. A blocked destination
// has none.
func (e *Error) Unwrap() error { return e.cause }

// Retryable reports whether the same request could succeed later. The
// first request may have been executed all the same.
func (e *Error) Retryable() bool { return e.retryable }

// Temporary is Retryable under the name net.Error gives it.
func (e *Error) Temporary() bool { return e.retryable }

// Timeout reports KindTimeout under the name net.Error gives it.
func (e *Error) Timeout() bool { return e.Class == ClassTimeout }

// blocked returns the error for an address that requests must not reach. The message
// never names the address, so that flows cannot explore the network.
func blocked() *Error              { return &Error{Class: ClassBlocked, Message: blockedMessage} }
func badURL(message string) *Error { return &Error{Class: ClassBadURL, Message: message} }

// badRequest returns the error for a request that is refused before it is sent, for
// instance because of its method or a header.
func badRequest(message string) *Error { return &Error{Class: ClassBadRequest, Message: message} }

// redirectRefused returns the error for a redirect that is not followed. It ends the
// request: the redirect's own response is not returned.
func redirectRefused(message string) *Error { return &Error{Class: ClassRedirect, Message: message} }

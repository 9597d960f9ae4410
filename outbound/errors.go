package outbound

import (
	"errors"
	"sync/atomic"
)

// ErrorClass is the machine-readable reason of an Error.
type ErrorClass string

// The classes of errors.
const (
	// ClassBlocked: the address is private or reserved and not allowed.
	ClassBlocked ErrorClass = "destination_blocked"
	// ClassBadURL: the URL is invalid or ambiguous.
	ClassBadURL ErrorClass = "bad_url"
	// ClassBadRequest: the method or a header cannot be sent.
	ClassBadRequest ErrorClass = "bad_request"
	// ClassTimeout: connecting, the first byte or the whole call took too long.
	ClassTimeout ErrorClass = "timeout"
	// ClassTooLarge: the body or the headers of the response exceed their limit.
	ClassTooLarge ErrorClass = "response_too_large"
	// ClassEncoding: the content coding of the response is unknown, or its data is invalid.
	ClassEncoding ErrorClass = "undecodable"
	// ClassRedirect: a redirect was not followed.
	ClassRedirect ErrorClass = "redirect_refused"
	// ClassConnection: the connection failed, or broke before the response was complete.
	ClassConnection ErrorClass = "connection_failed"
	// ClassCanceled: the caller canceled the request.
	ClassCanceled ErrorClass = "canceled"
)

// blockedMessage is the same for every reason, so that it cannot be used to map a
// private network.
const blockedMessage = "The address is private or reserved. An operator can allow ranges with SLUICE_ALLOW_PRIVATE."

// errBlocked is returned by the dialers' control functions; classify converts it
// to an Error.
var errBlocked = errors.New("outbound: address blocked")

// Error is the only type of error that requests return. Message is one sentence
// for users: it names the host in the URL and never the addresses behind it.
type Error struct {
	Class   ErrorClass
	Message string

	retryable bool
	cause     error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Sentence returns the message. Callers that do not import this package use the
// method to recognize errors with a text for users.
func (e *Error) Sentence() string { return e.Message }

// Unwrap returns the cause as the standard library reported it, so that
// errors.Is works with errors such as context.Canceled. The cause can contain
// addresses: it may be logged for operators but not shown to users. A blocked
// destination has no cause.
func (e *Error) Unwrap() error { return e.cause }

// Retryable reports whether the same request could succeed later. The failed
// request may have been executed nevertheless.
func (e *Error) Retryable() bool { return e.retryable }

// Temporary implements net.Error; it is the same as Retryable.
func (e *Error) Temporary() bool { return e.retryable }

// Timeout implements net.Error; it reports ClassTimeout.
func (e *Error) Timeout() bool { return e.Class == ClassTimeout }

// blocked returns the error for an address that requests must not reach. The message
// never names the address, so that flows cannot explore the network.
func blocked() *Error {
	refused.Add(1)
	return &Error{Class: ClassBlocked, Message: blockedMessage}
}

// refused counts the errors of blocked.
var refused atomic.Int64

// Refused returns how often this process has refused an address because it is private or reserved.
func Refused() int64 { return refused.Load() }

// badURL returns the error for a URL that cannot be used.
func badURL(message string) *Error { return &Error{Class: ClassBadURL, Message: message} }

// badRequest returns the error for a request that is rejected before it is sent, for
// example because of its method or a header.
func badRequest(message string) *Error { return &Error{Class: ClassBadRequest, Message: message} }

// redirectRefused returns the error for a redirect that is not followed. It ends the
// request: the redirect's own response is not returned.
func redirectRefused(message string) *Error { return &Error{Class: ClassRedirect, Message: message} }

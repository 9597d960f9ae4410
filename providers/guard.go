package providers

import (
	"errors"
	"io"
	"net/http"
	"syscall"

	"sluice/outbound"
)

// Guarded returns the Doer of a running Sluice: every call passes the guard of package
// outbound. Its body limit allows the longest stream and the largest image or recording;
// content that is read into memory has lower limits.
func Guarded(client *outbound.Client) Doer { return guarded{client} }

// guarded sends requests through package outbound, which blocks private addresses.
type guarded struct{ client *outbound.Client }

// HTTPClient returns a client that follows redirects only for files that a response links
// to, and not for calls.
func (g guarded) HTTPClient(trusted bool) *http.Client {
	return g.client.HTTPClient(outbound.ClientOptions{
		Provider:         trusted,
		MaxRedirects:     outbound.MaxRedirects,
		FirstByteTimeout: outbound.ModelFirstByteTimeout,
		MaxBody:          maxStream,
	})
}

// outboundClasses maps classes of package outbound; all others mean "not reachable".
var outboundClasses = map[outbound.ErrorClass]ErrorClass{
	outbound.ClassBlocked:    ClassBlocked,
	outbound.ClassTooLarge:   ClassTooLarge,
	outbound.ClassBadURL:     ClassBadRequest,
	outbound.ClassBadRequest: ClassBadRequest,
	outbound.ClassRedirect:   ClassRejected,
}

// fromOutbound converts a transport error. The messages of errors other than outbound's are
// dropped, because they could contain addresses.
func fromOutbound(err error) *Error {
	e, ok := errors.AsType[*outbound.Error](err)
	if !ok {
		return &Error{Class: ClassUnavailable, Message: transportSentence(err), Retryable: true}
	}
	if class, ok := outboundClasses[e.Class]; ok {
		return &Error{Class: class, Message: e.Message}
	}
	return &Error{Class: ClassUnavailable, Message: e.Message, Retryable: e.Retryable()}
}

// transportSentence describes an error of the connection without the addresses that Go puts
// into it.
func transportSentence(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "The connection was refused."
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "The connection broke off before the answer was complete."
	}
	return "The request failed on the way."
}

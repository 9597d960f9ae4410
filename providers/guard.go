package providers

import (
	"errors"
	"io"
	"net/http"
	"syscall"

	"sluice/outbound"
)

// Guarded is the Doer of a running Sluice: every call passes the guard of
// package outbound. Its limit of a body is that of the longest stream or the
// largest picture or recording; what is read into memory has limits of its own.
func Guarded(client *outbound.Client) Doer { return guarded{client} }

// guarded sends requests through package outbound, which blocks private addresses.
type guarded struct{ client *outbound.Client }

// HTTPClient follows redirects only for files that an answer points to; calls
// themselves follow none.
func (g guarded) HTTPClient(trusted bool) *http.Client {
	return g.client.HTTPClient(outbound.ClientOptions{
		Provider:         trusted,
		MaxRedirects:     outbound.MaxRedirects,
		FirstByteTimeout: outbound.ModelFirstByteTimeout,
		MaxBody:          maxStream,
	})
}

// outboundClasses are those that mean something other than "not reached".
var outboundClasses = map[outbound.ErrorClass]ErrorClass{
	outbound.ClassBlocked:    ClassBlocked,
	outbound.ClassTooLarge:   ClassTooLarge,
	outbound.ClassBadURL:     ClassBadRequest,
	outbound.ClassBadRequest: ClassBadRequest,
	outbound.ClassRedirect:   ClassRejected,
}

// fromOutbound words a failure on the way. Anything that is not outbound's own
// error keeps its words to itself: they could name addresses.
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

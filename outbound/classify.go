package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// classify converts an error of net/http to an Error. ctx is the context of the
// request. If it has ended, its cause takes precedence over the transport's error.
func classify(ctx context.Context, err error, host string) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, errBlocked) {
		return blocked()
	}
	if e := contextError(ctx, host); e != nil {
		return e
	}
	if isHeaderLimit(err) {
		return &Error{Class: ClassTooLarge, Message: "The headers of " + host + " are larger than 64 KiB.", cause: err}
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return dnsError(e, host)
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return &Error{Class: ClassTimeout, Message: host + " could not be connected to in time.", retryable: true, cause: err}
	}
	if message := certificateMessage(err, host); message != "" {
		return &Error{Class: ClassConnection, Message: message, cause: err}
	}
	return &Error{Class: ClassConnection, Message: connectionMessage(err, host), retryable: true, cause: err}
}

// contextError returns the error for a request whose context has ended, or nil.
func contextError(ctx context.Context, host string) *Error {
	cause := context.Cause(ctx)
	if late, ok := errors.AsType[firstByteError](cause); ok {
		message := host + " did not answer within " + time.Duration(late).String() + "."
		return &Error{Class: ClassTimeout, Message: message, retryable: true, cause: cause}
	}
	switch {
	case ctx.Err() == nil:
		return nil
	case errors.Is(cause, context.DeadlineExceeded):
		message := "The request to " + host + " took longer than allowed."
		return &Error{Class: ClassTimeout, Message: message, retryable: true, cause: ctx.Err()}
	default:
		return &Error{Class: ClassCanceled, Message: "The request to " + host + " was canceled.", cause: ctx.Err()}
	}
}

// isHeaderLimit recognizes the header limit by its message: net/http exports no
// error for it, neither for HTTP/1 nor for HTTP/2.
func isHeaderLimit(err error) bool {
	text := err.Error()
	return strings.Contains(text, "response headers exceeded") ||
		strings.Contains(text, "response header list larger")
}

// dnsError classifies a failed DNS lookup. A name that does not exist is final, since
// it will not appear within seconds; all other failures are retryable.
func dnsError(err *net.DNSError, host string) *Error {
	if err.IsTimeout {
		return &Error{Class: ClassTimeout, Message: "The name " + host + " could not be looked up in time.", retryable: true, cause: err}
	}
	if err.IsNotFound {
		return &Error{Class: ClassConnection, Message: "Can't find " + host + ".", cause: err}
	}
	return &Error{Class: ClassConnection, Message: "The name " + host + " could not be looked up.", retryable: true, cause: err}
}

// certificateMessage returns a message for certificate errors, which a retry does
// not fix, and "" for all other errors.
func certificateMessage(err error, host string) string {
	if e, ok := errors.AsType[x509.CertificateInvalidError](err); ok && e.Reason == x509.Expired {
		return "The certificate of " + host + " has expired or is not valid yet."
	}
	if errors.As(err, new(x509.HostnameError)) {
		return "The certificate of " + host + " is for another name."
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "The certificate of " + host + " is not from an authority this machine trusts."
	}
	if errors.As(err, new(tls.RecordHeaderError)) || errors.Is(err, http.ErrSchemeMismatch) {
		return host + " does not speak HTTPS on this port."
	}
	return ""
}

// connectionMessage explains why a connection could not be made or broke off. It never
// contains the address that the name resolved to.
func connectionMessage(err error, host string) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return host + " refused the connection."
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "There is no route to " + host + "."
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return host + " broke off the connection before the answer was complete."
	}
	return "The request to " + host + " failed on the way."
}

// asError converts an error of http.Client to an Error. Errors of hop.RoundTrip
// already are one; http.Client's own are about invalid redirects.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // drops the URL, whose query may contain a secret
	}
	return &Error{Class: ClassRedirect, Message: "The server redirected to an invalid URL.", cause: err}
}

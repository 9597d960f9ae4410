package jobs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
)

// judge says what is wrong with an answer; nothing if it is 2xx.
func checkResponse(resp *http.Response) (string, flow.Cause) {
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return "The receiver redirects" + redirectTarget(resp) + ". Webhooks follow no redirect; enter the final address.", flow.CauseRedirect
	case resp.StatusCode == http.StatusGone:
		return "The receiver answered 410 Gone, so nothing more is sent.", flow.CauseGone
	case resp.StatusCode < 200 || resp.StatusCode >= 300:
		return fmt.Sprintf("The receiver answered %d.", resp.StatusCode), flow.CauseStatus
	}
	return "", ""
}

// longestAddress is how much of a redirect's address is shown, in bytes.
const maxShownURL = 300

// finalAddress says where a redirect leads, without its query: that may hold
// what the receiver means for us alone.
func redirectTarget(resp *http.Response) string {
	to, err := resp.Location()
	if err != nil || to.Scheme != "http" && to.Scheme != "https" {
		return ""
	}
	to.User, to.RawQuery, to.Fragment = nil, "", ""
	if text := to.String(); len(text) <= maxShownURL {
		return " to " + text
	}
	return ""
}

// connectionCause tells what kept an answer from coming.
func connectionCause(err error) flow.Cause {
	var slow interface{ Timeout() bool }
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &certificate), errors.Is(err, http.ErrSchemeMismatch):
		return flow.CauseTLS
	case errors.As(err, &slow) && slow.Timeout():
		return flow.CauseTimeout
	}
	return flow.CauseConnection
}

// sentence is an error as the delivery log shows it. Errors that were not made
// for people may hold addresses of the network inside, so they stay private.
func publicError(err error) string {
	var told interface{ Sentence() string }
	if errors.As(err, &told) {
		return told.Sentence()
	}
	return "The request could not be sent."
}

// shownResponse is the beginning of an answer as the log keeps it, without the
// secrets that the receiver may have sent back.
func loggedResponse(b []byte, secrets []string) string {
	s := flow.NewRedactor(secrets...).Text(strings.ToValidUTF8(string(b), "�"))
	s = strings.ReplaceAll(s, "\x00", "�") // PostgreSQL keeps no NUL in a text
	if len(s) > maxLoggedResponse {
		s = strings.ToValidUTF8(s[:maxLoggedResponse], "")
	}
	return s
}

package jobs

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"sluice/flow"
	"sluice/flow/redaction"
)

// checkResponse returns why a response counts as a failure, as the delivery log
// shows it, or empty values if its status is 2xx.
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

// maxShownURL bounds the bytes of a redirect's address that the log shows.
const maxShownURL = 300

// redirectTarget returns " to " and where a redirect leads, or "" if the address is
// missing or unfit to be shown. The query is left out: it may hold secrets.
func redirectTarget(resp *http.Response) string {
	u, err := resp.Location()
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if text := u.String(); len(text) <= maxShownURL {
		return " to " + text
	}
	return ""
}

// connectionCause classifies why no response arrived.
func connectionCause(err error) flow.Cause {
	var timeout interface{ Timeout() bool }
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &certificate), errors.Is(err, http.ErrSchemeMismatch):
		return flow.CauseTLS
	case errors.As(err, &timeout) && timeout.Timeout():
		return flow.CauseTimeout
	}
	return flow.CauseConnection
}

// publicError returns an error as the delivery log shows it. Errors without a
// message for users may hold addresses of the internal network, so they are
// replaced.
func publicError(err error) string {
	var public interface{ Sentence() string }
	if errors.As(err, &public) {
		return public.Sentence()
	}
	return "The request could not be sent."
}

// loggedResponse returns the beginning of a response as the log keeps it, without
// the secrets that the receiver may have sent back.
func loggedResponse(b []byte, secrets []string) string {
	s := redaction.New(secrets...).Text(strings.ToValidUTF8(string(b), "�"))
	s = string(flow.HideApprovalLinks([]byte(s))) // the receiver may return the message
	s = strings.ReplaceAll(s, "\x00", "�")        // PostgreSQL rejects NUL in text
	if len(s) > maxLoggedResponse {
		s = strings.ToValidUTF8(s[:maxLoggedResponse], "")
	}
	return s
}

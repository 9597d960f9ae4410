package hosted

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"sluice/flow/wording"
	"sluice/outbound"
	"sluice/providers"
)

// maxSentence bounds quoted messages of the platform, in bytes.
const maxSentence = 500

// howToAdd is appended to messages that ask for a credential.
const howToAdd = "Add one with sluice credential add --name replicate --provider replicate, or set REPLICATE_API_TOKEN."

// needsCredential returns the error for a call without a secret, for which no request is
// made.
func needsCredential() *providers.Error {
	return &providers.Error{Class: providers.ClassAuth, Message: "Replicate needs a credential. " + howToAdd}
}

// isTransient reports whether an error is transient: the platform was unreachable or busy,
// whatever was requested.
func isTransient(err error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return !ok || e.Retryable
}

// unavailable returns a retryable error: the platform is unreachable or overloaded, or the
// connection broke off.
func unavailable(message string) *providers.Error {
	return &providers.Error{Class: providers.ClassUnavailable, Message: message, Retryable: true}
}

// badAnswer returns the error for a response that is not what the platform documents.
// It is not retryable.
func badAnswer(message string) *providers.Error {
	return &providers.Error{Class: providers.ClassBadAnswer, Message: message}
}

// transportError converts a network error. If the context ended, it returns the context's
// error.
func transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return asProviderError(err)
}

// asProviderError converts an error without quoting net/http, whose messages can contain a
// URL with a secret in its query. Messages of package outbound contain no secrets.
func asProviderError(err error) *providers.Error {
	if e, ok := errors.AsType[*providers.Error](err); ok {
		return e
	}
	e, ok := errors.AsType[*outbound.Error](err)
	if !ok {
		return unavailable("The connection to Replicate broke off.")
	}
	out := &providers.Error{Class: providers.ClassUnavailable, Message: e.Message, Retryable: e.Retryable()}
	switch e.Class {
	case outbound.ClassBlocked:
		out.Class = providers.ClassBlocked
	case outbound.ClassTooLarge:
		out.Class = providers.ClassTooLarge
	case outbound.ClassBadURL, outbound.ClassBadRequest:
		out.Class = providers.ClassBadRequest
	}
	return out
}

// refusal converts an unsuccessful response to an error that quotes the platform's message.
func (p *Replicate) refusal(resp *http.Response, body []byte, secret, subject string) *providers.Error {
	said := quoted(platformSentence(body), secret)
	e := &providers.Error{Status: resp.StatusCode, RequestID: requestID(resp.Header)}
	switch status := resp.StatusCode; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Class, e.Message = providers.ClassAuth, "Replicate refused the credential."+said+" Check the token at replicate.com/account/api-tokens."
	case status == http.StatusPaymentRequired:
		e.Class, e.Message = providers.ClassRejected, "Replicate needs billing."+said+" Set it up or add credit at replicate.com/account/billing."
	case status == http.StatusNotFound:
		e.Class, e.Message = providers.ClassNotFound, "Replicate does not know "+subject+", or the credential may not see it."+said
	case status == http.StatusTooManyRequests:
		e.Class, e.Retryable, e.Message = providers.ClassRateLimited, true, "Replicate's rate limit is reached."+said
		e.After = retryAfter(resp.Header, string(body), p.now())
	case status >= 500:
		e.Class, e.Retryable, e.Message = providers.ClassUnavailable, true, "Replicate is unavailable ("+strconv.Itoa(status)+")."+said
		e.After = retryAfter(resp.Header, "", p.now())
	case status >= 400:
		e.Class, e.Message = providers.ClassRejected, "Replicate refused the request."+said
	default: // a redirect that the client did not follow
		e.Class, e.Message = providers.ClassBadAnswer, "Replicate answered with an unexpected status ("+strconv.Itoa(status)+")."
	}
	return e
}

// platformSentence returns the message in an error response {title, detail, status}.
func platformSentence(body []byte) string {
	var problem struct{ Title, Detail, Error any }
	if json.Unmarshal(body, &problem) != nil {
		return ""
	}
	for _, v := range []any{problem.Detail, problem.Title, problem.Error} {
		if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// quoted prepares a message of the platform for appending to a sentence: with a space before
// it, on one line, bounded and redacted.
func quoted(text, secret string) string {
	text = oneLine(providers.Redact(text, secret), maxSentence)
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?…") {
		text += "."
	}
	return " " + text
}

// oneLine collapses white space, drops unprintable characters and cuts the text to at most
// limit bytes, at a character boundary.
func oneLine(text string, limit int) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(text) <= limit {
		return text
	}
	return strings.TrimSpace(wording.CutBytes(text, limit)) + "…"
}

// requestID returns the ID by which the platform's support finds a request, or "". If the
// platform's header is missing, it returns the ID that its CDN set.
func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Cf-Ray"} {
		if id := h.Get(name); id != "" {
			return oneLine(id, 100)
		}
	}
	return ""
}

// inSeconds matches a wait in the platform's messages: "Expected available in 1 second.",
// "Your rate limit resets in ~9s."
var inSeconds = regexp.MustCompile(`\bin ~?(\d{1,5}(?:\.\d+)?) ?s(?:ec|\b)`)

// retryAfter returns the wait that the Retry-After header or the message states, or 0.
func retryAfter(h http.Header, words string, now time.Time) time.Duration {
	if after := outbound.RetryAfter(h, now); after > 0 {
		return after
	}
	m := inSeconds.FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	s, _ := strconv.ParseFloat(m[1], 64)
	return time.Duration(s * float64(time.Second))
}

package providers

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"sluice/flow/wording"
	"sluice/outbound"
	"sluice/providers/fault"
)

// refused converts a response with an error status to an *Error and closes it.
func (s *session) refused(ctx context.Context, resp *http.Response) error {
	// An error response is short, so a slow one is not read to its end.
	timer := time.AfterFunc(5*time.Second, func() { _ = resp.Body.Close() })
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxError)) // a partial body is good enough
	timer.Stop()
	_ = resp.Body.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	said := parseRefusal(data)
	said.after = cmp.Or(outbound.RetryAfter(resp.Header, time.Now()), said.after)
	return s.classify(resp.StatusCode, said)
}

// classify converts an error of a provider by its status, for both error responses and errors
// in a body with the status 200. Providers do not charge for requests that they refuse.
func (s *session) classify(status int, said refusal) *Error {
	e := &Error{Status: status, RequestID: s.requestID, unbilled: true, about: said.param + " " + said.code + " " + said.sentence}
	sentence := redact(said.sentence, s.secret)
	name := s.name
	switch {
	case status == http.StatusPaymentRequired || said.noMoney():
		e.Class = ClassRejected
		e.Message = join(name+" says that there is no money left or no plan that covers this", sentence) + " Add credit at the provider."
	case said.code == codePolicy:
		e.Class = ClassRejected
		e.Message = join(name+" refused the request by its content policy", sentence)
	case status == http.StatusUnauthorized && s.secret == "":
		e.Class = ClassAuth
		e.Message = join(name+" wants a secret and none was given", sentence)
	case status == http.StatusUnauthorized || status == http.StatusBadRequest && said.badKey():
		e.Class = ClassAuth
		e.Message = join(name+" does not accept the secret", sentence) + " Check the credential."
	case status == http.StatusForbidden:
		e.Class = ClassAuth
		e.Message = join(name+" does not let this secret do that", sentence)
	case status == http.StatusNotFound && said.plain:
		e.Class = ClassNotFound
		e.Message = name + " has nothing at this address. Check the base URL, which usually ends with /v1."
	case status == http.StatusNotFound || said.noModel():
		e.Class = ClassNotFound
		e.Message = join(name+" does not have that", sentence) + " Check the name of the model and the base URL."
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		e.Class, e.Retryable, e.After = ClassRateLimited, true, said.after
		e.Message = join(name+" asks to slow down", sentence)
	case status == http.StatusConflict || status == http.StatusTooEarly:
		e.Class, e.Retryable, e.After = ClassUnavailable, true, said.after
		e.Message = join(name+" is still busy with this", sentence)
	case status == http.StatusNotImplemented:
		e.Class = ClassIncompatible
		e.Message = join(name+" cannot do this", sentence)
	case status >= 500 && fault.TooLong.MatchString(said.sentence):
		e.Class = ClassRejected
		e.Message = join(name+" refused the request ("+statusText(status)+")", sentence)
	case status >= 500:
		e.Class, e.Retryable, e.After = ClassUnavailable, true, said.after
		e.Message = join(name+" is unavailable or overloaded ("+statusText(status)+")", sentence)
	case status < 400:
		e.Class = ClassRejected
		e.Message = name + " redirected to another address, which is not followed because the request carries a secret. Check the base URL."
	default:
		e.Class = ClassRejected
		e.Message = join(name+" refused the request ("+statusText(status)+")", sentence)
	}
	return e
}

// join appends the provider's message to a sentence.
func join(ours, theirs string) string {
	if theirs == "" {
		return ours + "."
	}
	return ours + ": " + wording.Period(theirs)
}

// statusText returns the status code and its meaning; 529 is specific to Anthropic.
func statusText(status int) string {
	switch text := http.StatusText(status); {
	case status == 529:
		return "529 Overloaded"
	case text == "":
		return itoa(status)
	default:
		return itoa(status) + " " + text
	}
}

// forModel adds the name of the model to an error that it was not found.
func (s *session) forModel(err error, model string) error {
	if e, ok := err.(*Error); ok && e.Class == ClassNotFound && model != "" {
		named := *e
		named.Message = strings.Replace(e.Message, " does not have that", " has no model "+redact(model, s.secret), 1)
		named.Message = strings.Replace(named.Message, " Check the name of the model and the base URL.", " Look at its list, or check the name.", 1)
		return &named
	}
	return err
}

// rejected returns the error for an answer that the model refused to give. The secret is
// redacted, since some providers repeat it.
func (s *session) rejected(sentence string) *Error {
	return &Error{Class: ClassRejected, Message: redact(wording.Period(sentence), s.secret), RequestID: s.requestID}
}

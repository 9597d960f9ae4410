package providers

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// ended checks a stream that has ended. It returns the reply with an error too, for its
// usage.
func (s *session) ended(r *reply, whole bool, refusal string) (*reply, error) {
	switch {
	case refusal != "":
		return r, s.rejected("The model refused to answer: " + clean(refusal))
	case r.stop == "content_filter":
		return r, s.rejected("The content filter of " + s.name + " stopped the answer.")
	case !whole && r.text == "":
		return r, &Error{Class: ClassUnavailable, Retryable: true, RequestID: s.requestID,
			Message: s.name + " did not answer with a stream of text. Check the base URL if this happens again."}
	case !whole:
		return r, s.streamFailed(nil)
	case r.stop == "model_length": // Mistral's name for the end of the context
		r.stop = stopLength
	}
	return r, nil
}

// rejected returns the error for an answer that the model refused to give, or that a
// content filter stopped. The secret is redacted, since some providers repeat it.
func (s *session) rejected(sentence string) *Error {
	return &Error{Class: ClassRejected, Message: redact(sentenceEnd(sentence), s.secret), RequestID: s.requestID}
}

// streamFailed converts the error of an incomplete stream. Errors of bodies are converted
// already; all others mean that the format is broken.
func (s *session) streamFailed(err error) error {
	if err != nil {
		return err
	}
	return &Error{Class: ClassUnavailable, Retryable: true, RequestID: s.requestID,
		Message: s.name + " ended the stream before the answer was complete."}
}

// statuses maps the error types within a stream to the HTTP statuses that they correspond to.
var statuses = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "rate_limit_exceeded": 429,
	"insufficient_quota": 429, "api_error": 500, "server_error": 500, "timeout_error": 504, "overloaded_error": 529,
	"content_filter": 400, "content_policy_violation": 400, "invalid_prompt": 400,
}

// refusedInStream converts an error that was sent as an event.
func (s *session) refusedInStream(data []byte) *Error {
	var body any
	_ = json.Unmarshal(data, &body) // already decoded once
	said := readRefusal(body)
	status := statuses[said.code]
	if n, err := strconv.Atoi(said.code); err == nil && n >= 400 && n < 600 {
		status = n // OpenRouter
	}
	if status == 0 {
		status = 500
	}
	return s.judge(status, said)
}

// trimmed returns the data of an event without the white space around it, which some
// servers add.
func trimmed(data []byte) []byte { return bytes.TrimSpace(data) }

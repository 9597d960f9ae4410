package providers

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"sluice/flow/wording"
)

// badFinish is the meaning of a finish reason with which an answer is not whole.
type badFinish int

const (
	finishFine        badFinish = iota
	finishInterrupted           // the provider failed while it generated the answer
	finishFiltered              // a content filter stopped the answer
	finishUnusable              // the model stopped for something that this package did not ask for
)

// badFinishes are the finish reasons of answers that are not whole, in lower case. Other
// reasons, also unknown ones, are passed on: new ones appear often, and most of them are fine.
var badFinishes = map[string]badFinish{
	"error": finishInterrupted, "abort": finishInterrupted, "aborted": finishInterrupted, "cancelled": finishInterrupted, "canceled": finishInterrupted,
	"engine_error": finishInterrupted, "server_error": finishInterrupted, "internal_error": finishInterrupted, "network_error": finishInterrupted,
	"timeout": finishInterrupted, "insufficient_system_resource": finishInterrupted, // DeepSeek
	"content_filter": finishFiltered, "safety": finishFiltered, "recitation": finishFiltered, "blocklist": finishFiltered, "prohibited_content": finishFiltered,
	"spii": finishFiltered, "sensitive": finishFiltered, // Gemini, Zhipu
	"tool_calls": finishUnusable, "function_call": finishUnusable, "tool_use": finishUnusable, "malformed_function_call": finishUnusable,
	"unexpected_tool_call": finishUnusable, "too_many_tool_calls": finishUnusable, "pause_turn": finishUnusable,
}

// callReasons are the finish reasons of answers with calls.
var callReasons = map[string]bool{"tool_calls": true, "function_call": true, "tool_use": true}

// finishKind returns the meaning of a finish reason. Gemini sends some with a prefix:
// "function_call_filter: MALFORMED_FUNCTION_CALL".
func finishKind(reason string) badFinish {
	reason = strings.ToLower(strings.TrimSpace(reason[strings.LastIndexByte(reason, ':')+1:]))
	return badFinishes[reason]
}

// ended checks an answer that has ended. whole means that it ended properly: with a finish
// reason, a final event, or the end of a plain JSON body. It returns the reply with an error
// too, for its usage.
func (s *session) ended(stream *events, r *reply, whole bool, refusal string) (*reply, error) {
	r.whole = whole
	if r.stop == "model_length" { // Mistral's name for the end of the context
		r.stop = stopLength
	}
	kind := finishKind(r.stop)
	if callReasons[r.stop] && len(callsOf(r.items)) > 0 {
		kind = finishFine
	}
	switch {
	case refusal != "":
		return r, s.rejected("The model refused to answer: " + clean(refusal))
	case kind != finishFine:
		return r, s.unfinished(r, kind)
	case stream.err != nil && !whole:
		return r, stream.err
	case !whole && !stream.began:
		return r, stream.nothing()
	case !whole:
		return r, s.streamFailed()
	}
	return r, nil
}

// streamFailed returns the error of a stream that ended before the answer was complete.
func (s *session) streamFailed() *Error {
	return &Error{Class: ClassUnavailable, Retryable: true, RequestID: s.requestID,
		Message: s.name + " ended the stream before the answer was complete."}
}

// unfinished returns the error of an answer that ended with a bad finish reason. It quotes the
// start of the text that arrived. The error is retryable only if the provider
// failed before it generated anything.
func (s *session) unfinished(r *reply, kind badFinish) *Error {
	e := &Error{Class: ClassBadAnswer, RequestID: s.requestID}
	reason := `the finish reason "` + clean(r.stop) + `"`
	switch kind {
	case finishFiltered:
		e.Class, e.Message = ClassRejected, "The content filter of "+s.name+" stopped the answer with "+reason+"."
	case finishInterrupted:
		e.Class, e.Message, e.Status = ClassUnavailable, s.name+" ended the answer with "+reason+" before it was complete.", http.StatusOK
		e.Retryable = r.text == "" && r.usage.OutputTokens == 0
	default:
		e.Message = "The model ended its answer with " + reason + ", so it is not complete."
		if !s.agent {
			e.Message += " Ask for an answer without tools."
		}
	}
	if text := strings.TrimSpace(r.text); text != "" {
		n := itoa(utf8.RuneCountInString(r.text))
		e.Message += " The " + n + " characters that arrived begin with: " + excerpt(text)
	}
	e.Message = redact(e.Message, s.secret)
	return e
}

// excerpt returns the start of a text in quotes, on one line.
func excerpt(text string) string {
	return `"` + wording.Truncate(clean(text), 100) + `".`
}

// noText returns the error of an answer without any text. It was paid for, because its tokens
// went into reasoning or were lost.
func (s *session) noText(r *reply) *Error {
	e := &Error{Class: ClassBadAnswer, RequestID: s.requestID}
	switch r.stop {
	case stopLength:
		e.Message = "The model used up its tokens before it answered. Allow more in max_tokens."
	case "":
		e.Message = s.name + " ended the answer without any text."
	default:
		e.Message = s.name + ` ended the answer without any text, with the finish reason "` + clean(r.stop) + `".`
	}
	return e
}

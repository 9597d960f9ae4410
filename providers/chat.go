package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ChatRequest is one turn: an optional system text, a prompt, images.
type ChatRequest struct {
	Model       string // as the provider calls it
	System      string
	History     []ChatTurn // what was said before the prompt
	Prompt      string     // may be empty after a History that ends with a turn of the user
	Images      []Media    // of the prompt
	Temperature *float64   // nil: the provider's default
	TopP        *float64
	MaxTokens   int // of the answer, including reasoning; 0: the provider's default
	Stop        []string
	Seed        *int64 // ignored by providers that take none
	// Effort is how much a model reasons, one of Efforts; empty: the provider's
	// default. ThinkingBudget is the same in tokens. Each provider is sent the one
	// that it takes; if only the other is set, it is converted.
	Effort         string
	ThinkingBudget int
	// WebSearch lets the model search the web. Providers that cannot do that return
	// an error of ClassIncompatible.
	WebSearch bool
	// Extra is merged into the request as a JSON Merge Patch (RFC 7396).
	Extra map[string]any
	// Schema asks for an answer by a JSON Schema: an object as DecodeJSON-like
	// decoders give it. Empty: free text.
	Schema map[string]any
	// Key names the call so that a provider that knows idempotency keys does
	// not charge twice. It is stable over retries of a step.
	Key string
}

// ChatTurn is one message of a conversation.
type ChatTurn struct {
	Role  string // user or assistant
	Parts []ChatPart
}

// ChatPart is a text or an image.
type ChatPart struct {
	Text  string
	Image *Media
}

// ChatResult is the whole answer.
type ChatResult struct {
	Text  string
	JSON  any    // the parsed and checked answer when there was a Schema
	Model string // as the provider says it answered
	Stop  string // why it ended: stop, length, refusal …
	Usage Usage
}

// Chat asks a model and passes its answer to emit, which may be nil, piece by
// piece in whole characters. What it emitted is a preview: the result counts.
//
// Nothing is retried after an answer began, and nothing at all but what cost
// nothing: a parameter that the model refuses by name is put in its other form
// once. An answer that is not as the schema wants it is sent back once to be
// repaired, unless the provider itself promised the form.
//
// Errors are *Error, or the context's. Beside an error comes a result that has the
// usage alone, as far as it is known, when an answer had begun: one that does not
// fit, is refused or breaks off is paid for all the same. It is nil when none had.
func (c *Client) Chat(ctx context.Context, ep Endpoint, req ChatRequest, emit func(text string)) (*ChatResult, error) {
	s, err := c.open(ep)
	if err != nil {
		return nil, err
	}
	if err := s.wanted(s.preset.Chat && s.preset.Wire != WireHost, "has no chat models in this form"); err != nil {
		return nil, err
	}
	if err := s.wanted(!req.WebSearch || s.preset.Search != "", "has no web search in this form"); err != nil {
		return nil, err
	}
	talk, err := s.newConversation(ctx, req)
	if err != nil {
		return nil, err
	}
	first, err := s.ask(ctx, talk, emit)
	if err != nil {
		return first.paid(), s.forModel(err, req.Model)
	}
	return s.finish(ctx, talk, first)
}

// finish checks the answer against the schema and has it repaired once.
func (s *session) finish(ctx context.Context, talk *conversation, r *reply) (*ChatResult, error) {
	if talk.form == nil {
		return r.result(nil), nil
	}
	value, wrong, err := talk.form.read(ctx, r.text)
	switch {
	case err != nil:
		return r.paid(), s.unchecked(err)
	case wrong == "":
		return r.result(value), nil
	case r.stop == stopLength || talk.promised():
		return r.paid(), s.unfit(r, wrong)
	}
	talk.repair = &repair{answer: r.text, wrong: wrong}
	return s.finishRepair(ctx, talk, r)
}

// finishRepair asks for a better answer than the first.
func (s *session) finishRepair(ctx context.Context, talk *conversation, first *reply) (*ChatResult, error) {
	r, err := s.ask(ctx, talk, nil)
	if r == nil {
		r = &reply{}
	}
	r.usage.add(first.usage)
	if err != nil {
		return r.paid(), s.unrepaired(s.forModel(err, talk.Model), talk.repair.wrong)
	}
	value, wrong, err := talk.form.read(ctx, r.text)
	switch {
	case err != nil:
		return r.paid(), s.unchecked(err)
	case wrong != "":
		return r.paid(), s.unfit(r, wrong)
	}
	return r.result(value), nil
}

// promised reports whether the provider itself guarantees the form.
func (c *conversation) promised() bool {
	return c.manner.schema == SchemaStrict && c.form.strict != nil
}

// unfit is the error for an answer that does not fit the schema. An answer that was cut off
// gets the reason that helps: the limit of tokens.
func (s *session) unfit(r *reply, wrong string) *Error {
	e := &Error{Class: ClassBadAnswer, RequestID: s.requestID, Message: "The model's answer is not as the schema wants it: " + sentenceEnd(wrong)}
	if r.stop == stopLength {
		e.Message = fmt.Sprintf("The model's answer was cut off after %d tokens, so it is not whole. Allow more tokens.", r.usage.OutputTokens)
	}
	e.Message = redact(e.Message, s.secret)
	return e
}

// unrepaired says of a failed repair that the first answer came, and is not to be
// paid for again unasked.
func (s *session) unrepaired(err error, wrong string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	u := *e
	u.Retryable, u.After = false, 0
	u.Message = "The model's answer is not as the schema wants it: " + sentenceEnd(redact(wrong, s.secret)) +
		" Asking it for a better one failed. " + strings.TrimSuffix(e.Message, runAgain) + runAgain
	return &u
}

// unchecked returns the error of an answer that could not be validated.
func (s *session) unchecked(err error) error {
	if !errors.Is(err, errEffort) {
		return err // the context's
	}
	return &Error{Class: ClassBadAnswer, RequestID: s.requestID,
		Message: "The model's answer cannot be checked by the schema, because comparing the two takes too long. Make the schema simpler, or ask for a shorter answer."}
}

// paid is what is left of an answer that cannot be used.
func (r *reply) paid() *ChatResult {
	if r == nil {
		return nil
	}
	return &ChatResult{Model: r.model, Stop: r.stop, Usage: r.usage}
}

// result returns the answer with its decoded value.
func (r *reply) result(value any) *ChatResult {
	return &ChatResult{Text: r.text, JSON: value, Model: r.model, Stop: r.stop, Usage: r.usage}
}

// add adds the usage of another call for the same answer, such as a repair. The cost is known only
// if that of the last call is.
func (u *Usage) add(more Usage) {
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
	u.CacheRead += more.CacheRead
	u.CacheWrite += more.CacheWrite
	u.CacheWriteHour += more.CacheWriteHour
	u.Reasoning += more.Reasoning
	u.Searches += more.Searches
	u.CostNanoUSD += more.CostNanoUSD
	u.CostKnown = more.CostKnown
}

// ask sends the conversation over its wire, in another manner where the first
// is refused. Beside an error comes what is known of an answer that had begun.
func (s *session) ask(ctx context.Context, talk *conversation, emit func(string)) (*reply, error) {
	for {
		out := &outlet{emit: emit, session: s}
		r, err := s.askOnce(ctx, talk, out)
		if err == nil {
			return r, nil
		}
		if out.began() || !talk.manner.adapt(err, talk) {
			return out.begun(r), out.broken(err)
		}
	}
}

// askOnce chooses the wire. A provider with a wire of its own, or with requests that
// are signed, is added here and in authorize.
func (s *session) askOnce(ctx context.Context, talk *conversation, out *outlet) (*reply, error) {
	switch {
	case s.preset.Wire == WireAnthropic:
		return s.askAnthropic(ctx, talk, out)
	case talk.WebSearch && s.preset.Search == SearchResponses:
		return s.askResponses(ctx, talk, out)
	}
	return s.askOpenAI(ctx, talk, out)
}

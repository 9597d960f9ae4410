package providers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice/flow/trace"
	"sluice/flow/wording"
)

// ChatRequest is one turn: an optional system text, a prompt, images.
type ChatRequest struct {
	Model       string // as the provider names it
	System      string
	History     []ChatTurn // messages before the prompt
	Prompt      string     // may be empty if History ends with a turn of the user
	Images      []Media    // of the prompt
	Temperature *float64   // nil: the provider's default
	TopP        *float64
	MaxTokens   int // of the answer, including reasoning; 0: the provider's default
	Stop        []string
	Seed        *int64 // ignored by providers without seeds
	// Effort is how much a model reasons, one of Efforts; empty: the provider's
	// default. ThinkingBudget is the same in tokens. Each provider is sent the one
	// that it supports, converted if only the other is set.
	Effort         string
	ThinkingBudget int
	// WebSearch lets the model search the web. Providers that cannot do that return
	// an error of ClassIncompatible.
	WebSearch bool
	// Extra is merged into the request as a JSON Merge Patch (RFC 7396).
	Extra map[string]any
	// Schema is a JSON Schema, an object of package value, that the answer must match. It is sent
	// with its members in order, because models write theirs in that order. Nil: free text.
	Schema any
	// Key is the idempotency key of the call, so that providers that support it do
	// not charge twice. It is the same for all retries of a step.
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

// ChatResult is a complete answer.
type ChatResult struct {
	Text  string
	JSON  any    // the decoded, validated answer if there was a Schema
	Model string // the model that answered, as the provider reports it
	Stop  string // finish reason: stop, length, refusal …
	Usage Usage
}

// Chat sends a chat request. It streams the answer to emit, which may be nil, in pieces
// of whole characters. The stream is only a preview; the result is authoritative.
//
// Chat retries only rejected requests, which cost nothing: if the model rejects a
// parameter by name, the request is sent once more with its other form. An answer that
// does not match the schema is sent back to the model once for correction, unless the
// provider guarantees the format.
//
// Errors are *Error or the context's. If an answer had begun, the error comes with a
// result that contains only the known usage, because providers charge for answers that
// do not match, are refused or break off. Otherwise the result is nil.
func (c *Client) Chat(ctx context.Context, ep Endpoint, req ChatRequest, emit func(text string)) (*ChatResult, error) {
	r, err := c.converse(ctx, ep, TurnRequest{ChatRequest: req}, false, emit)
	recordCall(ctx, r)
	if r == nil {
		return nil, err
	}
	return &ChatResult{Text: r.text, JSON: r.value, Model: r.model, Stop: r.stop, Usage: r.usage}, err
}

// recordCall records what a result does not keep, for traces and metrics.
func recordCall(ctx context.Context, r *reply) {
	if r != nil {
		call := trace.CallOf(ctx)
		call.Model, call.Finish = r.model, r.stop
	}
}

// converse makes a call of Chat or, with agent, of Turn.
func (c *Client) converse(ctx context.Context, ep Endpoint, req TurnRequest, agent bool, emit func(text string)) (*reply, error) {
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
	talk, err := s.newConversation(ctx, req, agent)
	if err != nil {
		return nil, err
	}
	s.model, s.agent = strings.ToLower(req.Model), agent
	first, err := s.ask(ctx, talk, emit)
	if err != nil {
		return first.paid(), s.forModel(err, req.Model)
	}
	return s.finish(ctx, talk, first)
}

// finish validates the answer against the schema and requests a correction once.
func (s *session) finish(ctx context.Context, talk *conversation, r *reply) (*reply, error) {
	blank := strings.TrimSpace(r.text) == ""
	switch {
	case len(callsOf(r.items)) > 0:
		return s.finishCalls(r)
	case blank && (talk.form == nil || r.stop == stopLength):
		return r.paid(), s.noText(r)
	case talk.form == nil:
		if err := talk.callInText(r); err != nil {
			return r.paid(), err
		}
		return r, nil
	}
	var wrong string
	var err error
	r.value, wrong, err = talk.form.read(ctx, r.text)
	switch {
	case err != nil:
		return r.paid(), s.unchecked(err)
	case wrong == "":
		return r, nil
	case r.stop == stopLength || talk.promised():
		return r.paid(), s.unfit(r, wrong)
	}
	talk.repair = &repair{answer: r.text, wrong: wrong}
	return s.finishRepair(ctx, talk, r)
}

// finishRepair requests a corrected answer.
func (s *session) finishRepair(ctx context.Context, talk *conversation, first *reply) (*reply, error) {
	r, err := s.ask(ctx, talk, nil)
	if r == nil {
		r = &reply{usage: first.usage}
	} else {
		r.usage.add(first.usage)
	}
	if err != nil {
		return r.paid(), s.unrepaired(s.forModel(err, talk.Model), talk.repair.wrong)
	}
	if len(callsOf(r.items)) > 0 {
		return s.finishCalls(r)
	}
	var wrong string
	r.value, wrong, err = talk.form.read(ctx, r.text)
	switch {
	case err != nil:
		return r.paid(), s.unchecked(err)
	case wrong != "":
		return r.paid(), s.unfit(r, wrong)
	}
	return r, nil
}

// promised reports whether the provider guarantees that the answer matches the schema.
func (c *conversation) promised() bool {
	return c.dialect.schema == SchemaStrict && c.form.strict != nil && !c.hidesAnswer()
}

// unfit returns the error for an answer that does not match the schema. If the answer was
// truncated, the error names the token limit as the cause.
func (s *session) unfit(r *reply, wrong string) *Error {
	e := &Error{Class: ClassBadAnswer, RequestID: s.requestID, Message: "The model's answer is not as the schema wants it: " + wording.Period(wrong)}
	if r.stop == stopLength {
		e.Message = fmt.Sprintf("The model's answer was cut off after %d tokens, so it is not whole. Allow more tokens.", r.usage.OutputTokens)
	}
	e.Message = redact(e.Message, s.secret)
	return e
}

// unrepaired returns the error of a failed correction. It is not retryable, because the
// first answer was already paid for.
func (s *session) unrepaired(err error, wrong string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	u := *e
	u.Retryable, u.After = false, 0
	u.Message = "The model's answer is not as the schema wants it: " + wording.Period(redact(wrong, s.secret)) +
		" Asking it for a better one failed. " + strings.TrimSuffix(e.Message, runAgain) + runAgain
	if Lost(err) {
		return AsLost(&u)
	}
	return &u
}

// unchecked returns the error of an answer that could not be validated.
func (s *session) unchecked(err error) error {
	if !errors.Is(err, errEffort) {
		return err // the context's error
	}
	return &Error{Class: ClassBadAnswer, RequestID: s.requestID,
		Message: "The model's answer cannot be checked by the schema, because comparing the two takes too long. Make the schema simpler, or ask for a shorter answer."}
}

// paid returns what is known of an unusable answer: only its usage.
func (r *reply) paid() *reply {
	if r == nil {
		return nil
	}
	return &reply{model: r.model, stop: r.stop, usage: r.usage}
}

// add adds the usage of another call for the same answer, such as a repair. The cost is known only
// if that of both calls is.
func (u *Usage) add(more Usage) {
	u.InputTokens += more.InputTokens
	u.OutputTokens += more.OutputTokens
	u.CacheRead += more.CacheRead
	u.CacheWrite += more.CacheWrite
	u.CacheWriteHour += more.CacheWriteHour
	u.Reasoning += more.Reasoning
	u.Searches += more.Searches
	u.CostNanoUSD += more.CostNanoUSD
	u.CostKnown = u.CostKnown && more.CostKnown
	u.Incomplete = u.Incomplete || more.Incomplete
	u.Tier = cmp.Or(u.Tier, more.Tier)
}

// ask sends the conversation, and once more without a stream if a server evidently lost calls in
// it. With an error it also returns the known part of an answer that had begun.
func (s *session) ask(ctx context.Context, talk *conversation, emit func(string)) (*reply, error) {
	r, err := s.askAdapted(ctx, talk, emit)
	if err != nil || !talk.lostCalls(r) {
		return r, err
	}
	talk.dialect.off |= featStream
	talk.dialect.doubtful |= featStream
	if r.text != "" {
		emit = nil // it was emitted
	}
	again, err := s.askAdapted(ctx, talk, emit)
	if again == nil {
		again = &reply{}
	}
	again.usage.add(r.usage)
	if err == nil && !talk.lostCalls(again) {
		talk.dialect.doubtful &^= featStream
		talk.learn()
	}
	return again, err
}

// askAdapted sends the conversation, and again in other forms if the provider rejects parts.
func (s *session) askAdapted(ctx context.Context, talk *conversation, emit func(string)) (*reply, error) {
	for {
		out := &textEmitter{emit: emit, session: s}
		talk.sent = 0
		r, err := s.askOnce(ctx, talk, out)
		if r != nil {
			r.usage.Incomplete = r.usage.Incomplete || !r.billed || !r.whole
		}
		if err == nil {
			talk.learn()
			if talk.takeAnswer(r) && !out.hasText() {
				_ = out.write(r.text) // its size was counted
				out.end()
			}
			return r, nil
		}
		if out.began() || !talk.dialect.adapt(err, talk) {
			return out.begun(r), s.settle(out, r, out.broken(err))
		}
	}
}

// settle marks the error of a call whose bill is unknown, because the answer had begun or the
// request was not refused. A complete answer has its usage.
func (s *session) settle(out *textEmitter, r *reply, err error) error {
	switch {
	case r != nil && r.whole && r.billed:
		return err
	case out.begun(r) != nil:
		return AsLost(err)
	}
	return s.lost(err)
}

// askOnce sends the request in the provider's wire format. A provider with its own format or
// signed requests is added here and in authorize.
func (s *session) askOnce(ctx context.Context, talk *conversation, out *textEmitter) (*reply, error) {
	switch {
	case s.preset.Wire == WireAnthropic:
		return s.askAnthropic(ctx, talk, out)
	case s.preset.Responses && (talk.WebSearch || talk.agent && talk.use(featResponses)):
		return s.askResponses(ctx, talk, out)
	}
	return s.askOpenAI(ctx, talk, out)
}

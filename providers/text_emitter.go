package providers

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// textEmitter collects a streamed answer and emits it in whole characters.
type textEmitter struct {
	session *session
	emit    func(string)
	text    strings.Builder // valid UTF-8
	rest    string          // the start of a character whose other bytes have not arrived
	other   int             // bytes of calls and reasoning
	called  bool            // a call has begun
}

// write adds a piece. A character may be split between two pieces, in its bytes or between the
// halves of its surrogate pair.
func (o *textEmitter) write(piece string) error {
	if o.size()+len(piece) > maxText {
		return o.session.tooLarge(maxText)
	}
	piece = o.rest + piece
	whole := wholeCharacters(piece)
	o.rest = piece[whole:]
	o.pass(piece[:whole])
	return nil
}

// count adds bytes of the answer that are no text, which is limited together with them.
func (o *textEmitter) count(n int) error {
	if o.other += n; o.size() > maxText {
		return o.session.tooLarge(maxText)
	}
	return nil
}

// size returns the number of bytes that have arrived.
func (o *textEmitter) size() int { return o.text.Len() + len(o.rest) + o.other }

// end emits the rest and returns the whole text as valid UTF-8.
func (o *textEmitter) end() string {
	o.pass(o.rest)
	o.rest = ""
	return o.text.String()
}

// pass emits a piece of the text. Invalid UTF-8 is replaced, since the text is sent on as JSON.
func (o *textEmitter) pass(piece string) {
	piece = wellFormed(piece)
	o.text.WriteString(piece)
	if piece != "" && o.emit != nil {
		o.emit(piece)
	}
}

// began reports whether any text or a call has arrived. The request is not repeated after that,
// because it was paid for and its text was already emitted.
func (o *textEmitter) began() bool { return o.hasText() || o.called }

// hasText reports whether any text has arrived.
func (o *textEmitter) hasText() bool { return o.text.Len()+len(o.rest) > 0 }

// begun returns the partial reply of a call that broke off, or nil if neither text nor
// token counts arrived. Providers charge for partial replies, so their usage must be
// recorded.
func (o *textEmitter) begun(r *reply) *reply {
	if r != nil && !o.began() && r.usage.InputTokens+r.usage.OutputTokens == 0 && !r.usage.CostKnown {
		return nil
	}
	return r
}

// runAgain is the advice in errors of calls that broke off and are not retried
// automatically.
const runAgain = " The call may have cost money, so it is not retried automatically. Run it again if that is acceptable."

// broken makes a transient error permanent if the answer had begun: a retry would be
// charged again, so the user decides about it. Other errors are returned unchanged.
func (o *textEmitter) broken(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !o.began() || e.Class != ClassUnavailable && !e.Retryable {
		return err
	}
	b := *e
	where := "after " + itoa(utf8.RuneCountInString(o.text.String())) + " characters"
	if o.called {
		where = "in the call of a tool"
	}
	b.Message = "The answer of " + o.session.name + " broke off " + where + ". " + e.Message + runAgain
	b.Retryable, b.After = false, 0
	return &b
}

// wholeCharacters returns the length of a text in bytes without an incomplete character at
// its end.
func wholeCharacters(text string) int {
	if half, ok := halfAt(text, len(text)-3); ok && isHigh(half) {
		return len(text) - 3
	}
	for back := 1; back <= min(utf8.UTFMax-1, len(text)); back++ {
		if start := len(text) - back; utf8.RuneStart(text[start]) {
			if utf8.FullRuneInString(text[start:]) {
				break
			}
			return start
		}
	}
	return len(text)
}

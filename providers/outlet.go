package providers

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// outlet gathers a streamed answer and passes it on in whole characters.
type outlet struct {
	session *session
	emit    func(string)
	text    strings.Builder
	passed  int // bytes of text given to emit
}

// write takes the next piece; a character may be split between two.
func (o *outlet) write(piece string) error {
	if o.text.Len()+len(piece) > maxText {
		return o.session.tooLarge(maxText)
	}
	o.text.WriteString(piece)
	o.pass(wholeCharacters(o.text.String()[o.passed:]))
	return nil
}

// end passes on what is left and returns the whole text as valid UTF-8.
func (o *outlet) end() string {
	o.pass(o.text.Len() - o.passed)
	return strings.ToValidUTF8(o.text.String(), "\uFFFD")
}

func (o *outlet) pass(bytes int) {
	piece := o.text.String()[o.passed : o.passed+bytes]
	o.passed += bytes
	if piece != "" && o.emit != nil {
		o.emit(strings.ToValidUTF8(piece, "\uFFFD"))
	}
}

func (o *outlet) began() bool { return o.text.Len() > 0 }

// broken says of a failure that the answer had begun: trying again is then paid
// for a second time, which is for the flow to decide.
func (o *outlet) broken(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != KindUnavailable || !o.began() {
		return err
	}
	b := *e
	b.Message = "The answer of " + o.session.name + " broke off after " + itoa(utf8.RuneCountInString(o.text.String())) + " characters. " + e.Message
	b.Retryable = true
	return &b
}

// wholeCharacters is how many bytes at the front of a text end with a whole
// character.
func wholeCharacters(text string) int {
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

package pattern

import (
	"context"
	"errors"
	"io"
	"iter"
	"unicode/utf8"
)

// ErrBudget is returned when matching would take more work than its Budget allows.
var ErrBudget = errors.New("matching takes too much work")

// Budget bounds the work of matches, in units of one character times one instruction of the
// pattern. A unit takes at most about 10 ns on one core. A Budget may serve several patterns
// and texts, one after the other.
type Budget struct {
	ctx    context.Context //nolint:containedctx // a Budget serves one call
	left   int
	unseen int   // units since the context was last checked
	yield  int   // units until slow is called
	err    error // why matching has ended: ErrBudget or the error of the context
	slow   func() error
}

// checkEvery is the number of units between two looks at the context: at most about 5 ms.
const checkEvery = 500_000

// yieldEvery is the number of units between two calls of the function of OnSlow: at most about
// 0.2 s.
const yieldEvery = 20_000_000

// NewBudget returns a Budget of the given number of units, which also ends with ctx.
func NewBudget(ctx context.Context, units int) *Budget {
	return &Budget{ctx: ctx, left: units}
}

// OnSlow sets a function that is called when the first units are used up, and again whenever many
// more are: for example to wait for a slot for long computations, and to let others have it. Its
// error ends matching.
func (b *Budget) OnSlow(slow func() error) { b.slow = slow }

// Spend takes units from the budget. It returns ErrBudget, the error of the context or that
// of OnSlow if matching must end, then and at each later call.
func (b *Budget) Spend(units int) error {
	if b.err != nil {
		return b.err
	}
	if b.left -= units; b.left < 0 {
		b.err = ErrBudget
		return b.err
	}
	if b.unseen += units; b.unseen >= checkEvery {
		b.yield -= b.unseen
		b.unseen = 0
		if b.slow != nil && b.yield < 0 {
			b.err, b.yield = b.slow(), yieldEvery
		}
		if b.err == nil {
			b.err = b.ctx.Err()
		}
	}
	return b.err
}

// matchCost is the cost of starting one search.
const matchCost = 50

// reader lets the engine read a text rune by rune and charges for each.
type reader struct {
	budget *Budget
	text   string
	cost   int // of a rune
}

// ReadRune implements io.RuneReader. The text ends early when the budget is used up; the
// result of the engine is then discarded.
func (r *reader) ReadRune() (rune, int, error) {
	if r.text == "" || r.budget.Spend(r.cost) != nil {
		return 0, 0, io.EOF
	}
	c, size := utf8.DecodeRuneInString(r.text)
	r.text = r.text[size:]
	return c, size, nil
}

// Match reports whether a text contains a match.
func (p *Pattern) Match(b *Budget, text string) (bool, error) {
	if err := b.Spend(matchCost); err != nil {
		return false, err
	}
	found := p.first.MatchReader(&reader{b, text, p.Size})
	return found && b.err == nil, b.err
}

// Matches returns the matches in a text, each as the positions of the match and of its groups,
// like regexp.FindAllStringSubmatchIndex. An error is the last element.
//
// The engine reads a text from its start, so for a later match it begins one character
// before: that character decides whether \b, ^ and $ match, and a pattern with a prefix that
// consumes it and whatever else precedes the match finds the same match.
func (p *Pattern) Matches(b *Budget, text string) iter.Seq2[[]int, error] {
	return func(yield func([]int, error) bool) {
		last := -1 // end of the previous match
		for at := 0; at <= len(text); {
			m, err := p.next(b, text, at)
			if err != nil {
				yield(nil, err)
				return
			}
			if m == nil {
				return
			}
			empty := m[1] == at
			adjacent := empty && m[0] == last // an empty match right after another one does not count
			if last = m[1]; !empty {
				at = m[1]
			} else if _, size := utf8.DecodeRuneInString(text[at:]); size > 0 {
				at += size
			} else {
				at = len(text) + 1
			}
			if !adjacent && !yield(m, nil) {
				return
			}
		}
	}
}

// next returns the first match that begins at or after a position, or nil.
func (p *Pattern) next(b *Budget, text string, at int) ([]int, error) {
	if err := b.Spend(matchCost); err != nil {
		return nil, err
	}
	if at == 0 {
		m := p.first.FindReaderSubmatchIndex(&reader{b, text, p.captures})
		return m, b.err
	}
	_, before := utf8.DecodeLastRuneInString(text[:at])
	from := at - before
	m := p.later().FindReaderSubmatchIndex(&reader{b, text[from:], p.captures})
	if b.err != nil || m == nil {
		return nil, b.err
	}
	m = m[2:]
	for i := range m {
		if m[i] >= 0 {
			m[i] += from
		}
	}
	return m, nil
}

// Package pattern matches regular expressions (RE2) that users write against texts that
// anybody may send. It owns the bounds: what compiling a pattern may cost, and how much work
// matches may take together. It knows nothing about nodes, inputs or requests.
//
// One match takes Go's engine time proportional to the length of the text times the size of
// the pattern. All matches of a text can take the square of its length: [^b]*b|a reads
// everything up to the end for each "a" that it finds. The engine cannot be interrupted
// either. So matches are searched one by one, and the text is read through a
// reader that counts each character and ends the text early once a Budget is used up or its
// context ends.
package pattern

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"

	"sluice/flow/cache"
)

// Limits of one pattern. Together they bound the time for compiling it to about 25 ms.
const (
	MaxSource = 2000   // bytes
	MaxSize   = 10_000 // instructions, with repetitions expanded
	maxCost   = 20_000 // of reading it; see Cost
)

// The reasons why a valid pattern is refused. They continue the sentence "the pattern …".
var (
	ErrTooLong  = errors.New("is longer than 2,000 bytes")
	ErrTooLarge = errors.New("repeats too much")
	ErrClasses  = errors.New("has too many large character classes, such as \\pL or wide ranges with ignored case")
)

// Pattern is a compiled regular expression. It is safe for concurrent use.
type Pattern struct {
	Size   int // number of instructions, which is what one character may cost
	Weight int // cost of compiling it, in units of about 1 µs

	first *regexp.Regexp
	// captures is the cost of one character if groups are captured: each thread of the engine
	// copies the positions of all groups.
	captures int
	// later finds matches that do not begin at the start of a text; see Matches.
	later func() *regexp.Regexp
}

// compiled holds patterns that are used again and again, such as that of an input. Large ones
// are compiled each time, so that the cache takes at most about 20 MB.
var compiled = cache.New[string, *Pattern](256)

const maxCached = 500 // instructions

// Compile compiles a pattern, or takes it from a cache. The error is ErrTooLong, ErrTooLarge,
// ErrClasses or a *syntax.Error.
func Compile(source string) (*Pattern, error) {
	if len(source) > MaxSource {
		return nil, ErrTooLong
	}
	if p, ok := compiled.Get(source); ok {
		return p, nil
	}
	weight := Cost(source)
	if weight > maxCost {
		return nil, ErrClasses
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, err
	}
	p, err := compile(parsed, source, weight)
	if err == nil && p.Size <= maxCached {
		compiled.Add(source, p)
	}
	return p, err
}

// compile compiles a parsed pattern, which source describes for the engine.
func compile(parsed *syntax.Regexp, source string, weight int) (*Pattern, error) {
	if instructions(parsed) > MaxSize {
		return nil, ErrTooLarge
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	first, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	if strings.Contains(source, `\Q`) { // a quotation may extend to the end
		source = parsed.String()
	}
	size := len(program.Inst)
	return &Pattern{
		Size: size, Weight: weight + size, first: first, captures: size * (1 + first.NumSubexp()/8),
		later: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\A(?s:.)(?s:.*?)(` + source + `)`) }),
	}, nil
}

// GroupNames returns the names of the groups, as regexp.SubexpNames does: the first is that of
// the whole match, which has none.
func (p *Pattern) GroupNames() []string { return p.first.SubexpNames() }

// instructions returns about how many instructions a pattern has when its repetitions are
// expanded, without expanding them.
func instructions(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, 100*MaxSize) // avoids an overflow for nested repetitions
}

var (
	foldFlag   = regexp.MustCompile(`\(\?[a-zA-Z-]*i`)
	wideRange  = regexp.MustCompile(`-(?:\\x\{|[^\x00-\x{3ff}])`)
	unicodeSet = regexp.MustCompile(`\\[pP]`)
)

// Cost estimates the time for reading a pattern, in units of about 1 µs, without reading it:
// a class such as \pL has hundreds of ranges, and with ignored case, the parser visits each
// character of a range.
func Cost(source string) int {
	set, wide := 150, 5
	if foldFlag.MatchString(source) {
		set, wide = 1200, 5000
	}
	return len(source) + set*len(unicodeSet.FindAllStringIndex(source, -1)) + wide*len(wideRange.FindAllStringIndex(source, -1))
}

package nodes

import (
	"regexp"
	"regexp/syntax"

	"sluice/flow"
)

// Limits of texts and patterns. Regular expressions of Go (RE2) take time in
// proportion to the length of the text times the size of the pattern, and cannot be
// stopped halfway, so both are bounded together: the largest product takes about
// ten seconds on one core.
const (
	maxPattern     = 2000 // bytes
	maxPatternWork = 500_000_000
	maxListItems   = 100_000
	maxMatches     = 1_000_000 // of a pattern in a text; each takes about 100 bytes of memory
)

// errTooManyMatches is the error for a pattern that is found more often than maxMatches.
func errTooManyMatches() error {
	return flow.Errorf(flow.CodeInputInvalid, "The pattern is found more than %d times. Split the text first.", maxMatches)
}

// errTooMuchText is the error for a result beyond flow.MaxTextBytes.
func errTooMuchText() error {
	return flow.Errorf(flow.CodeInputInvalid, "The result would be larger than %s, the limit of a text.", flow.Size(flow.MaxTextBytes))
}

// errTooManyItems is the error for a list beyond maxListItems.
func errTooManyItems() error {
	return flow.Errorf(flow.CodeInputInvalid, "The result would have more than %d items, the limit of a list.", maxListItems)
}

// pattern is a compiled regular expression with what it costs.
type pattern struct {
	*regexp.Regexp
	size int // instructions of its program
}

// compilePattern compiles a pattern of RE2. Errors say what is wrong with it.
func compilePattern(source string, ignoreCase bool) (*pattern, *flow.Error) {
	if len(source) > maxPattern {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The pattern has %d bytes; the limit is %d.", len(source), maxPattern)
	}
	if ignoreCase {
		source = "(?i)" + source
	}
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The pattern cannot be used: %s.", patternFault(err))
	}
	p, err := programOf(parsed)
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The pattern cannot be used: %s.", patternFault(err))
	}
	return p, nil
}

// programOf compiles a parsed pattern.
func programOf(parsed *syntax.Regexp) (*pattern, error) {
	re, err := regexp.Compile(parsed.String())
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	return &pattern{re, len(program.Inst)}, nil
}

// patternFault says what is wrong with a pattern, and where.
func patternFault(err error) string {
	if e, ok := err.(*syntax.Error); ok {
		if e.Code == syntax.ErrInvalidPerlOp {
			return "lookaheads, lookbehinds and backreferences are not supported, near " + e.Expr
		}
		return string(e.Code) + ", near " + e.Expr
	}
	return err.Error()
}

// admits returns an error if the pattern takes too long for a text.
func (p *pattern) admits(text string) error {
	if len(text)*p.size > maxPatternWork {
		return flow.Errorf(flow.CodeInputInvalid, "The text of %s is too long for this pattern. Split the text, or make the pattern simpler.", flow.Size(int64(len(text))))
	}
	return nil
}

// checkPattern reports a typed pattern that cannot be used.
func checkPattern(n *flow.Node, field string) []flow.Problem {
	source, typed := n.Config[field].(string)
	if !typed || source == "" {
		return nil
	}
	if _, err := compilePattern(source, false); err != nil {
		return []flow.Problem{{Pointer: flow.Pointer(field), Code: "invalid", Detail: err.Message}}
	}
	return nil
}

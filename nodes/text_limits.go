package nodes

import (
	"regexp"
	"regexp/syntax"

	"sluice/flow"
)

// Limits of texts and patterns. Go's regular expressions (RE2) take time proportional to the
// length of the text times the size of the pattern, and cannot be interrupted, so the product
// is bounded: the largest one takes about ten seconds on one core.
const (
	maxPattern     = 2000 // bytes
	maxPatternWork = 500_000_000
	maxListItems   = 100_000
	maxMatches     = 1_000_000 // per text; each takes about 100 bytes of memory
)

// errTooManyMatches is returned if a pattern has more than maxMatches matches.
func errTooManyMatches() error {
	return flow.Errorf(flow.CodeInputInvalid, "The pattern matches more than %d times. Split the text first.", maxMatches)
}

// errTooMuchText is returned if a result would exceed flow.MaxTextBytes.
func errTooMuchText() error {
	return flow.Errorf(flow.CodeInputInvalid, "The result would be larger than %s, the limit of a text.", flow.Size(flow.MaxTextBytes))
}

// errTooManyItems is returned if a list would exceed maxListItems.
func errTooManyItems() error {
	return flow.Errorf(flow.CodeInputInvalid, "The result would have more than %d items, the limit of a list.", maxListItems)
}

// pattern is a compiled regular expression with a measure of its cost.
type pattern struct {
	*regexp.Regexp
	size int // number of instructions
}

// compilePattern compiles an RE2 pattern. Its errors can be shown to users.
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

// patternFault describes a syntax error and its position.
func patternFault(err error) string {
	if e, ok := err.(*syntax.Error); ok {
		if e.Code == syntax.ErrInvalidPerlOp {
			return "lookaheads, lookbehinds and backreferences are not supported, near " + e.Expr
		}
		return string(e.Code) + ", near " + e.Expr
	}
	return err.Error()
}

// admits returns an error if the pattern would take too long for a text.
func (p *pattern) admits(text string) error {
	if len(text)*p.size > maxPatternWork {
		return flow.Errorf(flow.CodeInputInvalid, "The text of %s is too long for this pattern. Split the text, or make the pattern simpler.", flow.Size(int64(len(text))))
	}
	return nil
}

// checkPattern reports a typed pattern that is invalid.
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

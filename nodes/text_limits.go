package nodes

import (
	"context"
	"errors"
	"regexp/syntax"
	"runtime"

	"sluice/flow"
	"sluice/flow/pattern"
	"sluice/sandbox"
)

// Limits of texts and patterns.
const (
	// maxPatternWork is what all matches in a text may take, in units of package pattern:
	// less than a second on one core. Longer texts than 1 MiB get patternWorkPerByte for
	// each byte, so that an ordinary pattern can search the largest text once.
	maxPatternWork     = 60_000_000
	patternWorkPerByte = maxPatternWork >> 20
	maxListItems       = 100_000
	maxMatches         = 1_000_000 // per text; each takes about 100 bytes of memory
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

// compilePattern compiles an RE2 pattern. Its errors can be shown to users.
func compilePattern(source string, ignoreCase bool) (*pattern.Pattern, *flow.Error) {
	if len(source) > pattern.MaxSource {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The pattern has %d bytes; the limit is %d.", len(source), pattern.MaxSource)
	}
	if ignoreCase {
		source = "(?i)" + source
	}
	p, err := pattern.Compile(source)
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The pattern cannot be used: %s.", patternFault(err))
	}
	return p, nil
}

// longWork limits how many steps compute for long in this process at once, so that requests
// and other runs find a processor. Workspaces share the slots fairly.
var longWork = sandbox.NewQueue(max(runtime.GOMAXPROCS(0)/2, 1))

// patternBudget returns the budget for matching patterns against a text. The caller must call
// release when it is done.
func patternBudget(ctx context.Context, in *flow.In, length int) (b *pattern.Budget, release func()) {
	b = pattern.NewBudget(ctx, max(maxPatternWork, patternWorkPerByte*length))
	group, held := string(in.WorkspaceID), false
	b.OnSlow(func() error {
		if held {
			longWork.Release(group)
		}
		err := longWork.Acquire(ctx, group)
		held = err == nil
		return err
	})
	return b, func() {
		if held {
			longWork.Release(group)
		}
	}
}

// patternError converts an error of matching a pattern against a text of the given length.
func patternError(err error, length int) error {
	if errors.Is(err, pattern.ErrBudget) {
		return flow.Errorf(flow.CodeInputInvalid, "The text of %s is too long for this pattern. Split the text, or make the pattern simpler.", flow.Size(int64(length)))
	}
	return err
}

// patternFault describes a syntax error and its position.
func patternFault(err error) string {
	if e, ok := err.(*syntax.Error); ok {
		if e.Code == syntax.ErrInvalidPerlOp {
			return "lookaheads, lookbehinds and backreferences are not supported, near " + e.Expr
		}
		return string(e.Code) + ", near " + e.Expr
	}
	return "it " + err.Error() // a limit of package pattern
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

package nodes

import (
	"context"
	"errors"
	"regexp/syntax"

	"sluice/flow"
	"sluice/flow/pattern"
	"sluice/nodes/jsonpath"
)

// Limits of evaluating a JSONPath, besides maxPatternWork, which is all that it may take.
const (
	maxPathPatterns = 100 // different patterns of match() and search(); values may contain patterns
	compileCost     = 100 // units of a pattern budget for one of pattern.Weight
)

// parsePath parses a path. Its errors can be shown to users.
func parsePath(source string) (*jsonpath.Path, error) {
	path, err := jsonpath.Parse(source)
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The JSONPath cannot be used: %s.", err)
	}
	return path, nil
}

// selectPath returns the values that a path selects from a value. A text is parsed as JSON
// first.
func selectPath(ctx context.Context, in *flow.In, source string, from any) ([]any, error) {
	path, err := parsePath(source)
	if err != nil {
		return nil, err
	}
	if text, isText := from.(string); isText {
		if from, err = flow.DecodeReceived([]byte(text)); err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The text is not JSON: %s. To find JSON within a text, look for the first JSON value.", err)
		}
	}
	budget, release := patternBudget(ctx, in, 0)
	defer release()
	var all []any
	for v, err := range path.Select(from, &pathHost{budget, map[string]*pattern.Pattern{}}) {
		switch {
		case errors.Is(err, pattern.ErrBudget):
			return nil, flow.Errorf(flow.CodeInputInvalid, "The value is too large for this JSONPath. Select a part of it first, or make the path simpler.")
		case err != nil:
			return nil, err
		case len(all) == maxListItems:
			return nil, errTooManyItems()
		}
		all = append(all, v)
	}
	return all, nil
}

// pathHost bounds the evaluation of a path and the patterns in it by one budget.
type pathHost struct {
	*pattern.Budget
	patterns map[string]*pattern.Pattern // by source; nil: invalid
}

// Match reports whether a text contains a match of a pattern. An invalid pattern matches nothing,
// but one that is too large to be used ends the evaluation, because the result would be wrong.
func (h *pathHost) Match(source, text string) (bool, error) {
	p, known := h.patterns[source]
	if !known {
		if len(h.patterns) >= maxPathPatterns {
			return false, pattern.ErrBudget
		}
		var err error
		if p, err = h.compile(source); err != nil {
			return false, err
		}
		h.patterns[source] = p
	}
	if p == nil {
		return false, nil
	}
	return p.Match(h.Budget, text)
}

// compile compiles a pattern, or returns nil for an invalid one.
func (h *pathHost) compile(source string) (*pattern.Pattern, error) {
	p, err := pattern.Compile(source)
	if err == nil {
		return p, h.Spend(compileCost * p.Weight)
	}
	if fault, invalid := errors.AsType[*syntax.Error](err); invalid && fault.Code != syntax.ErrLarge && fault.Code != syntax.ErrInvalidRepeatSize && fault.Code != syntax.ErrNestingDepth {
		return nil, nil
	}
	return nil, flow.Errorf(flow.CodeInputInvalid, "A pattern of match() or search() cannot be used: %s.", patternFault(err))
}

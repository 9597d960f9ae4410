package nodes

import (
	"cmp"
	"context"
	"errors"
	"math"
	"regexp/syntax"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/registry"
	"github.com/theory/jsonpath/spec"

	"sluice/flow"
	"sluice/flow/pattern"
	"sluice/flow/value"
)

// Limits of JSONPath. The library can be neither stopped nor limited, and every segment
// multiplies the results: $[0,0][0,0] selects the same item four times. So a path is evaluated
// one segment at a time, and the cost of a segment is estimated before it.
const (
	maxPath         = 500       // bytes
	maxPathWork     = 5_000_000 // items looked at, about a second
	maxPathPatterns = 100       // different patterns of match() and search(); values may contain patterns
	compileCost     = 100       // units of a pattern budget for one of pattern.Weight
)

// pathQuery is a parsed path. It serves one evaluation, which uses up its budgets.
type pathQuery struct {
	segments []*spec.Segment
	patterns map[string]*pattern.Pattern // by source; nil: invalid
	work     float64                     // spent, of maxPathWork
	budget   *pattern.Budget             // of match() and search()
	stopped  error                       // why match() and search() could not be evaluated
}

// parsePath parses a path. Its errors can be shown to users.
func parsePath(source string) (*pathQuery, error) {
	if len(source) > maxPath {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The JSONPath has %d bytes; the limit is %d.", len(source), maxPath)
	}
	q, functions := &pathQuery{patterns: map[string]*pattern.Pattern{}}, registry.New()
	q.limit(functions, "match", func(s string) string { return `\A(?:` + s + `)\z` })
	q.limit(functions, "search", func(s string) string { return s })
	path, err := jsonpath.NewParser(jsonpath.WithRegistry(functions)).Parse(source)
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The JSONPath cannot be used: %s.", strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	q.segments = path.Query().Segments()
	return q, nil
}

// selectPath returns the values that a path selects from a value. A text is parsed as JSON
// first.
func selectPath(ctx context.Context, in *flow.In, source string, from any) ([]any, error) {
	q, err := parsePath(source)
	if err != nil {
		return nil, err
	}
	budget, release := patternBudget(ctx, in, 0)
	defer release()
	q.budget = budget
	if text, isText := from.(string); isText {
		if from, err = flow.DecodeReceived([]byte(text)); err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The text is not JSON: %s. To find JSON within a text, look for the first JSON value.", err)
		}
	}
	from = value.Plain(from)
	found := []any{from}
	for _, segment := range q.segments {
		var next []any
		for _, v := range found {
			if q.spend(segment, v, from); q.work > maxPathWork {
				return nil, errPathWork()
			}
			if next = append(next, segment.Select(v, from)...); q.stopped != nil {
				return nil, q.stopped
			}
		}
		found = next
	}
	return found, nil
}

// errPathWork is returned if a path would take too long for a value.
func errPathWork() error {
	return flow.Errorf(flow.CodeInputInvalid, "The value is too large for this JSONPath. Select a part of it first, or make the path simpler.")
}

// spend adds the cost of applying a segment to a value: each selector visits each child, and
// a descendant segment everything below.
func (q *pathQuery) spend(s *spec.Segment, v, root any) {
	q.work += float64(len(s.Selectors()))
	each := func(child any) {
		if q.work > maxPathWork {
			return
		}
		for _, selector := range s.Selectors() {
			q.work += selectorWork(selector, child, root)
		}
		if s.IsDescendant() {
			q.spend(s, child, root)
		}
	}
	switch v := v.(type) {
	case []any:
		for _, child := range v {
			each(child)
		}
	case map[string]any:
		for _, child := range v {
			each(child)
		}
	}
}

// selectorWork returns an upper bound of the items that a selector visits for one child.
// Queries inside a filter begin at the child, or at the root if there is a $. Each wildcard,
// slice, descendant segment and filter in them may visit everything below, and each comma may
// double that. Characters inside quotes count too, which overestimates.
func selectorWork(selector spec.Selector, child, root any) float64 {
	filter, isFilter := selector.(*spec.FilterSelector)
	if !isFilter {
		return 1
	}
	text := filter.String()
	loops := strings.Count(text, "..") + strings.Count(text, "*") + strings.Count(text, ":") + strings.Count(text[1:], "?")
	work := float64(len(text)) / 10 * math.Pow(2, float64(strings.Count(text, ",")))
	if loops == 0 {
		return work
	}
	from := child
	if strings.Contains(text, "$") {
		from = root
	}
	return work * math.Pow(float64(countItems(from, maxPathWork)), float64(loops))
}

// limit replaces match() or search(). The library's own functions compile the pattern again
// for each item and do not limit its size. whole converts the pattern to one that must match
// in the function's way.
func (q *pathQuery) limit(functions *registry.Registry, name string, whole func(string) string) {
	function := functions.Get(name)
	original := *function // a copy: Validate of the replacement must not call itself
	*function = *spec.Extension(name, spec.FuncLogical, original.Validate, func(args []spec.PathValue) spec.PathValue {
		text, isText := spec.ValueFrom(args[0]).Value().(string)
		source, isPattern := spec.ValueFrom(args[1]).Value().(string)
		if !isText || !isPattern || q.stopped != nil {
			return spec.LogicalFalse // selectPath reports why
		}
		p := q.pattern(whole(source))
		if p == nil {
			return spec.LogicalFalse
		}
		found, err := p.Match(q.budget, text)
		q.stop(err)
		return spec.Logical(found)
	})
}

// stop records the first error of match() or search().
func (q *pathQuery) stop(err error) {
	if errors.Is(err, pattern.ErrBudget) {
		err = errPathWork()
	}
	q.stopped = cmp.Or(q.stopped, err)
}

// pattern returns a compiled pattern, or nil if it is invalid, which matches nothing
// according to RFC 9535.
func (q *pathQuery) pattern(source string) *pattern.Pattern {
	if p, known := q.patterns[source]; known {
		return p
	}
	if len(q.patterns) >= maxPathPatterns {
		q.stop(pattern.ErrBudget)
		return nil
	}
	p, err := pattern.CompileFunc(source, syntax.Perl|syntax.DotNL, withoutLineEnds)
	if err == nil {
		q.stop(q.budget.Spend(compileCost * p.Weight))
	}
	q.patterns[source] = p
	return p
}

// notLineEnd matches what a dot matches in RFC 9485 (I-Regexp).
var notLineEnd, _ = syntax.Parse(`[^\n\r]`, syntax.Perl)

// withoutLineEnds changes each dot of a pattern to match anything except a line end.
func withoutLineEnds(re *syntax.Regexp) {
	if re.Op == syntax.OpAnyChar {
		*re = *notLineEnd
		return
	}
	for _, sub := range re.Sub {
		withoutLineEnds(sub)
	}
}

// countItems counts a value and all values in it. It stops soon after most.
func countItems(v any, most int) (n int) {
	n = 1
	add := func(item any) {
		if n <= most {
			n += countItems(item, most-n)
		}
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			add(item)
		}
	case map[string]any:
		for _, item := range v {
			add(item)
		}
	}
	return n
}

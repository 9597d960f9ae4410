package nodes

import (
	"math"
	"regexp/syntax"
	"strings"

	"github.com/theory/jsonpath"
	"github.com/theory/jsonpath/registry"
	"github.com/theory/jsonpath/spec"

	"sluice/flow"
)

// Limits of JSONPath. The library can neither be stopped nor limited, and every segment
// multiplies: $[0,0][0,0] gives the same item four times. So a path is followed one
// segment at a time, and what a segment may cost is added up before it.
const (
	maxPath         = 500       // bytes
	maxPathWork     = 5_000_000 // items looked at, about a second
	maxPathPatterns = 100       // patterns of match() and search(), which values may hold
)

// pathQuery is a parsed path. It serves one evaluation: its budgets are used up.
type pathQuery struct {
	segments []*spec.Segment
	patterns map[string]*pattern // nil: not a pattern
	work     float64             // spent, of maxPathWork
	scanned  int                 // spent on patterns, of maxPatternWork
}

// parsePath parses a path. Errors say what is wrong with it.
func parsePath(source string) (*pathQuery, error) {
	if len(source) > maxPath {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The JSONPath has %d bytes; the limit is %d.", len(source), maxPath)
	}
	q, functions := &pathQuery{patterns: map[string]*pattern{}}, registry.New()
	q.limit(functions, "match", func(s string) string { return `\A(?:` + s + `)\z` })
	q.limit(functions, "search", func(s string) string { return s })
	path, err := jsonpath.NewParser(jsonpath.WithRegistry(functions)).Parse(source)
	if err != nil {
		return nil, flow.Errorf(flow.CodeInputInvalid, "The JSONPath cannot be used: %s.", strings.TrimPrefix(err.Error(), "jsonpath: "))
	}
	q.segments = path.Query().Segments()
	return q, nil
}

// selectPath returns what a path selects from a value, or from the JSON in a text.
func selectPath(source string, from any) ([]any, error) {
	q, err := parsePath(source)
	if err != nil {
		return nil, err
	}
	if text, isText := from.(string); isText {
		if from, err = flow.DecodeJSON([]byte(text)); err != nil {
			return nil, flow.Errorf(flow.CodeInputInvalid, "The text is not JSON: %s. To find JSON within a text, look for the first JSON value.", err)
		}
	}
	found := []any{from}
	for _, segment := range q.segments {
		var next []any
		for _, v := range found {
			if q.spend(segment, v, from); q.work > maxPathWork {
				return nil, errPathWork()
			}
			if next = append(next, segment.Select(v, from)...); q.scanned > maxPatternWork {
				return nil, errPathWork()
			}
		}
		found = next
	}
	return found, nil
}

// errPathWork is the error for a path that takes too long for a value.
func errPathWork() error {
	return flow.Errorf(flow.CodeInputInvalid, "The value is too large for this JSONPath. Select a part of it first, or make the path simpler.")
}

// spend adds what a segment costs at a value: each selector looks at each child, or
// at everything below if the segment is a descendant one.
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

// selectorWork returns the most that a selector looks at for one child. Queries
// inside a filter begin at the child, or at the root if there is a $. Each
// wildcard, slice, descendant segment and filter in them may visit all of that, and
// each comma may double it. Signs inside quotes count too, which errs on the safe side.
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

// limit replaces a function that matches patterns. The library's own compiles the
// pattern again for each item, whatever its size.
func (q *pathQuery) limit(functions *registry.Registry, name string, whole func(string) string) {
	own := functions.Get(name)
	original := *own // whose Validate would be its own successor otherwise
	*own = *spec.Extension(name, spec.FuncLogical, original.Validate, func(args []spec.PathValue) spec.PathValue {
		text, isText := spec.ValueFrom(args[0]).Value().(string)
		source, isPattern := spec.ValueFrom(args[1]).Value().(string)
		if !isText || !isPattern || q.scanned > maxPatternWork {
			return spec.LogicalFalse
		}
		p := q.pattern(whole(source))
		if p == nil {
			return spec.LogicalFalse
		}
		if q.scanned += (len(text) + 1) * p.size; q.scanned > maxPatternWork {
			return spec.LogicalFalse // selectPath reports it
		}
		return spec.Logical(p.MatchString(text))
	})
}

// pattern returns a compiled pattern, or nil if it cannot be used: then nothing
// matches it, as RFC 9535 demands.
func (q *pathQuery) pattern(source string) *pattern {
	if p, known := q.patterns[source]; known {
		return p
	}
	if len(q.patterns) >= maxPathPatterns {
		q.scanned = maxPatternWork + 1
		return nil
	}
	var p *pattern
	if parsed, err := syntax.Parse(source, syntax.Perl|syntax.DotNL); err == nil && len(source) <= maxPattern {
		withoutLineEnds(parsed)
		if p, _ = programOf(parsed); p != nil {
			q.scanned += 1000 * p.size // compiling takes about as long as matching so many bytes
		}
	}
	q.patterns[source] = p
	return p
}

// notLineEnd matches what a dot stands for in the patterns of RFC 9485.
var notLineEnd, _ = syntax.Parse(`[^\n\r]`, syntax.Perl)

// withoutLineEnds makes each dot of a pattern match anything but a line end.
func withoutLineEnds(re *syntax.Regexp) {
	if re.Op == syntax.OpAnyChar {
		*re = *notLineEnd
		return
	}
	for _, sub := range re.Sub {
		withoutLineEnds(sub)
	}
}

// countItems counts a value and everything in it, up to one more than most.
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

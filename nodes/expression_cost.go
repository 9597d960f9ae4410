package nodes

import (
	"errors"
	"fmt"
	"regexp"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"sluice/flow"
)

// celLimits bound one evaluation. The cost limit alone does not: an operation
// is charged after it was carried out, many are charged 1 however long their
// text is, and a list of lists of itself grows without ever costing much. So
// every value that is built is measured, and prices corrects the charges.
func celLimits() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.CostLimit(maxExpressionCost),
		cel.CostTracking(prices{}),
		cel.MemoryLimit(maxExpressionItems),
		cel.MemoryTracking(
			types.MemoryTrackerSizeCalculator(celSizes),
			types.MemoryTrackerSampleInterval(1000), // a growing list is measured again each time
		),
		cel.InterruptCheckFrequency(100),
	}
}

// celSizes counts items, and a text as one per 1,000 bytes. The depth is that
// of JSON and of an expression together.
var celSizes = types.NewSizeCalculator(
	types.SizeCalculatorMaxDepth(flow.MaxJSONDepth+maxExpressionDepth),
	types.SizeCalculatorMaxTraversal(2*maxExpressionItems),
	types.SizeCalculatorStringUnitLength(1000),
)

// prices charges calls by the texts and items they go through, where the
// language's own list often says 1. One unit is about 0.2 µs.
type prices struct{}

// CallCost is the price of a call.
func (prices) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	length := 0
	for _, arg := range args {
		length += textLength(arg)
	}
	units := length / 1000
	switch function {
	case operators.Equals, operators.NotEquals:
		units = min(weigh(args[0]), weigh(args[1]))
	case operators.In:
		units = weigh(args[1])
	case operators.Add, "bytes", "string":
		units = length / 100 // copied
	case "contains", "size":
		units = length / 200
	case "int", "uint", "double", "timestamp", "duration":
		units = length / 20
	case "matches":
		units = matchPrice(args[0], args[1])
	default:
		if len(args) == 2 && args[0].Type() == types.TimestampType && args[1].Type() == types.StringType {
			units = 500 // a time zone is read from disk
		}
	}
	price := uint64(units) + 1
	return &price
}

// weigh counts the items of a value, those inside of others included.
func weigh(v ref.Val) int { return int(celSizes.AggregateSize(v)) }

// textLength is in bytes.
func textLength(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// errTooCostly refuses a single call that would exceed the limit on its own.
var errTooCostly = errors.New("the pattern is too costly for a text of this length")

// matchesFunction is CEL's matches(), which is charged by the length of the
// pattern as written: (.?){1000} is ten characters and runs for seconds.
var matchesFunction = cel.Function("matches",
	cel.Overload("text_matches", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType, cel.BinaryBinding(matches)),
	cel.MemberOverload("text_matches_member", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType, cel.BinaryBinding(matches)),
)

func matches(text, pattern ref.Val) ref.Val {
	s, okText := text.(types.String)
	p, okPattern := pattern.(types.String)
	if !okText || !okPattern {
		return types.MaybeNoSuchOverloadErr(pattern)
	}
	compiled := compilePattern(string(p))
	if compiled.err != nil {
		return types.WrapErr(compiled.err)
	}
	if matchPrice(text, pattern) > maxExpressionCost {
		return types.WrapErr(errTooCostly)
	}
	return types.Bool(compiled.MatchString(string(s)))
}

// matchPrice is what a match costs at worst: every instruction of the pattern
// at every byte of the text, some 8 ns each, and the compilation.
func matchPrice(text, pattern ref.Val) int {
	p, ok := pattern.(types.String)
	if !ok {
		return 0
	}
	compiled := compilePattern(string(p))
	if compiled.err != nil {
		return compiled.size // all() and exists() carry on after an error
	}
	return compiled.size + compiled.size*textLength(text)/25
}

// pattern is a compiled regular expression and how many instructions it has,
// or why it cannot be estimated.
type pattern struct {
	*regexp.Regexp
	size int
	err  error
}

const (
	maxPattern     = 1000 // characters
	maxPatternSize = 1000 // instructions
)

var patterns = mustCache[string, pattern](256)

func compilePattern(source string) pattern {
	if len(source) > maxPattern {
		return pattern{err: patternError(fmt.Sprintf("the pattern has more than %d characters", maxPattern))}
	}
	p, ok := patterns.Get(source)
	if !ok {
		p = newPattern(source)
		patterns.Add(source, p)
	}
	return p
}

func newPattern(source string) pattern {
	size, err := types.RegexProgramSize(source)
	if err != nil {
		return pattern{size: maxPatternSize, err: patternError(fmt.Sprintf("%q is not a regular expression (RE2)", truncate(source, 60)))}
	}
	if size > maxPatternSize {
		return pattern{size: maxPatternSize, err: patternError(fmt.Sprintf("the pattern %q is too large; it repeats too much", truncate(source, 60)))}
	}
	return pattern{Regexp: regexp.MustCompile(source), size: size}
}

package expression

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"sluice/flow"
	"sluice/flow/pattern"
	"sluice/flow/wording"
)

// celLimits returns the limits of one evaluation. The cost limit alone is not
// enough: CEL charges an operation after it ran, charges 1 for many operations
// regardless of the length of their operands, and a list can double its size at
// little cost by containing itself twice. So every value that is built is
// measured, and costs replaces the charges.
func celLimits() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.CostLimit(maxCost),
		cel.CostTracking(costs{}),
		cel.MemoryLimit(maxItems),
		cel.MemoryTracking(
			types.MemoryTrackerSizeCalculator(celSizes),
			types.MemoryTrackerSampleInterval(1000), // a growing list is measured again each time
		),
		cel.InterruptCheckFrequency(100),
	}
}

// celSizes counts items, and a text as one per 1,000 bytes. Its depth allows
// for a value of maximum depth inside an expression of maximum depth.
var celSizes = types.NewSizeCalculator(
	types.SizeCalculatorMaxDepth(flow.MaxJSONDepth+maxDepth),
	types.SizeCalculatorMaxTraversal(2*maxItems),
	types.SizeCalculatorStringUnitLength(1000),
)

// costs charges calls by the length of their operands. One unit is about 0.2
// µs.
type costs struct{}

// CallCost returns the cost of a call.
func (costs) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	length := 0
	for _, arg := range args {
		length += textLength(arg)
	}
	units := length / 1000
	switch function {
	case operators.Equals, operators.NotEquals:
		units = min(sizeOf(args[0]), sizeOf(args[1]))
	case operators.In:
		units = sizeOf(args[1])
	case operators.Add, "bytes", "string":
		units = length / 100 // copied
	case "contains", "size":
		units = length / 200
	case "int", "uint", "double", "timestamp", "duration":
		units = length / 20
	case "matches":
		units = matchCost(args[0], args[1])
	default:
		if len(args) == 2 && args[0].Type() == types.TimestampType && args[1].Type() == types.StringType {
			units = 500 // a time zone is read from disk
		}
	}
	price := uint64(units) + 1
	return &price
}

// sizeOf counts the items of a value, nested ones included.
func sizeOf(v ref.Val) int { return int(celSizes.AggregateSize(v)) }

// textLength returns the length of a text in bytes, 0 for other values.
func textLength(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// errTooCostly rejects a single call whose cost would exceed the limit.
var errTooCostly = errors.New("the pattern is too costly for a text of this length")

// matchesFunction replaces CEL's matches(), which is charged by the length of
// the pattern's source: (.?){1000} has ten characters and runs for seconds.
var matchesFunction = cel.Function("matches",
	cel.Overload("text_matches", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType, cel.BinaryBinding(matches)),
	cel.MemberOverload("text_matches_member", []*cel.Type{cel.StringType, cel.StringType}, cel.BoolType, cel.BinaryBinding(matches)),
)

// matches runs a pattern unless its worst case exceeds the limit.
func matches(text, source ref.Val) ref.Val {
	s, okText := text.(types.String)
	p, okPattern := source.(types.String)
	if !okText || !okPattern {
		return types.MaybeNoSuchOverloadErr(source)
	}
	compiled, err := compilePattern(string(p))
	if err != nil {
		return types.WrapErr(err)
	}
	if matchCost(text, source) > maxCost {
		return types.WrapErr(errTooCostly)
	}
	found, err := compiled.Match(pattern.NewBudget(context.Background(), 25*maxCost), string(s))
	if err != nil {
		return types.WrapErr(errTooCostly)
	}
	return types.Bool(found)
}

// matchCost returns the worst case: every instruction of the pattern at every
// byte of the text, about 8 ns each, and the compilation. A pattern with large
// character classes is charged half of what they cost to compile, because most
// calls find it in a cache.
func matchCost(text, source ref.Val) int {
	p, ok := source.(types.String)
	if !ok {
		return 0
	}
	compiled, err := compilePattern(string(p))
	if err != nil {
		return maxPatternSize // all() and exists() continue after an error
	}
	return compiled.Size + compiled.Weight/2 + compiled.Size*textLength(text)/25
}

const (
	maxPattern     = 1000 // characters
	maxPatternSize = 1000 // instructions
)

// compilePattern compiles a pattern. The error can be shown to users.
func compilePattern(source string) (*pattern.Pattern, error) {
	if len(source) > maxPattern {
		return nil, patternError(fmt.Sprintf("the pattern has more than %d characters", maxPattern))
	}
	p, err := pattern.Compile(source)
	if _, invalid := errors.AsType[*syntax.Error](err); invalid {
		return nil, patternError(fmt.Sprintf("%q is not a regular expression (RE2)", wording.Truncate(source, 60)))
	}
	switch {
	case errors.Is(err, pattern.ErrTooLarge) || err == nil && p.Size > maxPatternSize:
		return nil, patternError(fmt.Sprintf("the pattern %q is too large; it repeats too much", wording.Truncate(source, 60)))
	case err != nil:
		return nil, patternError(fmt.Sprintf("the pattern %q %v", wording.Truncate(source, 60), err))
	}
	return p, nil
}

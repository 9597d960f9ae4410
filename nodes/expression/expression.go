// Package expression evaluates expressions of CEL, the Common Expression
// Language, within limits of time and memory, and explains errors without the
// library's terms. It owns the limits and the messages; it knows no kind of
// node and no run.
//
// Expressions are written by users and evaluated on the shared server, so every
// operation is charged for what it costs (cost.go) and every value is measured
// (values.go). messages.go translates errors.
package expression

import (
	"context"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	lru "github.com/hashicorp/golang-lru/v2"

	"sluice/flow"
)

// Limits of one expression. They were set by measuring hostile programs: each
// of them ends, and is refused, in well under 50 ms on one slow core.
const (
	maxLength = 2000    // characters
	maxDepth  = 40      // the type checker takes the cube of it
	maxNodes  = 2000    // after macros such as all() are written out
	maxCost   = 100_000 // about 0.2 µs each, see cost.go
	maxItems  = 100_000 // in the value, and in any list or map that is built
	maxText   = 4 << 20 // bytes of text in the value
	cacheSize = 256
)

// Expression is a compiled expression over one variable, value. It is safe for
// concurrent use.
type Expression struct {
	program cel.Program
	result  *cel.Type
}

var cache = mustCache[string, *Expression](cacheSize)

// Compile parses and type-checks an expression. Compiled expressions are cached
// by their text. Errors have CodeExpressionFailed and name the problem and its
// column.
func Compile(source string) (*Expression, error) {
	if e, ok := cache.Get(source); ok {
		return e, nil
	}
	if strings.TrimSpace(source) == "" {
		return nil, flow.Errorf(flow.CodeExpressionFailed, "The expression is empty. Write one such as value > 10.")
	}
	ast, issues := celEnv().Compile(source)
	if err := issues.Err(); err != nil {
		return nil, syntaxError(issues.Errors())
	}
	program, err := celEnv().Program(ast, celLimits()...)
	if err != nil {
		return nil, flow.Errorf(flow.CodeExpressionFailed, "The expression cannot be used. Make it simpler.")
	}
	e := &Expression{program: program, result: ast.OutputType()}
	cache.Add(source, e)
	return e, nil
}

// celEnv is the language: CEL's operators, functions and macros, except that
// matches() is replaced by one whose cost is estimated before it runs.
var celEnv = sync.OnceValue(func() *cel.Env {
	e, err := cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{ExcludeFunctions: []*env.Function{{Name: "matches"}}})),
		matchesFunction,
		cel.Variable("value", cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxLength),
		cel.ParserRecursionLimit(maxDepth),
		cel.ExpressionNodeLimit(maxNodes),
	)
	if err != nil {
		panic("expression: make the expression language: " + err.Error())
	}
	return e
})

// CheckBoolean returns an error if the type of the result is known and not a
// boolean.
func (e *Expression) CheckBoolean() error {
	if e.result.IsExactType(cel.BoolType) || e.result.IsExactType(cel.DynType) {
		return nil
	}
	return notBoolean(typeName(e.result.TypeName()))
}

// Test evaluates the expression, whose result must be a boolean. value may be
// any JSON value.
func (e *Expression) Test(ctx context.Context, value any) (bool, error) {
	result, err := e.eval(ctx, value)
	if err != nil {
		return false, err
	}
	if b, ok := result.(types.Bool); ok {
		return bool(b), nil
	}
	return false, notBoolean(typeName(result.Type().TypeName()))
}

// eval evaluates the expression within the limits. Errors are *flow.Error or
// the context's.
func (e *Expression) eval(ctx context.Context, value any) (ref.Val, error) {
	v, err := toCEL(value)
	if err != nil {
		return nil, err
	}
	result, _, err := e.program.ContextEval(ctx, map[string]any{"value": v})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, evalError(err, value)
	}
	return result, nil
}

func notBoolean(got string) error {
	return flow.Errorf(flow.CodeExpressionFailed,
		"The expression must give true or false, but it gives %s. Compare it with something, as in value == \"yes\" or value > 10.", got)
}

func mustCache[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic("expression: " + err.Error())
	}
	return cache
}

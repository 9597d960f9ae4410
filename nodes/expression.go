package nodes

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
	maxExpression      = 2000    // characters
	maxExpressionDepth = 40      // the type checker takes the cube of it
	maxExpressionNodes = 2000    // after macros such as all() are written out
	maxExpressionCost  = 100_000 // about 0.2 µs each, see expression_cost.go
	maxExpressionItems = 100_000 // in the value, and in any list or map that is built
	maxExpressionText  = 4 << 20 // bytes of text in the value
	cachedExpressions  = 256
)

// expression is a compiled CEL expression over one variable, value. It may be
// evaluated by several goroutines at once.
type expression struct {
	program cel.Program
	result  *cel.Type
}

var expressions = mustCache[string, *expression](cachedExpressions)

// compileExpression reads an expression, or returns a CodeExpressionFailed
// error that says what is wrong and at which column.
func compileExpression(source string) (*expression, error) {
	if e, ok := expressions.Get(source); ok {
		return e, nil
	}
	if strings.TrimSpace(source) == "" {
		return nil, flow.Errorf(flow.CodeExpressionFailed, "The expression is empty. Write one such as value > 10.")
	}
	ast, issues := celEnv().Compile(source)
	if err := issues.Err(); err != nil {
		return nil, unreadable(issues.Errors())
	}
	program, err := celEnv().Program(ast, celLimits()...)
	if err != nil {
		return nil, flow.Errorf(flow.CodeExpressionFailed, "The expression cannot be used. Make it simpler.")
	}
	e := &expression{program: program, result: ast.OutputType()}
	expressions.Add(source, e)
	return e, nil
}

// celEnv is the language: CEL's own operators, functions and macros, with a
// matches() that is paid by what it costs.
var celEnv = sync.OnceValue(func() *cel.Env {
	e, err := cel.NewCustomEnv(
		cel.StdLib(cel.StdLibSubset(&env.LibrarySubset{ExcludeFunctions: []*env.Function{{Name: "matches"}}})),
		matchesFunction,
		cel.Variable("value", cel.DynType),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserExpressionSizeLimit(maxExpression),
		cel.ParserRecursionLimit(maxExpressionDepth),
		cel.ExpressionNodeLimit(maxExpressionNodes),
	)
	if err != nil {
		panic("nodes: make the expression language: " + err.Error())
	}
	return e
})

// boolean refuses an expression that can be seen to give something else than
// true or false.
func (e *expression) boolean() error {
	if e.result.IsExactType(cel.BoolType) || e.result.IsExactType(cel.DynType) {
		return nil
	}
	return notBoolean(typeInWords(e.result.TypeName()))
}

// test evaluates the expression, which must give true or false.
func (e *expression) test(ctx context.Context, value any) (bool, error) {
	result, err := e.eval(ctx, value)
	if err != nil {
		return false, err
	}
	if b, ok := result.(types.Bool); ok {
		return bool(b), nil
	}
	return false, notBoolean(typeInWords(result.Type().TypeName()))
}

// eval evaluates the expression within its limits. Errors are *flow.Error or
// the context's own.
func (e *expression) eval(ctx context.Context, value any) (ref.Val, error) {
	v, err := toCEL(value)
	if err != nil {
		return nil, err
	}
	result, _, err := e.program.ContextEval(ctx, map[string]any{"value": v})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, failedExpression(err, value)
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
		panic("nodes: " + err.Error())
	}
	return cache
}

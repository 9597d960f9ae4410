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
	"regexp"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"sluice/flow"
	"sluice/flow/cache"
	"sluice/flow/sorting"
)

// Limits of one expression. They were chosen by measuring hostile programs: each is
// rejected in well under 50 ms on one slow core.
const (
	maxLength = 2000    // characters
	maxDepth  = 40      // the type checker takes time proportional to its cube
	maxNodes  = 2000    // after macros such as all() are expanded
	maxCost   = 100_000 // about 0.2 µs each, see cost.go
	maxItems  = 100_000 // in the value, and in any list or map that is built
	maxText   = 4 << 20 // bytes of text in the value
	cacheSize = 256
)

// Expression is a compiled expression over variables. It is safe for concurrent use.
type Expression struct {
	program cel.Program
	result  *cel.Type
}

var expressions = cache.New[string, *Expression](cacheSize)

// Compile parses and type-checks an expression over the named variables; without
// names over one, value. Compiled expressions are cached by their text and names.
// Errors have CodeExpressionFailed and name the problem and its column.
func Compile(source string, names ...string) (*Expression, error) {
	key := strings.Join(append(names, source), "\x00")
	if e, ok := expressions.Get(key); ok {
		return e, nil
	}
	if strings.TrimSpace(source) == "" {
		return nil, flow.Errorf(flow.CodeExpressionFailed, "The expression is empty. Write one such as value > 10.")
	}
	language, err := celWith(names)
	if err != nil {
		return nil, err
	}
	ast, issues := language.Compile(source)
	if err := issues.Err(); err != nil {
		return nil, syntaxError(source, issues.Errors())
	}
	program, err := language.Program(ast, append(celLimits(), cel.CustomDecoratorV2(placesOf(ast.NativeRep().Expr()).decorate))...)
	if err != nil {
		return nil, flow.Errorf(flow.CodeExpressionFailed, "The expression cannot be used. Make it simpler.")
	}
	e := &Expression{program: program, result: ast.OutputType()}
	expressions.Add(key, e)
	return e, nil
}

// celWith returns the language with variables of the given names instead of value.
func celWith(names []string) (*cel.Env, error) {
	if len(names) == 0 {
		return celEnv(), nil
	}
	var variables []cel.EnvOption
	for _, name := range names {
		if name == "value" {
			continue // already declared by celEnv
		}
		if !isVariable(name) {
			return nil, flow.Errorf(flow.CodeExpressionFailed, "%q cannot be the name of a value in an expression. Use letters, digits and _.", name)
		}
		variables = append(variables, cel.Variable(name, cel.DynType))
	}
	language, err := celEnv().Extend(variables...)
	if err != nil {
		return nil, flow.Errorf(flow.CodeExpressionFailed, "These names of values cannot be used together: %s.", strings.Join(names, ", "))
	}
	return language, nil
}

// isVariable reports whether a variable can have a name.
func isVariable(name string) bool { return variableName.MatchString(name) && !reserved[name] }

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are the reserved words of CEL, which cannot name variables.
var reserved = map[string]bool{
	"true": true, "false": true, "null": true, "in": true, "as": true, "break": true, "const": true, "continue": true, "else": true, "for": true, "function": true,
	"if": true, "import": true, "let": true, "loop": true, "package": true, "namespace": true, "return": true, "var": true, "void": true, "while": true,
}

// celEnv returns the language: CEL's operators, functions and macros, except that
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
	result, err := e.eval(ctx, map[string]any{"value": value}, value)
	if err != nil {
		return false, err
	}
	if b, ok := result.(types.Bool); ok {
		return bool(b), nil
	}
	return false, notBoolean(typeName(result.Type().TypeName()))
}

// Evaluate compiles an expression over variables and evaluates it.
func Evaluate(ctx context.Context, source string, variables map[string]any) (any, error) {
	e, err := Compile(source, sorting.Keys(variables)...)
	if err != nil {
		return nil, err
	}
	return e.Eval(ctx, variables)
}

// Eval evaluates the expression over variables, which may have any JSON values, and
// returns its result as a JSON value.
func (e *Expression) Eval(ctx context.Context, variables map[string]any) (any, error) {
	result, err := e.eval(ctx, variables, variables)
	if err != nil {
		return nil, err
	}
	return fromCEL(result)
}

// eval evaluates the expression within the limits, which hold for all variables
// together. Errors are *flow.Error or the context's; they describe subject.
func (e *Expression) eval(ctx context.Context, variables map[string]any, subject any) (ref.Val, error) {
	values, err := convertAll(variables)
	if err != nil {
		return nil, err
	}
	return e.run(ctx, values, subject)
}

// convertAll converts variables to CEL's types.
func convertAll(variables map[string]any) (map[string]any, error) {
	c := converter{items: maxItems, text: maxText}
	values := make(map[string]any, len(variables))
	for name, value := range variables {
		values[name] = c.convert(value)
	}
	if err := c.overflow(); err != nil {
		return nil, err
	}
	return values, nil
}

// run evaluates the expression over converted values.
func (e *Expression) run(ctx context.Context, values map[string]any, subject any) (ref.Val, error) {
	result, _, err := e.program.ContextEval(ctx, values)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, evalError(err, subject)
	}
	return result, nil
}

// Scope has variables for several expressions, which are converted once. It is not safe for concurrent use.
type Scope struct {
	variables, values map[string]any
}

// NewScope returns a scope with variables, which may have any JSON values.
func NewScope(variables map[string]any) *Scope { return &Scope{variables: variables} }

// Eval compiles an expression over the names of the variables, unless it is cached, and returns its result as a JSON value.
func (s *Scope) Eval(ctx context.Context, source string) (any, error) {
	e, err := Compile(source, sorting.Keys(s.variables)...)
	if err != nil {
		return nil, err
	}
	if s.values == nil {
		if s.values, err = convertAll(s.variables); err != nil {
			return nil, err
		}
	}
	result, err := e.run(ctx, s.values, s.variables)
	if err != nil {
		return nil, err
	}
	return fromCEL(result)
}

// notBoolean returns the error for a condition of the type got. It suggests a comparison,
// because such a condition usually lacks one.
func notBoolean(got string) error {
	return flow.Errorf(flow.CodeExpressionFailed,
		"The expression must give true or false, but it gives %s. Compare it with something, as in value == \"yes\" or value > 10.", got)
}

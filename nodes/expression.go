package nodes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
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
		return nil, flow.Errorf(flow.CodeExpressionFailed, "The expression cannot be used: %s.", celWords(err.Error()))
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
	return notBoolean(celTypeName(e.result))
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
	return false, notBoolean(celTypeName(result.Type()))
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

// unreadable words the first of the compiler's complaints; the others often
// follow from it.
func unreadable(issues []*common.Error) error {
	first := issues[0]
	at := ""
	if line, column := first.Location.Line(), first.Location.Column(); line > 1 {
		at = fmt.Sprintf(" at line %d, column %d", line, column+1)
	} else if line == 1 {
		at = fmt.Sprintf(" at column %d", column+1)
	}
	return flow.Errorf(flow.CodeExpressionFailed, "The expression cannot be read%s: %s.", at, celWords(first.Message))
}

// failedExpression words what went wrong while evaluating.
func failedExpression(err error, value any) error {
	message := err.Error()
	switch {
	case errors.Is(err, errTooCostly), strings.Contains(message, "limit exceeded"):
		return flow.Errorf(flow.CodeExpressionFailed,
			"The expression needs more computing than is allowed. Make it simpler or give it a smaller value.")
	case strings.HasPrefix(message, "no such key"), strings.HasPrefix(message, "no such overload"):
		return flow.Errorf(flow.CodeExpressionFailed, "The expression does not fit the value, which is %s: %s.",
			kindWithArticle(value), celWords(message))
	}
	return flow.Errorf(flow.CodeExpressionFailed, "The expression could not be computed: %s.", celWords(message))
}

// celWords makes the library's messages fit a sentence of ours.
func celWords(message string) string {
	message, _, _ = strings.Cut(message, "\n")
	message = strings.TrimPrefix(message, "Syntax error: ")
	message, _, _ = strings.Cut(message, " expecting ") // a list of all tokens
	message = celTokens.Replace(message)
	message = celOverload.ReplaceAllStringFunc(message, overloadWords)
	message = strings.TrimRight(truncate(message, 200), ". ")
	for _, known := range celHints {
		if strings.HasPrefix(message, known.start) {
			return strings.Replace(known.say, "%s", message, 1)
		}
	}
	return message
}

// celOverload matches the library's message about a call with unsupported
// argument types: found no matching overload for '_<_' applied to '(string,
// int)'.
var celOverload = regexp.MustCompile(`^found no matching overload for '([^']+)' applied to '\(?([^']*?)\)?'`)

// overloadWords describes the function and the types in plain words.
func overloadWords(message string) string {
	m := celOverload.FindStringSubmatch(message)
	name := strings.Trim(m[1], "_@")
	if strings.HasPrefix(m[1], "_[") {
		name = "[ ]"
	}
	var types []string
	for t := range strings.SplitSeq(m[2], ", ") {
		types = append(types, celTypeWords.Replace(t))
	}
	return name + " does not fit " + strings.Join(types, " and ")
}

var celTypeWords = strings.NewReplacer("uint", "a number", "int", "a number", "double", "a number", "string", "text", "bool", "true or false", "dyn", "any value", "null_type", "null")

var celTokens = strings.NewReplacer(" (in container '')", "", "'<EOF>'", "the end",
	"token recognition error at: ", "not understood: ", "mismatched input", "unexpected", "extraneous input", "unexpected")

// celHints add to messages of the library what to do, or replace them.
var celHints = []struct{ start, say string }{
	{"undeclared reference", "%s; what arrives at the node is called value, and text is written in quotes"},
	{"no such key", "%s; where a name may be missing, ask has(value.name) first"},
	{"no such overload", "its parts do not fit each other; text is written in quotes, and double(value) fits a number with decimals"},
	{"not understood: '=", "%s; two equals signs compare"},
	{"expression recursion limit", "it is nested too deeply"},
	{"max recursion depth", "it is nested too deeply"},
	{"expression code point size", fmt.Sprintf("it has more than %d characters", maxExpression)},
}

func kindWithArticle(v any) string {
	switch kind := flow.KindOf(v); kind {
	case "object":
		return "an object"
	case "text", "null":
		return kind
	default:
		return "a " + kind
	}
}

func celTypeName(t ref.Type) string {
	switch name := t.TypeName(); name {
	case "int", "uint", "double":
		return "a number"
	case "string":
		return "text"
	case "list":
		return "a list"
	case "map":
		return "an object"
	case "null_type":
		return "null"
	default:
		return name
	}
}

func mustCache[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic("nodes: " + err.Error())
	}
	return cache
}

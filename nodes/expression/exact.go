package expression

import (
	"encoding/json"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"sluice/flow/value"
)

// CEL has 64-bit integers and doubles; JSON has numbers of any length. A number that CEL would
// change, such as 19.990 or 18446744073709551615, is converted to a number that carries its text.
// Where an expression only passes a value on or compares it, the text counts, so that the value
// stays exact. Where it computes, the value is the nearest number of CEL.
//
// The planner of CEL cannot know that. Before it plans an expression, placesOf finds the places
// that pass values on, and decorate replaces the instructions there.

// exactNumber is a JSON number that CEL cannot represent exactly.
type exactNumber struct {
	ref.Val // the nearest int or double
	text    json.Number
}

// list and object are JSON values with the value that they were converted from. inexact reports
// whether they contain a number.
type (
	list struct {
		traits.Lister
		from    []any
		inexact bool
	}
	object struct {
		traits.Mapper
		from    *value.Object
		inexact bool
	}
	// literal is an object that an expression builds. names has its constant names in the order
	// of the source.
	literal struct {
		traits.Mapper
		names []string
	}
)

// nearest returns the value with which CEL computes.
func nearest(v ref.Val) ref.Val {
	if n, ok := v.(*exactNumber); ok {
		return n.Val
	}
	return v
}

// isInexact reports whether a value is or contains a number that CEL would compare wrongly.
func isInexact(v ref.Val) bool {
	switch v := v.(type) {
	case *exactNumber:
		return true
	case *list:
		return v.inexact
	case *object:
		return v.inexact
	case traits.Lister:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if isInexact(it.Next()) {
				return true
			}
		}
	case traits.Mapper:
		for it := v.Iterator(); it.HasNext() == types.True; {
			if isInexact(v.Get(it.Next())) {
				return true
			}
		}
	}
	return false
}

// numberOf returns a number of CEL as a JSON number.
func numberOf(v ref.Val) (json.Number, bool) {
	switch v.(type) {
	case *exactNumber, types.Int, types.Uint, types.Double:
		n, err := fromCEL(v)
		text, ok := n.(json.Number)
		return text, ok && err == nil
	}
	return "", false
}

// equal compares two values exactly.
func equal(l, r ref.Val) ref.Val {
	x, isNumber := numberOf(l)
	y, both := numberOf(r)
	if isNumber && both {
		order, _ := value.CompareNumbers(x, y)
		return types.Bool(order == 0)
	}
	if !isInexact(l) && !isInexact(r) {
		return types.Equal(l, r)
	}
	a, errA := fromCEL(l)
	b, errB := fromCEL(r)
	return types.Bool(errA == nil && errB == nil && value.Equal(a, b))
}

// compare orders two values exactly. Values that have no order give an error of CEL.
func compare(l, r ref.Val) ref.Val {
	x, isNumber := numberOf(l)
	y, both := numberOf(r)
	if isNumber && both {
		order, _ := value.CompareNumbers(x, y)
		return types.Int(order)
	}
	l, r = nearest(l), nearest(r)
	if c, ok := l.(traits.Comparer); ok {
		return c.Compare(r)
	}
	return types.MaybeNoSuchOverloadErr(l)
}

// contains reports whether a value is in a list, or a name in an object.
func contains(v, in ref.Val) ref.Val {
	items, isList := in.(traits.Lister)
	if isList && (isInexact(v) || isInexact(in)) {
		for it := items.Iterator(); it.HasNext() == types.True; {
			if equal(v, it.Next()) == types.True {
				return types.True
			}
		}
		return types.False
	}
	if c, ok := in.(traits.Container); ok {
		return c.Contains(nearest(v))
	}
	return types.MaybeNoSuchOverloadErr(in)
}

// comparisons are the operators that decorate replaces.
var comparisons = map[string]func(l, r ref.Val) ref.Val{
	operators.Equals:        equal,
	operators.NotEquals:     func(l, r ref.Val) ref.Val { return negated(equal(l, r)) },
	operators.In:            contains,
	operators.Less:          ordering(func(order types.Int) bool { return order < 0 }),
	operators.LessEquals:    ordering(func(order types.Int) bool { return order <= 0 }),
	operators.Greater:       ordering(func(order types.Int) bool { return order > 0 }),
	operators.GreaterEquals: ordering(func(order types.Int) bool { return order >= 0 }),
}

func negated(v ref.Val) ref.Val {
	if b, ok := v.(types.Bool); ok {
		return !b
	}
	return v
}

func ordering(is func(order types.Int) bool) func(l, r ref.Val) ref.Val {
	return func(l, r ref.Val) ref.Val {
		order := compare(l, r)
		if n, ok := order.(types.Int); ok {
			return types.Bool(is(n))
		}
		return order
	}
}

// comparison is a call of an operator of comparisons. It evaluates and charges like the
// instruction that it replaces.
type comparison struct {
	interpreter.InterpretableCall
	result func(l, r ref.Val) ref.Val
}

// Exec evaluates the comparison.
func (c *comparison) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	args := c.Args()
	l := args[0].Exec(frame)
	r := ref.Val(types.UnknownType)
	res := l
	if !types.IsUnknownOrError(l) {
		r = args[1].Exec(frame)
		if res = r; !types.IsUnknownOrError(r) {
			res = c.result(l, r)
		}
	}
	if costs := frame.CostTracker(); costs != nil {
		costs.EvalBinary(frame, c.ID(), c.InterpretableCall, nearest(l), nearest(r), res)
	}
	return res
}

// Eval evaluates the comparison without a frame.
func (c *comparison) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, c.Exec)
}

// attribute is a variable or a member of one. It gives the nearest number of CEL unless its place
// passes values on.
type attribute struct {
	interpreter.InterpretableAttribute
	passed map[int64]bool
}

// Exec evaluates the attribute.
func (a *attribute) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := a.InterpretableAttribute.Exec(frame)
	if a.passed[a.ID()] {
		return v
	}
	return nearest(v)
}

// Eval evaluates the attribute without a frame.
func (a *attribute) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, a.Exec)
}

// constructor builds an object, with its names in the order of the source.
type constructor struct {
	interpreter.InterpretableConstructor
	names []string
}

// Exec evaluates the constructor.
func (c *constructor) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	v := c.InterpretableConstructor.Exec(frame)
	if m, ok := v.(traits.Mapper); ok {
		return &literal{m, c.names}
	}
	return v
}

// Eval evaluates the constructor without a frame.
func (c *constructor) Eval(vars interpreter.Activation) ref.Val {
	return interpreter.EvalActivation(vars, c.Exec)
}

// places are the places of an expression, by ID, that decorate must know.
type places struct {
	passed map[int64]bool     // places that pass values on or compare them
	names  map[int64][]string // names of the objects that are built
}

// placesOf finds the places of an expression.
func placesOf(root ast.Expr) places {
	p := places{passed: map[int64]bool{}, names: map[int64][]string{}}
	p.visit(root, true)
	return p
}

// visit records a place and those in it. passed says that the value of the place is passed on.
func (p places) visit(e ast.Expr, passed bool) {
	if passed {
		p.passed[e.ID()] = true
	}
	switch e.Kind() {
	case ast.CallKind:
		p.visitCall(e.AsCall(), passed)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			p.visit(item, passed)
		}
	case ast.MapKind:
		var names []string
		for _, entry := range e.AsMap().Entries() {
			key := entry.AsMapEntry().Key()
			if name, ok := constantText(key); ok {
				names = append(names, name)
			}
			p.visit(key, false)
			p.visit(entry.AsMapEntry().Value(), passed)
		}
		p.names[e.ID()] = names
	case ast.SelectKind:
		p.visit(e.AsSelect().Operand(), false)
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		p.visit(c.IterRange(), false)
		p.visit(c.AccuInit(), passed)
		p.visit(c.LoopCondition(), false)
		p.visit(c.LoopStep(), passed)
		p.visit(c.Result(), passed)
	}
}

// visitCall records the places in a call. A conditional passes on one of two values, comparisons
// need exact ones, and appending to a list looks at no item.
func (p places) visitCall(call ast.CallExpr, passed bool) {
	if call.IsMemberFunction() {
		p.visit(call.Target(), false)
	}
	_, compares := comparisons[call.FunctionName()]
	for i, arg := range call.Args() {
		switch call.FunctionName() {
		case operators.Conditional:
			p.visit(arg, passed && i > 0)
		case operators.Add:
			p.visit(arg, passed && arg.Kind() == ast.ListKind)
		default:
			p.visit(arg, compares)
		}
	}
}

func constantText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// decorate replaces instructions of a plan by exact ones.
func (p places) decorate(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch i := i.(type) {
	case *attribute, *comparison, *constructor:
		return i, nil
	case interpreter.InterpretableAttribute:
		return &attribute{i, p.passed}, nil
	case interpreter.InterpretableConstructor:
		if names, isMap := p.names[i.ID()]; isMap {
			return &constructor{i, names}, nil
		}
	case interpreter.InterpretableCall:
		if result, ok := comparisons[i.Function()]; ok && len(i.Args()) == 2 {
			return &comparison{i, result}, nil
		}
	}
	return i, nil
}

package jsonpath

import (
	"fmt"
	"strings"
)

// disjunction reads conditions joined by ||.
func (p *parser) disjunction() test {
	defer p.nest()()
	list := disjunction{p.conjunction()}
	for p.operator("||") {
		list = append(list, p.conjunction())
	}
	return list
}

// conjunction reads conditions joined by &&, which bind tighter than ||.
func (p *parser) conjunction() test {
	list := conjunction{p.condition()}
	for p.operator("&&") {
		list = append(list, p.condition())
	}
	return list
}

// operator skips white space and an operator, and reports whether there was one.
func (p *parser) operator(token string) bool {
	p.blanks()
	found := p.accept(token)
	if found {
		p.blanks()
	}
	return found
}

// comparisons are the operators of comparisons. Longer ones come first.
var comparisons = []string{"==", "!=", "<=", ">=", "<", ">"}

// condition reads a comparison, a test for existence, a call, or conditions in parentheses.
func (p *parser) condition() test {
	if !p.accept("!") {
		return p.positive(false)
	}
	p.blanks()
	return negation{p.positive(true)}
}

// positive reads a condition without an exclamation mark, or what follows it.
func (p *parser) positive(negated bool) test {
	if p.accept("(") {
		p.blanks()
		t := p.disjunction()
		p.blanks()
		if !p.accept(")") {
			p.fail("expected )" + p.found() + p.operatorHint())
		}
		return t
	}
	left := p.expression()
	for _, operator := range comparisons {
		start := p.at
		if !p.operator(operator) {
			continue
		}
		if negated {
			p.failAt(start, "a negated comparison needs parentheses, as in !(@.a == 1)")
		}
		c := comparison{left: left.operand(p), operator: operator}
		c.right = p.expression().operand(p)
		return c
	}
	return left.test(p)
}

// operatorHint names the operator that the author probably meant.
func (p *parser) operatorHint() string {
	rest := p.source[p.at:]
	for _, hint := range []struct{ found, instead string }{
		{"=~", "use match() or search() for patterns"}, {"=", "use == to compare"},
		{"and", "use &&"}, {"or", "use ||"}, {"&", "use &&"}, {"|", "use ||"}, {"not", "use !"},
	} {
		if strings.HasPrefix(rest, hint.found) {
			return "; " + hint.instead
		}
	}
	return ""
}

// expression is what was read where a comparison, a condition or an argument may stand. Which of
// them it can be depends on its type.
type expression struct {
	parsed any // *query, literal, or a call
	start  int // position
	called string
}

// expression reads a query, a literal or a call.
func (p *parser) expression() expression {
	x := expression{start: p.at}
	switch c := p.peek(); {
	case p.accept("@"):
		x.parsed = &query{relative: true, segments: p.segments()}
	case p.accept("$"):
		x.parsed = &query{segments: p.segments()}
	case c == '\'' || c == '"':
		x.parsed = literal{p.text()}
	case c == '-' || c >= '0' && c <= '9':
		x.parsed = literal{p.number()}
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		word := p.word()
		if p.accept("(") {
			x.parsed, x.called = p.call(word, x.start), word
		} else {
			x.parsed = literal{p.constant(word, x.start)}
		}
	default:
		p.fail("expected @, $, a text in quotes, a number, true, false, null or a function" + p.found())
	}
	return x
}

// word reads the name of a function or constant.
func (p *parser) word() string {
	start := p.at
	for c := p.peek(); c < 0x80 && isNameStart(rune(c)) || c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.source[start:p.at]
}

// functions are the functions of the RFC with the number of their arguments.
var functions = map[string]int{"length": 1, "count": 1, "value": 1, "match": 2, "search": 2}

var constants = map[string]any{"true": true, "false": false, "null": nil}

// constant returns the value of true, false or null.
func (p *parser) constant(word string, start int) any {
	v, known := constants[word]
	switch {
	case known:
	case functions[word] > 0:
		p.fail("expected ( right after " + word + p.found())
	default:
		p.failAt(start, fmt.Sprintf("%q is not a value; a text needs quotes, and a member begins with @, as in @.%s", word, word))
	}
	return v
}

// call reads the arguments of a function after its opening parenthesis.
func (p *parser) call(function string, start int) any {
	defer p.nest()()
	var args []expression
	for p.blanks(); !p.accept(")"); p.blanks() {
		if len(args) > 0 && !p.accept(",") {
			p.fail("expected , or )" + p.found())
		}
		p.blanks()
		args = append(args, p.expression())
	}
	switch wanted := functions[function]; {
	case wanted == 0:
		p.failAt(start, fmt.Sprintf("there is no function %s(); there are length, count, value, match and search", function))
	case wanted != len(args):
		p.failAt(start, fmt.Sprintf("%s() takes %d argument%s, not %d", function, wanted, strings.Repeat("s", wanted-1), len(args)))
	}
	switch function {
	case "length":
		return lengthCall{args[0].operand(p)}
	case "count":
		return countCall{args[0].query(p, function)}
	case "value":
		return valueCall{args[0].query(p, function)}
	}
	return matchCall{args[0].operand(p), args[1].operand(p), function == "match"}
}

// operand checks that an expression has at most one value, so that it can be compared.
func (x expression) operand(p *parser) operand {
	if q, ok := x.parsed.(*query); ok && !q.singular() {
		p.failAt(x.start, "this path may select several values; use value() or count(), or select one by name or index")
	}
	o, ok := x.parsed.(operand)
	if !ok {
		p.failAt(x.start, fmt.Sprintf("%s() is a condition, not a value", x.called))
	}
	return o
}

// test checks that an expression is a condition.
func (x expression) test(p *parser) test {
	t, ok := x.parsed.(test)
	switch {
	case ok:
	case x.called != "":
		p.failAt(x.start, fmt.Sprintf("%s() is a value, not a condition; compare it, as in %s(@.a) > 1", x.called, x.called))
	default:
		p.failAt(x.start, "a value is not a condition; compare it, as in @.a == 1")
	}
	return t
}

// query checks that an argument is a query.
func (x expression) query(p *parser, function string) *query {
	q, ok := x.parsed.(*query)
	if !ok {
		p.failAt(x.start, fmt.Sprintf("%s() takes a path, as in %s(@.*)", function, function))
	}
	return q
}

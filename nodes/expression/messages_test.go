package expression

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"sluice/flow"
)

// libraryWords are words of the expression library and of Go, which mean nothing
// to the person who wrote an expression.
var libraryWords = regexp.MustCompile(`(?i)overload|\btoken\b|<EOF>|_\[_\]|@in|\bdyn\b|comprehension|macro|accumulator|identifier|strconv|protobuf|cel\b|<input>|null_type|\buint\b|\bref\.|type_param|viable|recognition|literal|qualifier|activation|%!`)

// failureOf compiles and evaluates, and returns what a person reads.
func failureOf(t *testing.T, source string, value any) string {
	t.Helper()
	e, err := Compile(source)
	if err == nil {
		err = e.CheckBoolean()
	}
	if err == nil {
		_, err = e.Test(t.Context(), value)
	}
	if err == nil {
		return ""
	}
	if flow.AsError(err).Code != flow.CodeExpressionFailed {
		t.Errorf("%q: %v", source, err)
	}
	return err.Error()
}

func TestExpressionWords(t *testing.T) {
	t.Parallel()
	object := map[string]any{"name": "Ada", "list": numbers(2)}
	for _, c := range []struct {
		source string
		value  any
		want   string
	}{
		{"value ==", nil, "Syntax error at column 9: unexpected the end."},
		{"value == )", nil, "Syntax error at column 10: unexpected ')'."},
		{`value contains "positive"`, nil, `Syntax error at "contains". Try value.contains("positive").`},
		{`value.label is 'a b'`, nil, `Syntax error at "is". Try value.label == 'a b'.`},
		{`value.label = "a"`, nil, `Syntax error at "=". Try value.label == "a".`},
		{`value === 3`, nil, `Syntax error at "===". Try value == 3.`},
		{`value > 1 and value < 3`, nil, `Syntax error at "and". Try &&.`},
		{`value == "this and that" ||`, nil, "Syntax error at column"},
		{"if value", nil, "Syntax error at column 1: 'if' is a reserved word."},
		{"for == 1", nil, "'for' is a reserved word."},
		{"1.all(x, true)", nil, "all(), exists(), map() and filter() need a list or an object, not a number."},
		{"[1].all(1, true)", nil, "the first argument must be a name"},
		{"has(value)", nil, "has() needs a field"},
		{"'a'.b == 1", nil, "text has no fields"},
		{"99999999999999999999 == 1", nil, "not a number, or it is too large"},
		{`'\q' == value`, nil, "Syntax error at column"},
		{"true && 1", nil, "Syntax error at column 9: wanted true or false, got a number."},
		{"!1", nil, "! does not fit a number"},
		{"size(1) == 1", nil, "size does not fit a number"},
		{"'a' in 1", nil, "in does not fit text and a number"},
		{"1[0] == 1", nil, "[ ] does not fit a number and a number"},
		{"'a'.startsWith(1)", nil, "startsWith does not fit"},
		{"value ? 1 : 'a'", nil, "does not fit"},
		{"[1, 2][5] == 1", nil, "there is no item 5"},
		{"value.list[7] == 1", object, "there is no item 7"},
		{"value.nothing == 1", object, "The expression does not fit the value, which is an object: no such key: nothing"},
		{"int(value.name) == 1", object, "text cannot be made a number."},
		{"timestamp(value.name) == timestamp(0)", object, "a date and time is written as in"},
		{"duration(value.name) == duration('1s')", object, "text cannot be made a duration."},
		{"timestamp('2026-01-31T12:00:00Z').getHours(value.name) == 1", object, "the time zone is not known"},
		{"9223372036854775807 + value.list[1] > 1", object, "a number or time is too large"},
		{"value % 0 == 1", number("3"), "division by zero"},
	} {
		t.Run(c.source, func(t *testing.T) {
			t.Parallel()
			got := failureOf(t, c.source, c.value)
			if !strings.Contains(got, c.want) || libraryWords.MatchString(strings.ReplaceAll(got, c.source, "")) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestExpressionsFailInOurWords makes expressions of random parts: whatever is
// wrong with one, no text of the library is shown.
func TestExpressionsFailInOurWords(t *testing.T) {
	t.Parallel()
	parts := strings.Fields("value value.name value.list 1 2.5 'a' \"b\" true null ( ) [ ] { } . , : ? == = != < >= && || ! + - * / % in size( int( double( string( timestamp( duration( type( has( matches( .all(x, .exists(1, .map(x, .filter( x 'x.y' b'a' 0x 1e999 1u \\ ` @ # $ ; é 'unclosed r'\\d' getHours( for while dyn( bytes( list map")
	r := rand.New(rand.NewPCG(20261122, 20))
	value := map[string]any{"name": "Ada", "list": numbers(2)}
	seen := map[string]bool{}
	for range 4000 {
		var b strings.Builder
		for range 1 + r.IntN(7) {
			b.WriteString(parts[r.IntN(len(parts))])
			if r.IntN(3) == 0 {
				b.WriteByte(' ')
			}
		}
		source := b.String()
		got := failureOf(t, source, value)
		plain := quotedPart.ReplaceAllString(got, "")
		if libraryWords.MatchString(plain) {
			t.Errorf("%q: %s", source, got)
		}
		seen[plain] = true
	}
	if len(seen) < 20 {
		t.Errorf("the expressions are not varied: %v", seen)
	}
}

// quotedPart is what an error quotes of the expression.
var quotedPart = regexp.MustCompile(`'.*'|no such key: [^;]*`)

package expression

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/common/types"

	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/wording"
)

func number(s string) json.Number { return json.Number(s) }

func TestExpression(t *testing.T) {
	t.Parallel()
	ticket := map[string]any{"label": "billing", "score": number("0.82"), "count": number("3"), "tags": []any{"urgent", "vip"}, "none": nil}
	for _, c := range []struct {
		source string
		value  any
		want   bool
	}{
		{"value > 10", number("11"), true},
		{"value > 10", number("10.5"), true},
		{"value > 10.5", number("11"), true},
		{"value == 3", number("3.0"), true},
		{"value == 3.0", number("3"), true},
		{"value in [1, 2, 3]", number("3.0"), true},
		{"value == 9007199254740993", number("9007199254740993"), true},
		{"value > 9.2e18", number("123456789012345678901234567890"), true},
		{"value < 0.0", number("-1e-300"), true},
		{"double(value) * 1.5 > 3.0", number("3"), true},
		{"value / 2 == 1", number("3"), true},
		{`value == "refund"`, "refund", true},
		{`value == "refund"`, number("3"), false},
		{"value == null", nil, true},
		{"value", true, true},
		{"!value", true, false},
		{`value.score >= 0.5 && value.label != "spam"`, ticket, true},
		{`"urgent" in value.tags`, ticket, true},
		{`"label" in value`, ticket, true},
		{"has(value.email)", ticket, false},
		{"value.none == null", ticket, true},
		{"value.tags.exists(t, t.startsWith('v'))", ticket, true},
		{"value.tags[1] == 'vip' && size(value.tags) == 2", ticket, true},
		{"value.tags == ['urgent', 'vip']", ticket, true},
		{"value.count == 3 && type(value.count) == int", ticket, true},
		{`value.matches("^[A-Z]{2}[0-9]+$")`, "AB123", true},
		{`value.matches("b")`, "abc", true},
		{`matches(value, "^b")`, "abc", false},
		{"size(value) > 3", "äöüß", true},
		{"value.contains('öü')", "äöüß", true},
		{"timestamp(value) < timestamp('2030-01-01T00:00:00Z')", "2026-11-21T12:00:00Z", true},
		{"value.all(a, a >= 0)", numbers(10_000), true},
		{"value.filter(a, a % 2 == 0).map(a, a * a).size() == 500", numbers(1000), true},
		{"value.exists(a, value.exists(b, a + b == 190))", numbers(100), true},
		{"value.contains('needle')", strings.Repeat("hay ", 1<<18) + "needle", true},
	} {
		t.Run(c.source, func(t *testing.T) {
			t.Parallel()
			e, err := Compile(c.source)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Test(t.Context(), c.value)
			if err != nil || got != c.want {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func numbers(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = flow.Number(i)
	}
	return list
}

func TestExpressionErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		source string
		value  any
		want   []string
	}{
		{" ", nil, []string{"is empty"}},
		{"value =", nil, []string{"at column 7", "two equals signs"}},
		{"value = 1", nil, []string{`at "="`, "Try value == 1."}},
		{"value == yes", nil, []string{"at column 10", "'yes'", "text is written in quotes"}},
		{"value == (1", nil, []string{"at column 12", "missing ')' at the end"}},
		{"true &&\n  vlue", nil, []string{"at line 2, column 3", "'vlue'"}},
		{"value == 'a", nil, []string{"at column 10"}},
		{"'a' < 1", nil, []string{"at column 5", "< does not fit text and a number"}},
		{"value.foo(1)", nil, []string{"'foo'"}},
		{"1 + 1", nil, []string{"must give true or false", "a number"}},
		{"value", "yes", []string{"must give true or false", "text"}},
		{"value.name", map[string]any{"name": nil}, []string{"must give true or false", "null"}},
		{"value.name.first == 'x'", map[string]any{"name": map[string]any{}}, []string{"an object", "no such key: first", "has(value.name)"}},
		{"value > 'a'", number("3"), []string{"a number", "do not fit each other"}},
		{"value * 1.5 > 3.0", number("3"), []string{"double(value)"}},
		{"value / 0 == 1", number("1"), []string{"division by zero"}},
		{"value[5] == 1", numbers(2), []string{"could not be computed"}},
		{"value.matches('(')", "a", []string{"not a regular expression"}},
		{"value.matches('(.?){1000}')", "a", []string{"too large"}},
		{strings.Repeat("(", 60) + "true" + strings.Repeat(")", 60), nil, []string{"nested too deeply"}},
		{"value == '" + strings.Repeat("a", 2000) + "'", nil, []string{"more than 2000 characters"}},
	} {
		t.Run(wording.Truncate(c.source, 40), func(t *testing.T) {
			t.Parallel()
			e, err := Compile(c.source)
			if err == nil {
				err = e.CheckBoolean()
			}
			if err == nil {
				_, err = e.Test(t.Context(), c.value)
			}
			if err == nil {
				t.Fatal("no error")
			}
			if failure := flow.AsError(err); failure.Code != flow.CodeExpressionFailed || failure.Retryable {
				t.Errorf("got %#v", failure)
			}
			has(t, err.Error(), c.want...)
		})
	}
	t.Run("value too large", func(t *testing.T) {
		t.Parallel()
		e, err := Compile("size(value) > 0")
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []any{numbers(maxItems), strings.Repeat("a", maxText+1)} {
			_, err := e.Test(t.Context(), value)
			if flow.AsError(err).Code != flow.CodeInputInvalid {
				t.Errorf("got %v", err)
			}
		}
	})
}

// loop repeats an expression 10 to the power of depth times, over v0, v1 …
func loop(macro string, depth int, leaf string) string {
	for i := range depth {
		leaf = fmt.Sprintf("[0,1,2,3,4,5,6,7,8,9].%s(v%d, %s)", macro, i, leaf)
	}
	return leaf
}

// doubled makes lists of lists of themselves: x1 is [x0, x0] and so on.
func doubled(depth int, leaf string) string {
	for i := depth; i > 0; i-- {
		leaf = fmt.Sprintf("[[x%d, x%d]].all(x%d, %s)", i-1, i-1, i, leaf)
	}
	return "[value].all(x0, " + leaf + ")"
}

// TestHostileExpressions measures what expressions do that mean harm. Each of
// them would run for seconds or fill the memory without the limits.
func TestHostileExpressions(t *testing.T) {
	need.Time(t)
	mib := strings.Repeat("a", 1<<20)
	nines := strings.Repeat("9", 1<<20)
	twins := []any{strings.Repeat("b", 2<<20-1), strings.Clone(strings.Repeat("b", 2<<20-1))}
	for name, c := range map[string]struct {
		source string
		value  any
	}{
		"nested comprehensions":     {loop("all", 8, "true"), nil},
		"a list times itself":       {"value.all(a, value.all(b, a + b >= 0))", numbers(10_000)},
		"a large list":              {"value.all(a, a >= 0 && a >= 0)", numbers(90_000)},
		"a growing list":            {"value.map(a, [a, a, a]).size() > 1", numbers(50_000)},
		"copies in copies":          {"value.map(a, value.map(b, value)).size() > 0", numbers(1000)},
		"lengths of a long text":    {loop("all", 6, "value.size() > 0"), mib},
		"a long text as number":     {loop("all", 6, "double(value) > 0.0"), nines},
		"a long text as no number":  {loop("exists", 6, "double(value) > 0.0"), mib},
		"sums of long texts":        {loop("all", 6, "(value + value).size() > 0"), mib},
		"equal long texts":          {loop("all", 6, "value[0] == value[1]"), twins},
		"order of long texts":       {loop("all", 6, "value[0] <= value[1]"), twins},
		"search in a long text":     {loop("all", 6, "!value.contains('ab')"), mib},
		"equal long lists":          {loop("all", 6, "value == value"), numbers(90_000)},
		"search in a long list":     {loop("all", 6, "!([1] in value)"), numbers(90_000)},
		"a doubled list":            {doubled(12, "x12 == x12 && "+loop("all", 4, "x12 == x12")), number("1")},
		"a doubled list searched":   {doubled(16, "x16 in [x16]"), number("1")},
		"a repeating pattern":       {`value.matches("(a?){100}b")`, mib},
		"a pattern again and again": {loop("exists", 6, `value.matches("(a?){100}b")`), mib[:4000]},
		"a new pattern each time":   {loop("exists", 6, `"a".matches("(a?){9" + string(v0+v1*10) + "}" + string(v2+v3*10+v4*100) + "b")`), nil},
		"a refused pattern":         {loop("exists", 6, `"a".matches("(.?){500}" + string(v0+v1*10) + "b")`), nil},
		"a broken pattern":          {loop("exists", 6, `"a".matches("(b" + string(v0+v1*10+v2*100))`), nil},
		"a text as its own pattern": {"value.matches(value)", mib},
		"time zones":                {loop("all", 6, `timestamp("2024-01-01T00:00:00Z").getHours("America/New_York") >= 0`), nil},
		"objects that grow":         {loop("all", 6, `{"a": value, "b": [value, value]}.b[0] == value`), numbers(9000)},
		"deep brackets":             {strings.Repeat("[", 38) + "true" + strings.Repeat("]", 38) + " == value", nil},
		"deep braces":               {strings.Repeat("{1:", 38) + "true" + strings.Repeat("}", 38) + " == value", nil},
		"deep macros":               {strings.Repeat("[1].map(a,", 36) + "1" + strings.Repeat(")", 36) + ".size() == 2", nil},
		"garbage":                   {strings.Repeat("({[", 650), nil},
		"quotes":                    {strings.Repeat(`"`, 1999), nil},
	} {
		t.Run(name, func(t *testing.T) {
			least := time.Hour
			for range 3 { // the machine may be busy; what the code needs is the least
				expressions.Remove(c.source)
				start := time.Now()
				e, err := Compile(c.source)
				if err == nil {
					_, err = e.Test(t.Context(), c.value)
				}
				least = min(least, time.Since(start))
				if err != nil && flow.AsError(err).Code != flow.CodeExpressionFailed {
					t.Fatalf("got %v", err)
				}
			}
			if least > hostileLimit {
				t.Errorf("took %v", least)
			}
		})
	}
}

// hostileLimit tells a bounded program from one that runs away. The worst of
// these take 30 ms on an idle core; a busy machine takes many times as long.
const hostileLimit = 2 * time.Second * slowdown

func TestToCEL(t *testing.T) {
	t.Parallel()
	for text, want := range map[json.Number]any{
		"0": types.Int(0), "-3": types.Int(-3), "3.0": types.Int(3), "1e3": types.Int(1000), "0.5": types.Double(0.5),
		"9223372036854775807": types.Int(9223372036854775807), "9223372036854775808": types.Double(9223372036854775808),
		"-9223372036854775808": types.Int(-9223372036854775808),
	} {
		if got, err := toCEL(text); err != nil || nearest(got) != want {
			t.Errorf("%s: got %v (%T), %v", text, got, got, err)
		}
	}
}

func TestExpressionCache(t *testing.T) {
	t.Parallel()
	first, err := Compile("value == 'cached'")
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Compile("value == 'cached'"); again != first {
		t.Error("compiled twice")
	}
	if len(expressions.Keys()) > cacheSize {
		t.Errorf("%d in the cache", len(expressions.Keys()))
	}
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q does not contain %q", text, part)
		}
	}
}

func TestScope_evaluates_several_expressions(t *testing.T) {
	t.Parallel()
	s := NewScope(map[string]any{"body": map[string]any{"a": json.Number("1"), "b": []any{"x"}}, "method": "POST"})
	for source, want := range map[string]any{"body.a + 1": json.Number("2"), "body.b[0] + method": "xPOST"} {
		if got, err := s.Eval(t.Context(), source); err != nil || got != want {
			t.Errorf("%s: %v, %v", source, got, err)
		}
	}
	if _, err := s.Eval(t.Context(), "body.c"); err == nil || !strings.Contains(err.Error(), "c") {
		t.Errorf("got %v", err)
	}
	large := NewScope(map[string]any{"body": strings.Repeat("x", maxText), "method": "xx"})
	for range 2 {
		if _, err := large.Eval(t.Context(), "method"); err == nil || flow.AsError(err).Code != flow.CodeInputInvalid {
			t.Errorf("all variables together are too large: %v", err)
		}
	}
}

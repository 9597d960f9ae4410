package pattern

import (
	"context"
	"errors"
	"math/rand"
	"reflect"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

func mustCompile(t *testing.T, source string) *Pattern {
	t.Helper()
	p, err := Compile(source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return p
}

func matches(t *testing.T, source, text string) [][]int {
	t.Helper()
	var all [][]int
	for m, err := range mustCompile(t, source).Matches(NewBudget(t.Context(), 1<<40), text) {
		if err != nil {
			t.Fatalf("%s on %q: %v", source, text, err)
		}
		all = append(all, m)
	}
	return all
}

// TestMatches_equal_those_of_regexp proves that searching one by one finds the same matches as the engine does, with
// everything that depends on what precedes a match.
func TestMatches_equal_those_of_regexp(t *testing.T) {
	t.Parallel()
	patterns := []string{
		`a`, `a*`, `a*?`, `b|a*`, `^a`, `a$`, `(?m)^a`, `(?m)a$`, `(?m)^`, `(?m)$`, `\ba`, `a\b`, `\Ba`, `\b`, `\B`, `\Aa`, `a\z`, ``, `(a)(b)?`, `(?i)B+`, `(?s).`, `.`, `(?P<x>a)|(?P<y>b)`,
		`[^b]*b|a`, `(a|ab)(c|bcd)*`, `(?U)a+`, `x*`, `\Qa.b\E`, `\Qa`, `(|a)+`, `(?:a|b)+?\b`, `é|a`, `\x{ff}`, `[^a]`, `(?:^|b)a`, `(a*)+`, `a(?:$|b)`, `\w+|\s`, `(?i:a)|(?-i:b)`, `a|b|`, `^|a`,
	}
	letters := []string{"a", "b", "A", "B", "\n", " ", "é", "\xff", "\xe4\xb8", "c", "d", "."}
	random := rand.New(rand.NewSource(1))
	texts := []string{"", "a", "aaa", "ab\nab", "abcd abcd", "a.b a.b"}
	for range 300 {
		var b strings.Builder
		for range random.Intn(12) {
			b.WriteString(letters[random.Intn(len(letters))])
		}
		texts = append(texts, b.String())
	}
	for _, source := range patterns {
		engine := regexp.MustCompile(source)
		for _, text := range texts {
			got, want := matches(t, source, text), engine.FindAllStringSubmatchIndex(text, -1)
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s on %q: got %v, want %v", source, text, got, want)
			}
			found, err := mustCompile(t, source).Match(NewBudget(t.Context(), 1<<40), text)
			if err != nil || found != engine.MatchString(text) {
				t.Fatalf("%s on %q: got %v %v", source, text, found, err)
			}
		}
	}
}

// TestMatches_stop_at_budget_and_context proves that matching ends with its budget and its context, within one search too.
func TestMatches_stop_at_budget_and_context(t *testing.T) {
	t.Parallel()
	hostile, endless, text := mustCompile(t, `[^b]*b|a`), mustCompile(t, `[^b]*b`), strings.Repeat("a", 1<<20)
	t.Run("ends all matches", func(t *testing.T) {
		t.Parallel()
		found, last := 0, error(nil)
		for _, err := range hostile.Matches(NewBudget(t.Context(), 30_000_000), text) {
			if found++; err != nil {
				last = err
			}
		}
		if !errors.Is(last, ErrBudget) || found > 10 {
			t.Errorf("%d matches, then %v", found, last)
		}
	})
	t.Run("ends one search", func(t *testing.T) {
		t.Parallel()
		b := NewBudget(t.Context(), 1000)
		if found, err := endless.Match(b, text); found || !errors.Is(err, ErrBudget) {
			t.Errorf("got %v %v", found, err)
		}
		if _, err := endless.Match(b, "a"); !errors.Is(err, ErrBudget) {
			t.Errorf("a used up budget: got %v", err)
		}
	})
	t.Run("charges only what is read", func(t *testing.T) {
		t.Parallel()
		if found, err := mustCompile(t, `^[a-z]{1,64}$`).Match(NewBudget(t.Context(), 20_000), strings.Repeat("A", 1<<20)); found || err != nil {
			t.Errorf("got %v %v", found, err)
		}
	})
	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := endless.Match(NewBudget(ctx, 1<<40), text); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("asks before long work", func(t *testing.T) {
		t.Parallel()
		asked, refused := 0, errors.New("refused")
		slow := func() error { asked++; return refused }
		for length, want := range map[int]error{1000: nil, 1 << 20: refused} {
			b := NewBudget(t.Context(), 1<<40)
			b.OnSlow(slow)
			if _, err := endless.Match(b, strings.Repeat("c", length)); !errors.Is(err, want) {
				t.Errorf("%d bytes: got %v, want %v", length, err, want)
			}
		}
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
	})
	t.Run("asks again, so that others get a turn", func(t *testing.T) {
		t.Parallel()
		asked := 0
		b := NewBudget(t.Context(), 1<<40)
		b.OnSlow(func() error { asked++; return nil })
		for range 5 {
			if err := b.Spend(yieldEvery); err != nil {
				t.Fatal(err)
			}
			for range yieldEvery / checkEvery {
				if err := b.Spend(checkEvery); err != nil {
					t.Fatal(err)
				}
			}
		}
		if asked < 5 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// TestCompile_refuses_costly_patterns proves that patterns that take long to compile are refused before that.
func TestCompile_refuses_costly_patterns(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]error{
		strings.Repeat("a", MaxSource+1):                           ErrTooLong,
		strings.Repeat("a{1000}", 200):                             ErrTooLarge,
		"(?:(?:a{100}){10}){1000}":                                 nil, // a syntax error of the engine
		"(?i)" + strings.Repeat(`\pL`, 600):                        ErrClasses,
		"(?i)" + strings.Repeat(`[a-\x{10ffff}]`, 100):             ErrClasses,
		"(?s-m:(?mi:" + strings.Repeat(`[a-\U0010ffff]`, 100):      nil,
		"(?-s:(?mi)" + strings.Repeat("[a-\U0010ffff]", 100) + ")": ErrClasses,
		strings.Repeat(`[^\PL]`, 300):                              ErrClasses,
	} {
		_, err := Compile(source)
		if want != nil && !errors.Is(err, want) {
			t.Errorf("%.40q: got %v, want %v", source, err, want)
		}
		if broken, ok := errors.AsType[*syntax.Error](err); want == nil && (!ok || broken == nil) {
			t.Errorf("%.40q: got %v, want a syntax error", source, err)
		}
	}
	for _, source := range []string{`^[\pL\pM\pN' -]{1,64}$`, `(?i)^[a-zäöü0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$`, `(?i)[一-龥]{2,50}`, strings.Repeat("a|b", 600)} {
		mustCompile(t, source)
	}
}

package jsonpath

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/e2e/need"
	"sluice/flow/flowtest"
	"sluice/flow/pattern"
	"sluice/flow/value"
)

// nested returns lists within lists, each with width items, and 1 at the bottom.
func nested(depth, width int) any {
	v := any(1)
	for range depth {
		list := make([]any, width)
		for i := range list {
			list[i] = v
		}
		v = list
	}
	return v
}

// hostileValues are values of about 1 MiB as JSON.
func hostileValues(t testing.TB) map[string]any {
	t.Helper()
	var numbers, objects, maps, texts, digits []any
	for i := range 60_000 {
		numbers = append(numbers, i)
		objects = append(objects, value.NewObject(value.Member{Name: "a", Value: i}, value.Member{Name: "b", Value: "x"}))
	}
	wide := &value.Object{}
	for i := range 60_000 {
		wide.Set(fmt.Sprintf("name%d", i), i)
	}
	for range 10_000 {
		maps = append(maps, map[string]any{"c": 1, "b": []any{}, "a": "x", "d": nil, "e": true})
	}
	for range 1000 {
		texts = append(texts, strings.Repeat("é", 500))
		digits = append(digits, decode(t, "1"+strings.Repeat("0", 1000)+".1"))
	}
	return map[string]any{
		"numbers": numbers, "objects": objects, "wide object": wide, "wide map": wide.Map(), "maps": maps, "texts": texts, "digits": digits,
		"deep": nested(60, 1), "deep and wide": nested(15, 2), "two large values": []any{objects, objects}, "tall": []any{nested(6, 10), nested(6, 10)},
		"long texts": []any{strings.Repeat("a", 1<<19), strings.Repeat("a", 1<<19)},
	}
}

// hostilePaths multiply results, or search again and again.
var hostilePaths = []string{
	// These never end without a bound, for some of the values at least.
	"$" + strings.Repeat("[0,0,0,0]", 50), "$" + strings.Repeat("..[*]", 90), "$" + strings.Repeat("..*", 166), "$" + strings.Repeat("[*,*]", 90), "$..*..*..*", "$..[?@..[?@..x]]", "$[?count($..a)==@.b]", "$..[?count(@..*)>count($..*)]",

	"$[" + strings.Repeat("*,", 200) + "*]", "$[" + strings.Repeat("?@,", 150) + "*]", "$[?@" + strings.Repeat("[0,0,0,0]", 40) + "]", "$" + strings.Repeat("[?@", 50) + strings.Repeat("]", 50), "$[::-1][::-1]", "$[:][:][:]", "$" + strings.Repeat(".a", 249), "$" + strings.Repeat("[0]", 160),
	"$[?$==$]", "$..[?@==$]", "$[?@==$[0]||$[0]==$[1]||$[1]==@]", "$..[?@<$[0]||@>$[1]]", "$..[?$[0]<=$[1]&&$[1]<=$[0]]", "$[?length(@)==length($[0])&&length(@)!=length($[1])]", "$..[?length(@)==length(@)&&length(@)!=length(@)]", "$..[?length($[0])!=length($[1])]", "$[?value($..*)==value($..*)]",
	"$..[?match(@,'(a|é)*')]", "$..[?search(@,'(a|é)*b')]", "$..[?search($[0],'b')]", "$[?match(@,@)]", "$[?search(@,$[0])]", "$..[?match(@,value($..z))]",
	"$[?" + strings.Repeat("$.x||", 90) + "@.x]", "$[?" + strings.Repeat("@==-1||", 65) + "@==-2]", "$..[" + strings.Repeat("'name1','a',", 30) + "0]", "$..*[?" + strings.Repeat("!@.x&&", 75) + "!@]", "$..[?0==-0&&$..[?@==-0]]", "$..[?" + strings.Repeat("!(!@)&&", 65) + "!@]", "$..[?" + strings.Repeat("!(", 45) + "@" + strings.Repeat(")", 45) + "&&" + strings.Repeat("!(", 45) + "@" + strings.Repeat(")", 45) + "]", "$..[?" + strings.Repeat("1==2||", 70) + "!@]", "$..[?" + strings.Repeat("''==''&&", 50) + "!@]", "$..[?" + strings.Repeat("match('',@)||", 35) + "!@]", "$..[?" + strings.Repeat("!(", 40) + "@.x" + strings.Repeat(")", 40) + "]",
}

// TestSelect_bounds_work proves that the units of a budget are what they are meant to be: 3 million
// end within less than the second of CPU time that 60 million may take, whatever path and value.
// Without a bound, the first paths take gigabytes or do not end.
func TestSelect_bounds_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	ended := map[string]bool{}
	for what, v := range hostileValues(t) {
		for _, path := range hostilePaths {
			p, err := Parse(path)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			flowtest.CheckCPU(t, func() {
				for _, err := range p.Select(v, testHost{pattern.NewBudget(t.Context(), 3_000_000)}) {
					if err != nil && !errors.Is(err, pattern.ErrBudget) {
						t.Errorf("%s: %v", path, err)
					}
					ended[path] = ended[path] || err != nil
				}
			})
			if t.Failed() {
				t.Fatalf("%s of %s", path, what)
			}
		}
	}
	for _, path := range hostilePaths[:8] {
		if !ended[path] {
			t.Errorf("%s ended in time with all values", path)
		}
	}
}

// stepHost ends an evaluation with an error after a number of steps.
type stepHost struct {
	steps, most int
	err         error
}

func (h *stepHost) Spend(int) error {
	if h.steps++; h.steps > h.most {
		return h.err
	}
	return nil
}

func (h *stepHost) Match(string, string) (bool, error) { return false, h.Spend(1) }

// TestSelect_ends_with_its_host stops each path at each of its first steps, and checks that nothing
// follows the error: a condition that was not evaluated to its end must not select anything.
func TestSelect_ends_with_its_host(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	v := decode(t, `{"a": [1, {"b": "x", "c": [[]]}, "x", [2, 3]], "d": {"e": {"f": null}}}`)
	paths := append([]string{
		"$..*", "$.a[*]", "$..[?!@.x]", "$..[?!(@.b==$.d)]", "$..[?@!=$]", "$..[?length(@)!=2]", "$..[?count(@..*)==0]", "$..[?!match(@,'y')]", "$..[?!search(@,$.a[2])]", "$..[?@.b||!@]", "$..[?value(@..f)!=1]", "$.a[::-1]", "$..[?@<=3]",
	}, hostilePaths...)
	for _, path := range paths {
		p, err := Parse(path)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for most := range 60 {
			h, last := &stepHost{most: most, err: stopped}, error(nil)
			for _, err := range p.Select(v, h) {
				if last != nil {
					t.Fatalf("%s after %d steps: an element follows the error", path, most)
				}
				last = err
			}
			if ended := h.steps > most; ended != (last != nil) || ended && h.steps != most+1 {
				t.Fatalf("%s after %d steps: %d steps, error %v", path, most, h.steps, last)
			}
		}
	}
}

// TestSelect_keeps_nothing_between_segments proves that the results of a segment are passed on
// instead of being collected: a path that finds a million values needs no memory for them.
func TestSelect_keeps_nothing_between_segments(t *testing.T) {
	need.Time(t)
	v := nested(6, 10)
	for _, path := range []string{"$..*..*..*", "$[?count($..*..*..*)>0]", "$" + strings.Repeat("[*,*,*]", 6)} {
		p, err := Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		h := &stepHost{most: 2_000_000, err: pattern.ErrBudget}
		var start, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&start)
		most, found := uint64(0), 0
		for range p.Select(v, h) {
			if found++; found%100_000 == 0 {
				runtime.GC()
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
		}
		if most > start.HeapAlloc+1<<20 {
			t.Errorf("%s: %d bytes more in use while %d values were found", path, most-start.HeapAlloc, found)
		}
	}
}

// TestSelect_ends_with_its_consumer takes the first result only.
func TestSelect_ends_with_its_consumer(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"$..*", "$[*]", "$[?@]", "$[::-1]", "$[?@..*]", "$..[?count($[0][*])>0]"} {
		p, err := Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		h := &stepHost{most: 100}
		for range p.Select(nested(5, 10), h) {
			break
		}
		if h.steps > 50 {
			t.Errorf("%s: %d steps for one result", path, h.steps)
		}
	}
}

// FuzzSelect checks that no path makes the parser or an evaluation panic, that errors point into the
// path, and that an evaluation ends soon after its host says so.
func FuzzSelect(f *testing.F) {
	for _, path := range append([]string{
		`$.store.book[?@.price < 10 && @.isbn]['title', "price"]`, `$..[?match(@.a, "[jk].")][-1:0:-2]`, `$['\uD83D\uDE00']["\n"]`, `$[?!(value($..*)==-0.5e+3||length(@)!=null)]`, `$[?@<'é']`, "$ .a [\t0 ]",
	}, hostilePaths...) {
		f.Add(path)
	}
	v := decode(f, `{"store": {"book": [{"price": 8.95, "title": "é", "a": "j."}, {"price": 1e400, "isbn": null}], "a": [[0, -1], true, "x"]}}`)
	f.Fuzz(func(t *testing.T, path string) {
		p, err := Parse(path)
		if fault, ok := errors.AsType[*SyntaxError](err); ok && (fault.Column < 1 || fault.Column > utf8.RuneCountInString(path)+1 || fault.Detail == "") {
			t.Fatalf("%q: %v", path, err)
		}
		if err != nil {
			return
		}
		h := &stepHost{most: 2000, err: pattern.ErrBudget}
		for range p.Select(v, h) {
		}
		if h.steps > 2001 {
			t.Fatalf("%q: %d steps after the end", path, h.steps-2000)
		}
	})
}

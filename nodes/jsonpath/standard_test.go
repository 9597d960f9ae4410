package jsonpath

import (
	"testing"

	"sluice/flow/value"
)

// A sample is a path and what it selects from a value, as JSON.
type sample struct{ path, from, want string }

func check(t *testing.T, samples []sample) {
	t.Helper()
	for _, s := range samples {
		want := string(value.Encode(decode(t, s.want)))
		if got := find(t, s.path, decode(t, s.from)); got != want {
			t.Errorf("%s from %s:\ngot  %s\nwant %s", s.path, s.from, got, want)
		}
	}
}

const store = `{"store": {"book": [
	{"category": "reference", "author": "Nigel Rees", "title": "Sayings of the Century", "price": 8.95},
	{"category": "fiction", "author": "Evelyn Waugh", "title": "Sword of Honour", "price": 12.99},
	{"category": "fiction", "author": "Herman Melville", "title": "Moby Dick", "isbn": "0-553-21311-3", "price": 8.99},
	{"category": "fiction", "author": "J. R. R. Tolkien", "title": "The Lord of the Rings", "isbn": "0-395-19395-8", "price": 22.99}],
	"bicycle": {"color": "red", "price": 399}}}`

const filtered = `{"a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
	"o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}}, "e": "f"}`

// TestSelect_follows_examples_of_RFC_9535 evaluates the paths in the tables of the RFC.
func TestSelect_follows_examples_of_RFC_9535(t *testing.T) {
	t.Parallel()
	const (
		letters  = `["a", "b", "c", "d", "e", "f", "g"]`
		quoted   = `{"o": {"j j": {"k.k": 3}}, "'": {"@": 2}}`
		nested   = `{"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]}`
		pair     = `{"o": {"j": 1, "k": 2}, "a": [5, 3]}`
		nulls    = `{"a": null, "b": [null], "c": [{}], "null": 1}`
		theStore = store
	)
	check(t, []sample{
		{`$.store.book[*].author`, theStore, `["Nigel Rees", "Evelyn Waugh", "Herman Melville", "J. R. R. Tolkien"]`},
		{`$..author`, theStore, `["Nigel Rees", "Evelyn Waugh", "Herman Melville", "J. R. R. Tolkien"]`},
		{`$.store.*.color`, theStore, `["red"]`},
		{`$.store..price`, theStore, `[8.95, 12.99, 8.99, 22.99, 399]`},
		{`$..book[2].title`, theStore, `["Moby Dick"]`},
		{`$..book[2].author`, theStore, `["Herman Melville"]`},
		{`$..book[2].publisher`, theStore, `[]`},
		{`$..book[-1].title`, theStore, `["The Lord of the Rings"]`},
		{`$..book[0,1].title`, theStore, `["Sayings of the Century", "Sword of Honour"]`},
		{`$..book[:2].title`, theStore, `["Sayings of the Century", "Sword of Honour"]`},
		{`$..book[?@.isbn].title`, theStore, `["Moby Dick", "The Lord of the Rings"]`},
		{`$..book[?@.price<10].title`, theStore, `["Sayings of the Century", "Moby Dick"]`},
		{`$..book[?@.price < 10 && @.isbn]['title', "price"]`, theStore, `["Moby Dick", 8.99]`},
		{`$.store.bicycle..*`, theStore, `["red", 399]`},

		{`$`, `{"k": "v"}`, `[{"k": "v"}]`},
		{`$.o['j j']`, quoted, `[{"k.k": 3}]`},
		{`$.o['j j']['k.k']`, quoted, `[3]`},
		{`$.o["j j"]["k.k"]`, quoted, `[3]`},
		{`$["'"]["@"]`, quoted, `[2]`},
		{`$[*]`, pair, `[{"j": 1, "k": 2}, [5, 3]]`},
		{`$.o[*]`, pair, `[1, 2]`},
		{`$.o[*, *]`, pair, `[1, 2, 1, 2]`},
		{`$.a[*]`, pair, `[5, 3]`},
		{`$[1]`, `["a", "b"]`, `["b"]`},
		{`$[-2]`, `["a", "b"]`, `["a"]`},
		{`$[1:3]`, letters, `["b", "c"]`},
		{`$[5:]`, letters, `["f", "g"]`},
		{`$[1:5:2]`, letters, `["b", "d"]`},
		{`$[5:1:-2]`, letters, `["f", "d"]`},
		{`$[::-1]`, letters, `["g", "f", "e", "d", "c", "b", "a"]`},
		{`$[0, 3]`, letters, `["a", "d"]`},
		{`$[0:2, 5]`, letters, `["a", "b", "f"]`},
		{`$[0, 0]`, letters, `["a", "a"]`},
		{`$..j`, nested, `[1, 4]`},
		{`$..[0]`, nested, `[5, {"j": 4}]`},
		{`$..[*]`, nested, `[{"j": 1, "k": 2}, [5, 3, [{"j": 4}, {"k": 6}]], 1, 2, 5, 3, [{"j": 4}, {"k": 6}], {"j": 4}, {"k": 6}, 4, 6]`},
		{`$..*`, nested, `[{"j": 1, "k": 2}, [5, 3, [{"j": 4}, {"k": 6}]], 1, 2, 5, 3, [{"j": 4}, {"k": 6}], {"j": 4}, {"k": 6}, 4, 6]`},
		{`$..o`, nested, `[{"j": 1, "k": 2}]`},
		{`$.o..[*, *]`, nested, `[1, 2, 1, 2]`},
		{`$.a..[0, 1]`, nested, `[5, 3, {"j": 4}, {"k": 6}]`},
		{`$.a`, nulls, `[null]`},
		{`$.a[0]`, nulls, `[]`},
		{`$.a.d`, nulls, `[]`},
		{`$.b[0]`, nulls, `[null]`},
		{`$.b[*]`, nulls, `[null]`},
		{`$.b[?@]`, nulls, `[null]`},
		{`$.b[?@==null]`, nulls, `[null]`},
		{`$.c[?@.d==null]`, nulls, `[]`},
		{`$.null`, nulls, `[1]`},

		{`$.a[?@.b == 'kilo']`, filtered, `[{"b": "kilo"}]`},
		{`$.a[?(@.b == 'kilo')]`, filtered, `[{"b": "kilo"}]`},
		{`$.a[?@>3.5]`, filtered, `[5, 4, 6]`},
		{`$.a[?@.b]`, filtered, `[{"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}]`},
		{`$[?@.*]`, filtered, `[[3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}], {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}}]`},
		{`$[?@[?@.b]]`, filtered, `[[3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}]]`},
		{`$.o[?@<3, ?@<3]`, filtered, `[1, 2, 1, 2]`},
		{`$.a[?@<2 || @.b == "k"]`, filtered, `[1, {"b": "k"}]`},
		{`$.a[?match(@.b, "[jk]")]`, filtered, `[{"b": "j"}, {"b": "k"}]`},
		{`$.a[?search(@.b, "[jk]")]`, filtered, `[{"b": "j"}, {"b": "k"}, {"b": "kilo"}]`},
		{`$.o[?@>1 && @<4]`, filtered, `[2, 3]`},
		{`$.o[?@.u || @.x]`, filtered, `[{"u": 6}]`},
		{`$.a[?@.b == $.x]`, filtered, `[3, 5, 1, 2, 4, 6]`},
		{`$.a[?@ == @]`, filtered, `[3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}]`},

		{`$[?length(@.authors) >= 2].n`, `[{"n": 1, "authors": ["a", "b"]}, {"n": 2, "authors": "é"}, {"n": 3}]`, `[1]`},
		{`$[?count(@.*.author) >= 2].n`, `[{"n": 1, "a": {"author": 1}, "b": {"author": 1}}, {"n": 2, "a": {"author": 1}}]`, `[1]`},
		{`$[?match(@.date, "1974-05-..")].n`, `[{"n": 1, "date": "1974-05-07"}, {"n": 2, "date": "x1974-05-07"}]`, `[1]`},
		{`$[?search(@.author, "[BR]ob")].n`, `[{"n": 1, "author": "A Robin"}, {"n": 2, "author": "rob"}]`, `[1]`},
		{`$[?value(@..color) == "red"].n`, `[{"n": 1, "x": {"color": "red"}}, {"n": 2, "color": "red", "x": {"color": "red"}}]`, `[1]`},
	})
}

// TestSelect_compares_as_RFC_9535 evaluates the table of comparisons in the RFC.
func TestSelect_compares_as_RFC_9535(t *testing.T) {
	t.Parallel()
	v := decode(t, `{"obj": {"x": "y"}, "arr": [2, 3]}`)
	for condition, want := range map[string]bool{
		`$.absent1 == $.absent2`: true, `$.absent1 <= $.absent2`: true, `$.absent == 'g'`: false, `$.absent1 != $.absent2`: false, `$.absent != 'g'`: true,
		`1 <= 2`: true, `1 > 2`: false, `13 == '13'`: false, `'a' <= 'b'`: true, `'a' > 'b'`: false,
		`$.obj == $.arr`: false, `$.obj != $.arr`: true, `$.obj == $.obj`: true, `$.obj != $.obj`: false, `$.arr == $.arr`: true, `$.arr != $.arr`: false,
		`$.obj == 17`: false, `$.obj != 17`: true, `$.obj <= $.arr`: false, `$.obj < $.arr`: false, `$.obj <= $.obj`: true, `$.arr <= $.arr`: true,
		`1 <= $.arr`: false, `1 >= $.arr`: false, `1 > $.arr`: false, `1 < $.arr`: false, `true <= true`: true, `true > true`: false,
		// Beyond the table: what has no value is neither less nor greater, types do not mix, and
		// texts are compared by code points, which differ from UTF-16 units beyond U+FFFF.
		`$.absent < 1`: false, `$.absent > 1`: false, `$.absent >= 1`: false, `$.absent1 < $.absent2`: false, `$.absent1 >= $.absent2`: true, `$.absent == null`: false,
		`null == null`: true, `null <= null`: true, `null < null`: false, `false < true`: false, `false == false`: true, `true != false`: true, `null == false`: false, `0 == false`: false,
		`'' == null`: false, `'b' < 'a'`: false, `'a' < 'aa'`: true, `'a' >= 'a'`: true, `'\uD83D\uDE00' > '\uFFFD'`: true, `'Ä' == 'A'`: false, `"a" == 'a'`: true, `'1' < 2`: false,
		`length($.absent) == length($.absent)`: true, `length('é😀') == 2`: true, `length($.arr) == 2`: true, `length($.obj) == 1`: true, `length(1) == 1`: false, `length(1) < 1`: false, `length($.absent) < 1`: false, `value($..*) < 1`: false, `value($.absent) <= length(1)`: true, `length(null) == $.absent`: true,
		`count($.arr[*]) == 2`: true, `count($.absent) == 0`: true, `count($..*) == 5`: true, `value($.arr[0]) == 2`: true, `value($.arr[*]) == 2`: false, `value($.arr[*]) == $.absent`: true,
	} {
		if holds := find(t, `$[?`+condition+`]`, v) != `[]`; holds != want {
			t.Errorf("%s: got %t, want %t", condition, holds, want)
		}
	}
}

package jsonpath

import (
	"errors"
	"strings"
	"testing"
)

// TestParse_rejects_invalid_paths checks that an error says where a path is wrong, and why.
func TestParse_rejects_invalid_paths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path   string
		column int
		says   string
	}{
		{``, 1, "must begin with $"}, {` $`, 1, "must begin with $"}, {`$ `, 2, "found a space"}, {"$\n", 2, `found '\n'`}, {`a`, 1, "must begin with $, as in $.items[0]"}, {`@.a`, 1, "must begin with $"}, {`.a`, 1, "must begin with $"}, {`$a`, 2, `expected . or [ or the end of the path, found 'a'`}, {`$$`, 2, "found '$'"},
		{`$.`, 3, "expected a name or * after the dot, found the end"}, {`$..`, 4, "expected a name, * or [ after .., found the end"}, {`$...a`, 4, "found '.'"}, {`$. a`, 3, "found a space"}, {`$.. a`, 4, "found a space"}, {`$.&`, 3, "found '&'"}, {`$.1`, 3, "an index is written in brackets"}, {`$.a.0`, 5, "as in [0]"}, {`$..1`, 4, "as in [0]"},
		{`$.'a'`, 3, "found '\\''"}, {`$."a"`, 3, "found '\"'"}, {`$.[0]`, 3, "found '['"}, {`$.a*`, 4, "found '*'"}, {`$.**`, 4, "found '*'"}, {`$.first-name`, 8, "['first-name']"}, {`$.länge()`, 3, "only allowed in filters"}, {`$.a b`, 4, "found a space"}, {`$.a,`, 4, "found ','"}, {`$]`, 2, "found ']'"}, {`$.ü.ä-b`, 6, "special characters"},
		{`$[]`, 3, "expected a name in quotes, an index, a slice, * or ?, found ']'"}, {`$[`, 3, "found the end"}, {`$[0`, 4, "expected , or ], found the end"}, {`$[0 2]`, 5, "expected , or ], found '2'"}, {`$[,]`, 3, "found ','"}, {`$[0,]`, 5, "found ']'"}, {`$[a]`, 3, "needs quotes, as in ['name']"}, {`$[é]`, 3, "needs quotes"}, {`$[(0)]`, 3, "found '('"}, {`$[$.a]`, 3, "found '$'"}, {`$['a'.b]`, 6, "found '.'"},
		{`$["a]`, 3, "not closed"}, {`$['a"]`, 3, "not closed"}, {`$['a\']`, 3, "not closed"}, {`$["\'"]`, 4, `write \\ for a backslash`}, {`$['\"']`, 4, "unknown escape"}, {`$['\a']`, 4, "unknown escape"}, {`$['\x41']`, 4, "unknown escape"}, {`$['\U0041']`, 4, "unknown escape"}, {`$['\`, 4, "unknown escape"}, {"$['\n']", 4, "must be escaped"}, {"$['\x00']", 4, "must be escaped"}, {"$['a\tb']", 5, "must be escaped"}, {"$[\"\x1f\"]", 4, "must be escaped"},
		{`$['\u12']`, 4, "four hexadecimal digits"}, {`$['\u12G4']`, 4, "four hexadecimal digits"}, {`$['\u+123']`, 4, "four hexadecimal digits"}, {`$['\u1_23']`, 4, "four hexadecimal digits"}, {`$['\u12`, 4, "four hexadecimal digits"}, {`$['\uD800']`, 4, "half of a surrogate pair"}, {`$['\uDC00']`, 4, "half of a surrogate pair"}, {`$['\uD800\uD800']`, 4, "half of a surrogate pair"}, {`$['\uDC00\uD800']`, 4, "half of a surrogate pair"}, {`$['\uD834x']`, 4, "half of a surrogate pair"}, {`$['\uD834\n']`, 4, "half of a surrogate pair"},
		{`$[01]`, 3, "must not begin with 0"}, {`$[-01]`, 3, "must not begin with 0"}, {`$[-0]`, 3, "write 0"}, {`$[-]`, 4, "expected a digit, found ']'"}, {`$[- 1]`, 4, "expected a digit, found a space"}, {`$[+1]`, 3, "found '+'"}, {`$[1.0]`, 4, "found '.'"}, {`$[1e2]`, 4, "found 'e'"}, {`$["0" :1]`, 7, "found ':'"}, {`$[9007199254740992]`, 3, "between -9007199254740991 and 9007199254740991"}, {`$[-9007199254740992]`, 3, "between"}, {`$[99999999999999999999]`, 3, "between"}, {`$[0x1]`, 4, "found 'x'"}, {`$[１]`, 3, "needs quotes"},
		{`$[1:2:3:4]`, 8, "found ':'"}, {`$[1:a]`, 5, "found 'a'"}, {`$[:-0]`, 4, "write 0"}, {`$[::01]`, 5, "must not begin with 0"}, {`$[0:9007199254740992]`, 5, "between"}, {`$[::9007199254740992]`, 5, "between"}, {`$[1 2:3]`, 5, "found '2'"}, {`$[:::]`, 5, "found ':'"},
		{`$[?]`, 4, "expected @, $, a text in quotes, a number, true, false, null or a function, found ']'"}, {`$[?@.a=1]`, 7, "expected , or ], found '='; use == to compare"}, {`$[?@.a===1]`, 9, "found '='"}, {`$[?@.a =~ 'b']`, 8, "use match() or search()"}, {`$[?@.a<>1]`, 8, "found '>'"}, {`$[?@.a and @.b]`, 8, "use &&"}, {`$[?@.a or @.b]`, 8, "use ||"}, {`$[?@.a & @.b]`, 8, "use &&"}, {`$[?@.a | @.b]`, 8, "use ||"}, {`$[?(@.a | @.b)]`, 9, "use ||"},
		{`$[?@.a==]`, 9, "expected @"}, {`$[?==1]`, 4, "found '='"}, {`$[?@.a==1==1]`, 10, "found '='"}, {`$[?1]`, 4, "a value is not a condition"}, {`$[?true]`, 4, "a value is not a condition"}, {`$[?'a']`, 4, "compare it, as in @.a == 1"}, {`$[?@.a&&true]`, 9, "a value is not a condition"}, {`$[?@.a==1&&]`, 12, "found ']'"}, {`$[?||@.a]`, 4, "found '|'"}, {`$[?@.a==1)]`, 10, "found ')'"}, {`$[?(@.a]`, 8, "expected ), found ']'"}, {`$[?()]`, 5, "found ')'"}, {`$[?(@.a)==1]`, 9, "found '='"}, {`$[?(1)==1]`, 5, "a value is not a condition"}, {`$[?@.a==(1)]`, 9, "found '('"},
		{`$[?!@.a==1]`, 8, "needs parentheses, as in !(@.a == 1)"}, {`$[?!!@.a]`, 5, "found '!'"}, {`$[?!1]`, 5, "a value is not a condition"}, {`$[?!]`, 5, "found ']'"}, {`$[?not @.a]`, 4, `"not" is not a value`}, {`$[?@.a==b]`, 9, `"b" is not a value; a text needs quotes, and a member begins with @, as in @.b`}, {`$[?@.a==True]`, 9, `"True" is not a value`}, {`$[?@.a==NULL]`, 9, `"NULL" is not a value`}, {`$[?@.a==nullx]`, 9, `"nullx" is not a value`}, {`$[?a.b==1]`, 4, `as in @.a`}, {`$[?@a==1]`, 5, "found 'a'"}, {`$[?@.a==[1]]`, 9, "found '['"}, {`$[?@.a=={}]`, 9, "found '{'"},
		{`$[?@.a==01]`, 9, "must not begin with 0"}, {`$[?@.a==1.]`, 11, "expected a digit after the decimal point, found ']'"}, {`$[?@.a==.1]`, 9, "found '.'"}, {`$[?@.a==-.1]`, 10, "expected a digit, found '.'"}, {`$[?@.a==+1]`, 9, "found '+'"}, {`$[?@.a==1e]`, 11, "expected a digit in the exponent"}, {`$[?@.a==1e+]`, 12, "expected a digit in the exponent"}, {`$[?@.a==1.e1]`, 11, "decimal point"}, {`$[?@.a==-]`, 10, "expected a digit"}, {`$[?@.a==--1]`, 10, "expected a digit"}, {`$[?@.a==0x1]`, 10, "found 'x'"}, {`$[?@.a==-00]`, 9, "must not begin with 0"},
		{`$[?@[*]==0]`, 4, "may select several values"}, {`$[?@..a==0]`, 4, "several"}, {`$[?@[0:0]==0]`, 4, "several"}, {`$[?@[0,0]==0]`, 4, "several"}, {`$[?@['a','b']==0]`, 4, "several"}, {`$[?@[?@.a]==0]`, 4, "several"}, {`$[?@.a[*].b==0]`, 4, "several"}, {`$[?0==$.*]`, 7, "several"}, {`$[?@.a<$..b]`, 8, "several"}, {`$[?length(@.*)<3]`, 11, "several"}, {`$[?match(@..a,'b')]`, 10, "several"}, {`$[?@.*<=42]`, 4, "use value() or count()"},
		{`$[?length(@)]`, 4, "length() is a value, not a condition"}, {`$[?count(@.*)]`, 4, "compare it, as in count(@.a) > 1"}, {`$[?value(@..a)]`, 4, "not a condition"}, {`$[?!length(@)]`, 5, "not a condition"}, {`$[?match(@.a,'b')==true]`, 4, "match() is a condition, not a value"}, {`$[?true==search(@.a,'b')]`, 10, "search() is a condition"}, {`$[?length(match(@.a,'b'))>1]`, 11, "match() is a condition"}, {`$[?count(1)>1]`, 10, "count() takes a path, as in count(@.*)"}, {`$[?value('a')==1]`, 10, "value() takes a path"}, {`$[?count(length(@))>1]`, 10, "takes a path"},
		{`$[?length()>1]`, 4, "length() takes 1 argument, not 0"}, {`$[?length(@.a,@.b)>1]`, 4, "not 2"}, {`$[?match(@.a)]`, 4, "match() takes 2 arguments, not 1"}, {`$[?match(@.a,@.b,@.c)]`, 4, "not 3"}, {`$[?length(@.a==1)>1]`, 14, "expected , or ), found '='"}, {`$[?length(@.a>1]`, 14, "expected , or )"}, {`$[?length(,)>1]`, 11, "found ','"}, {`$[?length(@.a,)>1]`, 15, "found ')'"}, {`$[?length(@.a`, 14, "expected , or ), found the end"}, {`$[?first(@.a)==1]`, 4, "there is no function first(); there are length, count, value, match and search"}, {`$[?Length(@.a)==1]`, 4, "no function Length()"}, {`$[?length (@)>1]`, 10, "expected ( right after length, found a space"}, {`$[?@.length()>1]`, 6, "only allowed in filters"},
		{"$[?" + strings.Repeat("(", 60) + "@" + strings.Repeat(")", 60) + "]", 54, "nested deeper than 50 levels"}, {"$" + strings.Repeat("[?@", 60) + strings.Repeat("]", 60), 154, "nested deeper"}, {"$[?" + strings.Repeat("length(", 60) + "@" + strings.Repeat(")", 60) + "==1]", 354, "nested deeper"}, {"$[?" + strings.Repeat("!(", 51), 104, "nested deeper"},
	} {
		_, err := Parse(c.path)
		fault, ok := errors.AsType[*SyntaxError](err)
		if !ok || fault.Column != c.column || !strings.Contains(fault.Detail, c.says) {
			t.Errorf("%s\ngot  %v\nwant character %d: …%s…", c.path, err, c.column, c.says)
		}
	}
	for path, want := range map[string]string{
		"$." + strings.Repeat("a", 499): "it has 501 bytes; the limit is 500",
		"$.a\xff":                       "it is not valid UTF-8",
		"$['\xed\xa0\x80']":             "it is not valid UTF-8",
	} {
		if _, err := Parse(path); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", path, err, want)
		}
	}
}

// TestParse_accepts_long_paths uses the whole length, many segments and the deepest nesting.
func TestParse_accepts_long_paths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"$." + strings.Repeat("a", 498), "$" + strings.Repeat("..*", 166), "$[" + strings.Repeat("0,", 248) + "0]", "$[?" + strings.Repeat("(", 49) + "@" + strings.Repeat(")", 49) + "]", "$" + strings.Repeat("[?@", 50) + strings.Repeat("]", 50),
	} {
		if _, err := Parse(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

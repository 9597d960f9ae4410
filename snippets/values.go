package snippets

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"sluice/flow"
)

// plain converts a value to the Go types that the writers support: nil, bool, string,
// json.Number, []any and map[string]any.
func plain(v any) any {
	v, err := flow.DecodeJSON(flow.EncodeJSON(v))
	if err != nil {
		return nil // not representable in JSON
	}
	return v
}

// notation defines how a language writes JSON values.
type notation struct {
	object, list     [2]string // opening and closing delimiters
	noObject, noList string    // literals of the empty object and list
	key              func(string) string
	null, yes, no    string
	indent           string
	trailing         bool           // a comma after the last member
	align            func([]member) // pads the keys of members on lines of their own; nil for no padding
	text             func(string) string
	number           func(json.Number) string
	upload           func(name string) string
	cast             func(names []string) string // text before an object with these keys; may be nil
}

// body writes the fields of a request, one per line. depth is the indentation of the
// enclosing line.
func (n *notation) body(fields []field, depth int) string {
	names, members := make([]string, len(fields)), make([]member, len(fields))
	for i, f := range fields {
		names[i], members[i] = f.Name, member{n.key(f.Name), n.value(f.Value, depth+1)}
	}
	return n.before(names) + n.lines(n.object, n.noObject, members, depth, true)
}

// maxInline is the maximum length in characters of a value on one line.
const maxInline = 72

// value writes a value returned by plain, or an attachment. Members are sorted by name, so that
// output is deterministic. depth is as in body.
func (n *notation) value(v any, depth int) string {
	switch v := v.(type) {
	case bool:
		if v {
			return n.yes
		}
		return n.no
	case string:
		return n.text(v)
	case json.Number:
		return n.number(v)
	case attachment:
		return n.upload(string(v))
	case []any:
		items := make([]member, len(v))
		for i, item := range v {
			items[i].value = n.value(item, depth+1)
		}
		return n.lines(n.list, n.noList, items, depth, false)
	case *flow.Object:
		var members []member
		for name, item := range v.All() {
			members = append(members, member{n.key(name), n.value(item, depth+1)})
		}
		return n.before(v.Names()) + n.lines(n.object, n.noObject, members, depth, false)
	}
	return n.null
}

// before returns the text before an object with these names, such as a cast in PHP, or "".
func (n *notation) before(names []string) string {
	if n.cast == nil {
		return ""
	}
	return n.cast(names)
}

// member is a member of an object, or an item of a list, which has no key.
type member struct{ key, value string }

// lines writes a list or an object, on one line if it is short and spread is false.
func (n *notation) lines(around [2]string, empty string, members []member, depth int, spread bool) string {
	if len(members) == 0 {
		return empty
	}
	if one := join(members, ", "); !spread && len(one) <= maxInline && !strings.Contains(one, "\n") {
		return around[0] + one + around[1]
	}
	if n.align != nil {
		n.align(members)
	}
	pad, last := "\n"+strings.Repeat(n.indent, depth+1), ""
	if n.trailing {
		last = ","
	}
	end := last + "\n" + strings.Repeat(n.indent, depth) + strings.TrimLeft(around[1], " ")
	return strings.TrimRight(around[0], " ") + pad + join(members, ","+pad) + end
}

// join joins members. Keys include the separator from the value, such as ": ".
func join(members []member, separator string) string {
	parts := make([]string, len(members))
	for i, m := range members {
		parts[i] = m.key + m.value
	}
	return strings.Join(parts, separator)
}

// fitsAll reports whether every number in a value keeps all its digits; see fitsNumber.
func fitsAll(v any, fits func(*big.Int) bool) bool {
	switch v := v.(type) {
	case json.Number:
		return fitsNumber(v, fits)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !fitsAll(item, fits) })
	case *flow.Object:
		for _, item := range v.All() {
			if !fitsAll(item, fits) {
				return false
			}
		}
	}
	return true
}

// fitsNumber reports whether a number keeps all its digits in a language whose integers satisfy
// fits and whose other numbers are doubles.
func fitsNumber(n json.Number, fits func(*big.Int) bool) bool {
	if whole, ok := new(big.Int).SetString(n.String(), 10); ok {
		return fits(whole)
	}
	f, err := strconv.ParseFloat(n.String(), 64)
	if err != nil || f == 0 && strings.ContainsAny(mantissa(n.String()), "123456789") {
		return false // too large or too small for 64 bits
	}
	exact, ok := new(big.Rat).SetString(n.String())
	shown, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && !math.IsInf(f, 0) && exact.Cmp(shown) == 0
}

// mantissa returns the digits of a JSON number without its exponent.
func mantissa(s string) string {
	m, _, _ := strings.Cut(strings.ToLower(s), "e")
	return m
}

// anyWhole is for languages with arbitrary-precision integers: Python and Ruby.
func anyWhole(*big.Int) bool { return true }

// int64Whole reports whether an integer fits 64 bits. It excludes the minimum, which PHP parses
// as the negation of a number that does not fit.
func int64Whole(i *big.Int) bool { return i.IsInt64() && i.Int64() != math.MinInt64 }

// doubleWhole reports whether an integer is exact in JavaScript.
func doubleWhole(i *big.Int) bool { return i.IsInt64() && i.BitLen() <= 53 }

// fieldsFit reports whether the body can be written as values of the language without losing
// digits. Otherwise it is written as JSON text.
func fieldsFit(fields []field, fits func(*big.Int) bool) bool {
	return !slices.ContainsFunc(fields, func(f field) bool { return !fitsAll(f.Value, fits) })
}

// mark surrounds the names of files in JSON text, which never contains this byte.
const mark = "\x00"

// asJSON writes indented JSON.
var asJSON = &notation{
	object: [2]string{"{", "}"}, list: [2]string{"[", "]"}, noObject: "{}", noList: "[]",
	key:  func(name string) string { return jsonText(name) + ": " },
	null: "null", yes: "true", no: "false", indent: "  ",
	text: jsonText, number: json.Number.String,
	upload: func(name string) string { return mark + name + mark },
}

// pieces splits the JSON text of a body at its uploads: text, name of a file, text …
func pieces(fields []field, depth int) []string {
	return strings.Split(asJSON.body(fields, depth), mark)
}

// concatenate writes the JSON text of a body as an expression that concatenates texts and
// uploads.
func concatenate(fields []field, plus string, text, upload func(string) string) string {
	parts := pieces(fields, 0)
	for i, p := range parts {
		if i%2 == 0 {
			parts[i] = text(p)
		} else {
			parts[i] = upload(p)
		}
	}
	return strings.Join(parts, plus)
}

// jsonText quotes a text as a JSON string with escapes for invisible characters.
func jsonText(s string) string {
	return quote(s, `"`, map[rune]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}, utf16Escape)
}

// quote writes a literal with named escapes, and numeric escapes for invisible characters.
func quote(s, mark string, named map[rune]string, numericEscape func(rune) string) string {
	var b strings.Builder
	b.WriteString(mark)
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		escape, known := named[r]
		switch {
		case known:
			b.WriteString(escape)
		case r == '\\' || string(r) == mark:
			b.WriteByte('\\')
			b.WriteRune(r)
		case !unicode.IsPrint(r):
			b.WriteString(numericEscape(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + mark
}

// utf16Escape returns an escape such as \u0041, or a surrogate pair of two escapes.
func utf16Escape(r rune) string {
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// longEscape returns an escape such as \u0041 or, beyond 16 bits, \U0001f600.
func longEscape(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// bracedEscape returns an escape such as \u{1f600}.
func bracedEscape(r rune) string { return fmt.Sprintf(`\u{%x}`, r) }

package value

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// IsNumber reports whether s is a JSON number.
func IsNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' {
		return false
	}
	s, ok := digits(s)
	if ok && strings.HasPrefix(s, ".") {
		s, ok = digits(s[1:])
	}
	if ok && s != "" && (s[0] == 'e' || s[0] == 'E') {
		if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		s, ok = digits(s)
	}
	return ok && s == ""
}

// digits removes leading digits from s and reports whether there was at least one.
func digits(s string) (rest string, ok bool) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[i:], i > 0
}

// NumberText returns the text of a number value. ok is false for other values.
func NumberText(v any) (s string, ok bool) {
	switch v := v.(type) {
	case json.Number:
		return string(v), IsNumber(string(v))
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", false
		}
		return string(Encode(v)), true
	case int:
		return strconv.Itoa(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	}
	return "", false
}

// CompareNumbers compares two numbers exactly, digit by digit, whatever their size: 64-bit IDs
// that float64 cannot tell apart differ, and 1 equals 1.0 and 1e0. ok is false unless both are
// numbers.
func CompareNumbers(a, b any) (order int, ok bool) {
	x, isNumber := NumberText(a)
	y, both := NumberText(b)
	if !isNumber || !both {
		return 0, false
	}
	return parseDecimal(x).compare(parseDecimal(y)), true
}

// IsInteger reports whether a number value has no fraction, however it is written.
func IsInteger(v any) bool {
	s, ok := NumberText(v)
	if !ok {
		return false
	}
	d := parseDecimal(s)
	return d.digits == "" || d.point >= int64(len(d.digits))
}

// decimal is a number as 0.digits × 10^point, without zeros at either end of its digits. Zero has
// none. Unlike math/big it takes no more memory for 1e1000000000 than for 1.
type decimal struct {
	negative bool
	digits   string
	point    int64
}

// maxExponent bounds exponents, which may have any number of digits. No text that differs only
// beyond it is worth telling apart.
const maxExponent = 1 << 40

// parseDecimal parses a text that IsNumber accepts.
func parseDecimal(s string) decimal {
	var d decimal
	s, d.negative = strings.CutPrefix(s, "-")
	var exponent int64
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(s[i+1:], 10, 64)
		if err != nil && strings.HasPrefix(s[i+1:], "-") {
			e = -maxExponent
		} else if err != nil {
			e = maxExponent
		}
		exponent, s = min(max(e, -maxExponent), maxExponent), s[:i]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	all := whole + fraction // which allocates nothing if either is empty
	significant := strings.TrimLeft(all, "0")
	d.point = int64(len(whole)-(len(all)-len(significant))) + exponent
	if d.digits = strings.TrimRight(significant, "0"); d.digits == "" {
		return decimal{}
	}
	return d
}

func (d decimal) compare(other decimal) int {
	sign := 1
	switch {
	case d.digits == "" && other.digits == "":
		return 0
	case d.digits == "":
		if other.negative {
			return 1
		}
		return -1
	case other.digits == "" || d.negative != other.negative:
		if d.negative {
			return -1
		}
		return 1
	case d.negative:
		sign = -1
	}
	switch {
	case d.point < other.point:
		return -sign
	case d.point > other.point:
		return sign
	}
	return sign * strings.Compare(d.digits, other.digits)
}

// Equal compares values as JSON Schema does: 1 equals 1.0, and the order of members has no
// meaning.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, Equal)
	case *Object, map[string]any:
		m, isObject := AsMap(a)
		n, both := AsMap(b)
		return isObject && both && maps.EqualFunc(m, n, Equal)
	case string:
		y, ok := b.(string)
		return ok && x == y
	}
	if order, numbers := CompareNumbers(a, b); numbers {
		return order == 0
	}
	return string(Canonical(a)) == string(Canonical(b))
}

// maxExact bounds the digits and the exponents of numbers whose difference Near computes exactly.
const maxExact = 1000

// Near reports whether two numbers differ by at most so much. It computes with their digits: 0.3 and 0.4 differ by exactly 0.1, as no float64 can
// say. It is false unless both are numbers, and for different ones that are too large to compute with.
func Near(a, b any, by float64) bool {
	if order, numbers := CompareNumbers(a, b); !numbers || order == 0 {
		return numbers
	}
	x, y, most := rational(a), rational(b), rational(by)
	if x == nil || y == nil || most == nil {
		return false
	}
	return x.Sub(x, y).Abs(x).Cmp(most) <= 0
}

// rational returns a number; nil for one that is too large. Digits beyond the first ones do not count.
func rational(v any) *big.Rat {
	s, _ := NumberText(v)
	d := parseDecimal(s)
	switch {
	case d.digits == "" || d.point < -maxExact:
		return new(big.Rat)
	case d.point > maxExact:
		return nil
	}
	r, _ := new(big.Rat).SetString(fmt.Sprintf("0.%se%d", d.digits[:min(len(d.digits), maxExact)], d.point)) // it is a number
	if d.negative {
		r.Neg(r)
	}
	return r
}

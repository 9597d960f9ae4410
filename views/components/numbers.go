package components

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Count formats an integer with thousands separators: 1,204.
func Count(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Rounded formats a number with two decimals or two significant digits: 0.52, 12.35, 0.0012.
// Other values, and numbers that are too large or too small for that, are formatted unchanged.
func Rounded(v any) string {
	text := displayed(v)
	f, ok := number(v)
	if !ok || !strings.Contains(text, ".") || math.Abs(f) >= 1e12 || f != 0 && math.Abs(f) < 1e-6 {
		return text
	}
	decimals := 2
	for size := math.Abs(f); size != 0 && size < 0.1; size *= 10 {
		decimals++
	}
	if short := strconv.FormatFloat(f, 'f', decimals, 64); len(short) < len(text) {
		return short
	}
	return text
}

// Duration formats a duration with two or three significant digits: <1 ms, 14 ms, 1.9 s, 83 s, 3
// min 20 s.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Money formats millionths of a US dollar: $0.0012, $3.40.
func Money(micros int64) string {
	switch {
	case micros == 0:
		return "$0"
	case micros < 100:
		return "<$0.0001"
	case micros < 1_000_000:
		return fmt.Sprintf("$%.4f", float64(micros)/1e6)
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// Percent formats a share from 0 to 1. It rounds to 100% only if the share is 1.
func Percent(share float64) string {
	p := share * 100
	switch {
	case share >= 1:
		return "100%"
	case p > 99.9:
		return "99.9%"
	case p == math.Trunc(p):
		return fmt.Sprintf("%.0f%%", p)
	}
	return fmt.Sprintf("%.1f%%", p)
}

// Quantity formats a count with its noun: no nodes, 1 node, 12 nodes.
func Quantity(n int, thing string) string {
	switch n {
	case 0:
		return "no " + thing + "s"
	case 1:
		return "1 " + thing
	}
	return Count(n) + " " + thing + "s"
}

package flow

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// NanoUSD is an amount of money in billionths of a US dollar. Prices per token are
// far below a cent, and sums of integers have no rounding errors.
type NanoUSD int64

// USD is one dollar.
const USD NanoUSD = 1_000_000_000

// MaxUSD is the largest amount that a budget or price may be.
const MaxUSD = 1_000_000 * USD

// USDOf converts dollars, rounded to nano-dollars.
func USDOf(dollars float64) NanoUSD { return NanoUSD(math.Round(dollars * float64(USD))) }

// Dollars returns the amount in dollars.
func (n NanoUSD) Dollars() float64 { return float64(n) / float64(USD) }

// Micros returns the amount in millionths of a dollar, rounded.
func (n NanoUSD) Micros() int64 { return (int64(n) + 500) / 1000 }

// String returns the exact amount in dollars without trailing zeros: 5, 0.5, 0.0001.
func (n NanoUSD) String() string {
	return strings.TrimSuffix(strings.TrimRight(n.decimal(), "0"), ".")
}

// Exact returns the amount in dollars as a decimal number with at least two
// decimals, as the API reports costs.
func (n NanoUSD) Exact() string {
	s := n.decimal()
	for s[len(s)-1] == '0' && s[len(s)-3] != '.' {
		s = s[:len(s)-1]
	}
	return s
}

// decimal returns the amount in dollars with all nine decimals.
func (n NanoUSD) decimal() string { return fmt.Sprintf("%d.%09d", n/USD, n%USD) }

// Rounded returns the amount in dollars, rounded to the millionth and without
// trailing zeros. A smaller amount that is not zero is shown as one millionth.
func (n NanoUSD) Rounded() string {
	if n > 0 && n < 1000 {
		n = 1000
	}
	return strconv.FormatFloat(math.Round(float64(n)/1000)/1e6, 'f', -1, 64)
}

// ParseUSD parses an amount in dollars that a user typed, such as 5, 0.25 or $1,500.
func ParseUSD(text string) (amount NanoUSD, ok bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "$")
	whole, cents, _ := strings.Cut(text, ".")
	if whole != "" && !typedWhole.MatchString(whole) || strings.Trim(cents, "0123456789") != "" || whole+cents == "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	if err != nil || f > MaxUSD.Dollars() {
		return 0, false
	}
	return USDOf(f), true
}

// typedWhole matches a whole number, optionally with commas between thousands. A
// comma elsewhere is a decimal comma; ignoring it would read 0,50 as 50.
var typedWhole = regexp.MustCompile(`^([0-9]+|[0-9]{1,3}(,[0-9]{3})+)$`)

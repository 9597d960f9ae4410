package factor_test

import (
	"strings"
	"testing"
	"time"

	"sluice/handlers/factor"
)

// rfcSecret is the key of the examples in RFC 6238, appendix B.
const rfcSecret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

func TestCode_matches_RFC_6238(t *testing.T) {
	t.Parallel()
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		got, err := factor.Code(rfcSecret, at/30)
		if err != nil || got != want {
			t.Errorf("at %d: %q (%v), not %q", at, got, err, want)
		}
	}
}

func TestMatch_accepts_one_period_early_or_late(t *testing.T) {
	t.Parallel()
	now := time.Unix(1111111111, 0)
	for periods, want := range map[int]bool{-2: false, -1: true, 0: true, 1: true, 2: false} {
		_, ok, err := factor.Match(rfcSecret, "050 471", now.Add(time.Duration(periods)*factor.Period))
		if err != nil || ok != want {
			t.Errorf("%d periods later: %t (%v)", periods, ok, err)
		}
	}
	for _, wrong := range []string{"", "50471", "0504711", "05047a", strings.Repeat("0", 1000)} {
		if _, ok, _ := factor.Match(rfcSecret, wrong, now); ok {
			t.Errorf("%.20q was accepted", wrong)
		}
	}
}

func TestNewRecovery_makes_different_codes(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range append(factor.NewRecovery(), factor.NewRecovery()...) {
		if seen[c] || factor.IsCode(c) {
			t.Errorf("%s", c)
		}
		seen[c] = true
		if got := factor.Normalize(" " + strings.ToUpper(strings.ReplaceAll(c, "-", " "))); got != c {
			t.Errorf("%q became %q", c, got)
		}
	}
}

func TestQR_draws_an_address(t *testing.T) {
	t.Parallel()
	uri := factor.URI(rfcSecret, "Sluice sluice.example.com", "ada+test@example.com")
	if want := "otpauth://totp/Sluice%20sluice.example.com:ada+test@example.com?issuer=Sluice%20sluice.example.com&secret=" + rfcSecret; uri != want {
		t.Errorf("%s", uri)
	}
	path, side, err := factor.QR(uri)
	if err != nil || side < 21 || !strings.HasPrefix(path, "M0 0h1v1h-1z") {
		t.Errorf("%d %.40s %v", side, path, err)
	}
}

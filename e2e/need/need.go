// Package need skips tests that cannot or should not run on this machine. It
// owns the printed reasons and must not know what the tests do.
//
// Every reason starts with "omitted: ", so that e2e/all can list them at the
// end.
package need

import (
	"os"
	"testing"
)

// Tool skips the test unless ok. The reason names the missing tool. With
// SLUICE_TEST_REQUIRE=all in the environment the test fails instead, so that
// no test is skipped unnoticed.
func Tool(t testing.TB, reason string, ok bool) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("SLUICE_TEST_REQUIRE") == "all" {
		t.Fatalf("omitted: %s", reason)
	}
	t.Skipf("omitted: %s", reason)
}

// Time skips a test with -short, as "make check" does with the race detector, which makes a test
// take up to ten times as long. It is for tests with a lot of work for one goroutine, one request
// after another, or another process such as a browser: there is no race to find. What was skipped
// runs after it without the race detector.
func Time(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes long; run without -short")
	}
}

// Slow skips a test that takes minutes unless SLUICE_TEST_SLOW=1 is set. The
// Makefile finds the tests that call it; "make check-slow" runs them.
func Slow(t testing.TB) {
	t.Helper()
	if os.Getenv("SLUICE_TEST_SLOW") != "1" {
		t.Skip("omitted: long tests, which 'make check-slow' runs")
	}
}

// RealProvider skips a test that spends money at a real provider unless
// SLUICE_TEST_LIVE=1 is set and the variable holds a secret, which it returns.
// Such tests are never required.
func RealProvider(t testing.TB, variable string) (secret string) {
	t.Helper()
	secret = os.Getenv(variable)
	if os.Getenv("SLUICE_TEST_LIVE") != "1" || secret == "" {
		t.Skipf("omitted: SLUICE_TEST_LIVE=1 and %s are not set, so no real provider is called", variable)
	}
	return secret
}

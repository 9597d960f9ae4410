// Package need keeps one promise of the tests: what cannot run here is named.
// It owns how a test is omitted when a tool is not installed, and knows
// nothing of what the tests do.
package need

import (
	"os"
	"testing"
)

// Tool skips the test when something it needs is not there, in words that can
// be searched for: "omitted: " and the reason. With SLUICE_TEST_REQUIRE=all in
// the environment the test fails instead, so that nothing is left out unseen.
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

// Live skips a test that spends money at a real provider unless somebody asked
// for it with SLUICE_TEST_LIVE=1 and a secret in the environment. It is named
// like whatever is left out, but never required.
func Live(t testing.TB, variable string) (secret string) {
	t.Helper()
	secret = os.Getenv(variable)
	if os.Getenv("SLUICE_TEST_LIVE") != "1" || secret == "" {
		t.Skipf("omitted: SLUICE_TEST_LIVE=1 and %s are not set, so no real provider is asked", variable)
	}
	return secret
}

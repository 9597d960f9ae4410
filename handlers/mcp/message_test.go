package mcp

import "testing"

func TestIsOwnOrigin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		public, origin string
		own            bool
	}{
		{"https://sluice.test", "https://sluice.test", true}, {"https://sluice.test", "https://SLUICE.test", true},
		{"https://sluice.test", "http://sluice.test", false}, {"https://sluice.test", "https://sluice.test.evil.test", false}, {"https://sluice.test", "null", false},
		{"https://sluice.test", "http://localhost:6274", false}, {"http://127.0.0.1:8080", "http://localhost:6274", true}, {"http://localhost:8080", "http://[::1]:6274", true},
		{"http://127.0.0.1:8080", "http://evil.test:8080", false}, {"http://127.0.0.1:8080", "null", false}, {"http://127.0.0.1:8080", "", false},
	} {
		if got := isOwnOrigin(c.origin, c.public); got != c.own {
			t.Errorf("%s at %s: %v", c.origin, c.public, got)
		}
	}
}

package console

import "testing"

// TestUsageLine: what ran on one day alone would be a speck of two pixels.
func TestUsageLine(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"M4 10h0": "second dot", "M4 10h0L8 12": "second"} {
		if got := (usageLine{path, "second"}).look(); got != want {
			t.Errorf("%s: class %q, want %q", path, got, want)
		}
	}
}

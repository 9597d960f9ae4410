package editor

import "testing"

// TestPreviewOf checks that numbers are rounded as in the result pane, and texts are not.
func TestPreviewOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{0.5234567891, "0.52"},
		{0.0012345678, "0.0012"},
		{float64(1250), "1250"},
		{"0.5234567891", "0.5234567891"},
		{true, "true"},
		{[]any{0.5}, "[0.5]"},
	} {
		if got := previewOf(c.value); got.Text != c.want || got.Kind != "text" {
			t.Errorf("%v is previewed as %+v, not %q", c.value, got, c.want)
		}
	}
}

package documents

import (
	"errors"
	"strings"
	"testing"
)

// TestReadAnswer reads answers that only a compromised child would give. The parent
// is not confined, so an answer that it believes is the way out of the sandbox: a
// size that it allocates, an endless line that it collects.
func TestReadAnswer(t *testing.T) {
	t.Parallel()
	take := func(Image) error { return nil }
	for name, c := range map[string]struct {
		answer string
		want   error
	}{
		"nothing":               {"", errNoAnswer},
		"half a line":           {`{"Document":`, errNoAnswer},
		"no JSON":               {"hello\n", errAnswer},
		"an endless line":       {strings.Repeat("x", maxHead+1), errAnswer},
		"a negative size":       {`{"Document":{},"Size":-1}` + "\n", errAnswer},
		"a text that is long":   {`{"Document":{},"Size":16777217}` + "\n", errAnswer},
		"less than it says":     {`{"Document":{},"Size":5}` + "\nabc", errNoAnswer},
		"an image of no page":   {`{"Page":-1}` + "\n", errAnswer},
		"neither":               {"{}\n", errAnswer},
		"images without an end": {strings.Repeat(`{"Page":1,"Size":1}`+"\nx", MaxImages+1), errAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := readAnswer(strings.NewReader(c.answer), take); !errors.Is(err, c.want) {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
	t.Run("stops when an image cannot be kept", func(t *testing.T) {
		t.Parallel()
		full := errors.New("disk full")
		_, err := shared().Read(t.Context(), "default", Request{Images: true}, strings.NewReader(testFile(t, "chromium.pdf")), func(Image) error { return full })
		if !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
	})
}

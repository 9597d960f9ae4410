package components

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
)

// The datetime attribute is invalid with more than three digits of a second.
func TestTimes_areValid(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 0, 15, 8, 731_472_999, time.FixedZone("", 3600))
	for name, c := range map[string]templ.Component{"Time": Time(at, at), "exactTime": ExactTime(at)} {
		var out strings.Builder
		if err := c.Render(t.Context(), &out); err != nil {
			t.Fatal(err)
		}
		if want := `datetime="2026-11-21T23:15:08.731Z"`; !strings.Contains(out.String(), want) {
			t.Errorf("%s gives %s without %s", name, out.String(), want)
		}
	}
}

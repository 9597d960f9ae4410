package knowledge

import (
	"strings"
	"testing"
)

func TestExcerpt_marks_the_words_of_the_query(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("Nothing of interest is said here. ", 30)
	for _, c := range []struct{ name, text, query, want string }{
		{"endings and case", "A Refund takes up to five days. Refunds are free.", "how long does a refund take", "A [Refund] [takes] up to five days. [Refunds] are free."},
		{"accents", "Die Rückgabe ist frei.", "ruckgabe", "Die [Rückgabe] ist frei."},
		{"pairs of characters", "東京都に住む。", "東京都", "[東京都]に住む。"},
		{"nothing in common", "Gift cards never expire.", "refund", "Gift cards never expire."},
		{"the end of a long text", long + "A refund takes five days.", "refund", "A [refund] takes five days."},
		{"the middle of a long text", long + "A refund takes five days. " + long, "refund", "A [refund] takes five days."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, s := range Excerpt(c.text, c.query, 200) {
				if s.Match {
					s.Text = "[" + s.Text + "]"
				}
				b.WriteString(s.Text)
			}
			got := b.String()
			if len(c.text) < 200 && got != c.want || !strings.Contains(got, c.want) || len(got) > 260 {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(c.text) > 200 && !strings.HasPrefix(got, "… ") {
				t.Errorf("what is left out at the beginning is not marked: %q", got)
			}
		})
	}
}

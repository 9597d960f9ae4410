package nodes

import "testing"

func TestText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "plain", "braces {{name}} and \\{{ stay", "ein\nzweï"} {
		got := use{kind: "text", config: map[string]any{"text": text}}.succeeds(t, Deps{})
		same(t, "text", got["text"], text)
	}
	got := use{kind: "text"}.succeeds(t, Deps{})
	same(t, "nothing typed", got["text"], "")
}

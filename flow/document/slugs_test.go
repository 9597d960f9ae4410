package document

import (
	"strings"
	"testing"
)

func TestSlugify(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Route a Ticket!": "route-a-ticket", "Übersicht  für Émile": "ubersicht-fur-emile", "流れ": "flow", "": "flow", "New": "new-flow",
		" -- a -- ": "a", strings.Repeat("ab ", 40): strings.TrimSuffix(strings.Repeat("ab-", 22)[:64], "-"),
	} {
		got := Slugify(name)
		if got != want {
			t.Errorf("Slugify(%q) = %q, want %q", name, got, want)
		}
		for n := range 3 {
			if s := NumberedSlug(got, n+1); !ValidSlug(s) {
				t.Errorf("%q is not valid: %s", s, CheckSlug(s))
			}
		}
	}
	for _, bad := range []string{"", "-a", "a-", "a--b", "A", "flow_x", "validate", "new", "import", strings.Repeat("a", 65)} {
		if ValidSlug(bad) {
			t.Errorf("%q is valid", bad)
		}
	}
}

package document

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"sluice/flow"
)

// MaxSlug is the maximum number of characters in a slug.
const MaxSlug = 64

// slugPattern matches slugs: words separated by single hyphens.
var slugPattern = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)

// reservedSlugs are path segments with another meaning after /v1/flow/.
var reservedSlugs = []string{"validate", "new", "import"}

// ValidSlug reports whether a flow may have the slug. Slugs have no underscores, so they are
// never confused with flow IDs.
func ValidSlug(s string) bool { return CheckSlug(s) == "" }

// CheckSlug returns why a flow cannot have the slug, as a sentence, or "".
func CheckSlug(s string) string {
	switch {
	case len(s) > MaxSlug:
		return fmt.Sprintf("A slug has at most %d characters.", MaxSlug)
	case !slugPattern.MatchString(s):
		return "A slug has lowercase letters, digits and single hyphens between them, such as route-ticket."
	case slices.Contains(reservedSlugs, s):
		return fmt.Sprintf("The slug %q is reserved. Choose another.", s)
	}
	return ""
}

// Slugify returns the slug for the name of a flow: "Route a Ticket!" becomes
// "route-a-ticket". Accents are removed; a name without Latin letters and digits
// becomes "flow".
func Slugify(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(norm.NFKD.String(name)) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			b.WriteRune(c)
		case c >= 0x300 && c <= 0x36f: // a combining accent that NFKD split off its letter
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() >= MaxSlug {
			break
		}
	}
	s := strings.Trim(b.String(), "-")
	switch {
	case s == "":
		return "flow"
	case slices.Contains(reservedSlugs, s):
		return s + "-flow"
	}
	return s
}

// NumberedSlug returns the nth slug to try for a base: the base itself, then
// base-2, base-3 and so on, shortened to fit.
func NumberedSlug(base string, n int) string {
	if n <= 1 {
		return base
	}
	suffix := fmt.Sprintf("-%d", n)
	return strings.TrimRight(base[:min(len(base), MaxSlug-len(suffix))], "-") + suffix
}

// WantedSlug returns the slug in a document, or else one derived from its name.
func WantedSlug(d *flow.Document) string { return cmp.Or(d.Slug, Slugify(d.Name)) }

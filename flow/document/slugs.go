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

// MaxSlug is how many characters a slug may have.
const MaxSlug = 64

// slugPattern matches slugs. They are in URLs, so words are separated by single
// hyphens.
var slugPattern = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)

// reservedSlugs are path segments that mean something else after /v1/flow/.
var reservedSlugs = []string{"validate", "new", "import"}

// ValidSlug reports whether a flow may have the slug. A slug has no underscore, so
// it never looks like the ID of a flow.
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

// WantedSlug returns the slug of a document: the one it names, or else one made from
// its name.
func WantedSlug(d *flow.Document) string { return cmp.Or(d.Slug, Slugify(d.Name)) }

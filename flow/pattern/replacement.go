package pattern

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Replacement is a parsed replacement text: literal texts and groups of the pattern.
type Replacement []replacementPart

// replacementPart is a literal text, or the number of a group if text is "".
type replacementPart struct {
	text  string
	group int
}

// LiteralReplacement returns a replacement in which nothing is special.
func LiteralReplacement(text string) Replacement {
	if text == "" {
		return nil
	}
	return Replacement{{text: text}}
}

// groupRef matches $$ and the references to groups: $1, ${1}, ${name} and $name.
var groupRef = regexp.MustCompile(`\$(?:\$|\{(\w+)\}|(\d+)|([A-Za-z_]\w*))`)

// ParseReplacement parses the replacement of a pattern with these groups, as
// regexp.Regexp.SubexpNames returns them. $$ is a dollar sign. A reference to a group that
// the pattern does not have is literal text, because replacements such as a price of $5
// arrive as data.
func ParseReplacement(text string, groups []string) (parts Replacement) {
	end := 0
	for _, m := range groupRef.FindAllStringSubmatchIndex(text, -1) {
		part := replacementPart{text: "$"}
		if text[m[0]:m[1]] != "$$" {
			i := slices.IndexFunc(m[2:], func(at int) bool { return at >= 0 })
			group, exists := findGroup(text[m[2+i]:m[3+i]], groups)
			if !exists {
				continue
			}
			part = replacementPart{group: group}
		}
		if m[0] > end {
			parts = append(parts, replacementPart{text: text[end:m[0]]})
		}
		parts, end = append(parts, part), m[1]
	}
	if end < len(text) {
		parts = append(parts, replacementPart{text: text[end:]})
	}
	return parts
}

// findGroup returns the number of a group that is named by its number or its name.
func findGroup(name string, groups []string) (int, bool) {
	if strings.Trim(name, "0123456789") == "" {
		n, err := strconv.Atoi(name)
		return n, err == nil && n < len(groups)
	}
	n := slices.Index(groups, name)
	return n, n > 0
}

// AppendTo appends the replacement of one match of a pattern in text, given as
// regexp.Regexp.FindStringSubmatchIndex returns it. A group that did not take part in the
// match is empty.
func (r Replacement) AppendTo(b []byte, text string, match []int) []byte {
	for _, part := range r {
		if part.text != "" {
			b = append(b, part.text...)
		} else if from := match[2*part.group]; from >= 0 {
			b = append(b, text[from:match[2*part.group+1]]...)
		}
	}
	return b
}

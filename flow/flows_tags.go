package flow

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of tags.
const (
	MaxTags       = 10
	MaxTagLetters = 32
)

// ParseTags reads tags as a person writes them, with commas between: trimmed,
// each once whatever its case, by name. The error is an Error of
// CodeInputInvalid.
func ParseTags(text string) ([]string, error) {
	var tags []string
	for tag := range strings.SplitSeq(text, ",") {
		tag = strings.Join(strings.Fields(tag), " ")
		switch {
		case tag == "" || slices.ContainsFunc(tags, func(t string) bool { return strings.EqualFold(t, tag) }):
			continue
		case utf8.RuneCountInString(tag) > MaxTagLetters:
			return nil, Errorf(CodeInputInvalid, "A tag has at most %d characters; “%s…” is longer.", MaxTagLetters, string([]rune(tag)[:MaxTagLetters]))
		case CheckName(tag, MaxTagLetters) != "":
			return nil, Errorf(CodeInputInvalid, "The tag %q cannot be taken. %s", tag, CheckName(tag, MaxTagLetters))
		}
		tags = append(tags, tag)
	}
	if len(tags) > MaxTags {
		return nil, Errorf(CodeInputInvalid, "A flow has at most %d tags; these are %d.", MaxTags, len(tags))
	}
	slices.SortFunc(tags, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	return tags, nil
}

package library

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"sluice/flow"
	"sluice/flow/sorting"
)

// Limits of tags.
const (
	MaxTags       = 10
	MaxTagLetters = 32
)

// ParseTags parses tags separated by commas. It trims and sorts them, and removes duplicates
// ignoring case. The error is a flow.Error with CodeInputInvalid.
func ParseTags(text string) ([]string, error) {
	var tags []string
	for tag := range strings.SplitSeq(text, ",") {
		tag = strings.Join(strings.Fields(tag), " ")
		switch {
		case tag == "" || slices.ContainsFunc(tags, func(t string) bool { return strings.EqualFold(t, tag) }):
			continue
		case utf8.RuneCountInString(tag) > MaxTagLetters:
			return nil, flow.Errorf(flow.CodeInputInvalid, "A tag has at most %d characters; “%s…” is longer.", MaxTagLetters, string([]rune(tag)[:MaxTagLetters]))
		case flow.CheckName(tag, MaxTagLetters) != "":
			return nil, flow.Errorf(flow.CodeInputInvalid, "The tag %q is invalid. %s", tag, flow.CheckName(tag, MaxTagLetters))
		}
		tags = append(tags, tag)
	}
	if len(tags) > MaxTags {
		return nil, flow.Errorf(flow.CodeInputInvalid, "A flow has at most %d tags; these are %d.", MaxTags, len(tags))
	}
	sorting.By(tags, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	return tags, nil
}

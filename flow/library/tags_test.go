package library

import (
	"strings"
	"testing"

	"sluice/flow"
)

func TestParseTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                              "",
		" , ,":                          "",
		"support, Billing,support":      "Billing|support",
		"a  b,A B,  c ":                 "a b|c",
		"ü,z":                           "z|ü",
		strings.Repeat("x", 32):         strings.Repeat("x", 32),
		"1,2,3,4,5,6,7,8,9,10, 10 , 10": "1|10|2|3|4|5|6|7|8|9",
	} {
		got, err := ParseTags(text)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{strings.Repeat("x", 33), "a\x00b", "a\u202eb", "\u200d", "1,2,3,4,5,6,7,8,9,10,11", "\xff"} {
		if tags, err := ParseTags(text); flow.AsError(err).Code != flow.CodeInputInvalid {
			t.Errorf("%q: %q, %v", text, tags, err)
		}
	}
}

package pattern_test

import (
	"regexp"
	"testing"

	"sluice/flow/pattern"
)

func TestMatchesAll_finds_patterns_that_no_text_fails(t *testing.T) {
	t.Parallel()
	texts := []string{"", "a", "\n", "a\nb", "word word", "é 😀", "12", "x\n"}
	for source, want := range map[string]bool{
		"": true, ".*": true, "a*": true, "a?": true, "a{0,3}": true, "(?:)": true, "^": true, "$": true, "(?m)^": true, "(?m)$": true, "^a*": true, "a*$": true, "|a": true, "a|": true, "(a*)+": true,
		"(a?)(b?)": true, `(?s)^.*$`: true, `^[\s\S]*$`: true, `^(.|\n)*$`: true, `\A(?s:.*)\z`: true, "^(?s)(.*)$": true, "(?i)a*": true, "(a*){2}": true, "x|^": true,
		"a": false, ".": false, ".+": false, "^$": false, "^.*$": false, "^a*$": false, "^[^x]*$": false, `\b`: false, `\B`: false, "a+": false, "(?s)^.+$": false, "a*b": false, "$a": false, "(": false, `(?s)^a.*$`: false, `^\s*$`: false,
	} {
		if got := pattern.MatchesAll(source); got != want {
			t.Errorf("MatchesAll(%q) = %v", source, got)
		}
		re, err := regexp.Compile(source)
		if err != nil {
			continue
		}
		for _, text := range texts {
			if want && !re.MatchString(text) {
				t.Errorf("%q does not match %q", source, text)
			}
		}
	}
}

package builtin

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"sluice/e2e/need"
)

func TestSplitSentences(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text string
		want []string
	}{
		"empty":              {"", nil},
		"blank":              {" \n\t \r\n ", nil},
		"plain":              {"One. Two! Three? Four", []string{"One.", "Two!", "Three?", "Four"}},
		"stops in a row":     {"What?! No way... Yes.", []string{"What?!", "No way...", "Yes."}},
		"ellipsis continues": {"Wait ... what? Well… maybe.", []string{"Wait ... what?", "Well… maybe."}},
		"titles":             {"Dr. Smith met Mrs. Jones. They talked.", []string{"Dr. Smith met Mrs. Jones.", "They talked."}},
		"initials":           {"J. R. R. Tolkien wrote it. I agree.", []string{"J. R. R. Tolkien wrote it.", "I agree."}},
		"pronoun":            {"So do I. We left.", []string{"So do I.", "We left."}},
		"latin":              {"Use fruit, e.g. Apples, i.e. Food. Done.", []string{"Use fruit, e.g. Apples, i.e. Food.", "Done."}},
		"may end":            {"He works at Acme Inc. Sales rose at 5 p.m. on Friday.", []string{"He works at Acme Inc.", "Sales rose at 5 p.m. on Friday."}},
		"number sign":        {"See No. 5 and Fig. 2. No. I will not.", []string{"See No. 5 and Fig. 2.", "No.", "I will not."}},
		"months":             {"Due Jan. 5 at noon. It was in Jan. Then it moved.", []string{"Due Jan. 5 at noon.", "It was in Jan.", "Then it moved."}},
		"decimals":           {"Pi is 3.14. It costs $1,234.56. Version 1.2.3 is out.", []string{"Pi is 3.14.", "It costs $1,234.56.", "Version 1.2.3 is out."}},
		"addresses":          {"Go to example.com or a.b@c.org. Thanks.", []string{"Go to example.com or a.b@c.org.", "Thanks."}},
		"quotes":             {`"Really?" he asked. "Yes." She left. (It rained.) Then sun.`, []string{`"Really?" he asked.`, `"Yes."`, "She left.", "(It rained.)", "Then sun."}},
		"curly quotes":       {"“Stop.” “Why?” ‘No.’", []string{"“Stop.”", "“Why?”", "‘No.’"}},
		"blank line":         {"No full stop\n\nNext paragraph", []string{"No full stop", "Next paragraph"}},
		"heading":            {"# Refunds\nWe pay within ten days.", []string{"Refunds", "We pay within ten days."}},
		"short lines":        {"Name: Ana\nCity: Oslo", []string{"Name: Ana", "City: Oslo"}},
		"wrapped lower":      {"This line is\nwrapped by hand. Next.", []string{"This line is\nwrapped by hand.", "Next."}},
		"wrapped upper":      {"This is a rather long line that an editor has broken before\nOslo, the capital.", []string{"This is a rather long line that an editor has broken before\nOslo, the capital."}},
		"bullets":            {"Bring:\n- water\n* bread and salt\n• a map", []string{"Bring:", "water", "bread and salt", "a map"}},
		"numbered":           {"1. First step\n2) Second step. Then rest.\n10. Last", []string{"First step", "Second step.", "Then rest.", "Last"}},
		"not a marker":       {"-5 degrees\n3.5 percent\n#tag", []string{"-5 degrees", "3.5 percent", "#tag"}},
		"crlf":               {"One.\r\nTwo.\rThree.", []string{"One.", "Two.", "Three."}},
		"wide stops":         {"你好。再见！真的吗？是", []string{"你好。", "再见！", "真的吗？", "是"}},
		"accents":            {"Élan vital. Ça va? Übung macht den Meister.", []string{"Élan vital.", "Ça va?", "Übung macht den Meister."}},
		"spanish":            {"Hola. ¿Qué tal? ¡Bien!", []string{"Hola.", "¿Qué tal?", "¡Bien!"}},
		"only stops":         {"...", []string{"..."}},
		"lone marker":        {"-\n•\n1.", nil},
		"broken utf-8":       {"a\xff. B\xc3", []string{"a\xff.", "B\xc3"}},
		"space before stops": {"Really ? Yes .", []string{"Really ?", "Yes ."}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range splitSentences(c.text) {
				got = append(got, s.in(c.text))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// A splitter that looked back or ahead too far would need hours for these.
func TestSplitSentencesIsLinear(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for _, unit := range []string{".", ". ", ".a", "\"", ".\"", "\n", "a\n", " ", "e.g. ", "-", "- \n", "1. ", "(", ".(", "。"} {
		splitSentences(strings.Repeat(unit, MaxText/len(unit)))
	}
}

func TestSplitSentencesCutsEndlessOnes(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"words":    strings.Repeat("word ", 1000),
		"no space": strings.Repeat("数", 2000),
		"one stop": strings.Repeat("a b, c; ", 500) + ".",
	} {
		for _, s := range splitSentences(text) {
			if s.end-s.start > maxSentence || !utf8.ValidString(s.in(text)) {
				t.Errorf("%s: section of %d bytes, valid: %v", name, s.end-s.start, utf8.ValidString(s.in(text)))
			}
		}
	}
}

// FuzzSplitSentences checks that sections are in order, trimmed, short, and leave out nothing but space and markers.
func FuzzSplitSentences(f *testing.F) {
	for _, s := range []string{"", "One. Two", "- a\n- b\n\n3) c", "“Is it?” he said…", "数学。\xff\xfe 1. ", "a\r\n\u2028b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, left := 0, ""
		for _, s := range splitSentences(text) {
			if s.start < at || s.end <= s.start || s.end-s.start > maxSentence || strings.TrimSpace(s.in(text)) != s.in(text) {
				t.Fatalf("bad section %v after %d of %q", s, at, text)
			}
			left += text[at:s.start]
			at = s.end
		}
		left += text[at:]
		if strings.ContainsFunc(left, unicode.IsLetter) {
			t.Fatalf("lost %q of %q", left, text)
		}
	})
}

package markdown

import (
	"strings"
	"testing"
)

func TestWithFootnotes_links_numbers_to_their_sources(t *testing.T) {
	t.Parallel()
	sources := map[string]Source{
		"1": {Title: "Refunds & returns", Link: "https://example.com/a.pdf#page=3", Page: 3},
		"2": {Title: `<b>"Gift" cards</b>`},
		"3": {Title: "Bad", Link: "javascript:alert(1)"},
		"4": {Title: "Not cited"},
	}
	for _, c := range []struct{ name, text, has, lacks string }{
		{"a link with its page", "Five days [1].", `<sup class="cite"><a href="https://example.com/a.pdf#page=3" title="Refunds &amp; returns, page 3" target="_blank"`, "Not cited"},
		{"the list", "Five days [1].", `<ol class="footnotes"><li value="1"><a href="https://example.com/a.pdf#page=3" target="_blank" rel="noopener noreferrer nofollow">Refunds &amp; returns</a>, page 3</li></ol>`, ""},
		{"a source without a link", "Cards [2].", `<li value="2">&lt;b&gt;&#34;Gift&#34; cards&lt;/b&gt;</li>`, "<b>"},
		{"a link that could run code", "X [3].", `<sup class="cite" title="Bad">[3]</sup>`, "javascript:"},
		{"an unknown number", "X [9].", `<sup class="cite unknown" title="There is no source with this number">[9?]</sup>`, "footnotes"},
		{"code", "`a[1]` and\n\n    b[1]\n", "a[1]", "<sup"},
		{"the text of a link", "[see 1](https://example.com) [1]", `<sup class="cite">`, ""},
		{"several, in the order of the text", "B [2], a [1], b [2].", `<ol class="footnotes"><li value="2">`, `</li><li value="2">`},
		{"no numbers", "**Bold**", "<strong>Bold</strong>", "footnotes"},
		{"an attribute", `[x](https://example.com/?a=[1])`, `<a href="https://example.com/?a=`, "<sup"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := WithFootnotes(c.text, sources)
			if !strings.Contains(got, c.has) || c.lacks != "" && strings.Contains(got, c.lacks) {
				t.Errorf("got %s", got)
			}
		})
	}
	if many := WithFootnotes(strings.Repeat("[1] ", 5000), sources); strings.Count(many, "<sup") != maxFootnotes {
		t.Errorf("%d footnotes, want %d", strings.Count(many, "<sup"), maxFootnotes)
	}
}

func TestSourceList_has_each_cited_source_once(t *testing.T) {
	t.Parallel()
	sources := map[string]Source{
		"1": {Title: "Refunds", Link: "https://example.com/a.pdf#page=3", Page: 3},
		"2": {Title: "![x](https://evil.example/?q) \n# *Cards*"},
		"3": {Title: "Bad", Link: "javascript:alert(1)"},
	}
	const text = "Grüße: cards [2], refunds [1], cards [2], `code [1]`, unknown [9], bad [3].\n\n```\nb[1]\n```"
	const want = "\n\nSources:\n\n- [2] \\!\\[x\\]\\(https://evil.example/?q\\) \\# \\*Cards\\*\n- [1] Refunds, page 3 <https://example.com/a.pdf#page=3>\n- [3] Bad"
	if got := SourceList(text, sources); got != want {
		t.Errorf("got %q", got)
	}
	if got := SourceList("Nothing [9].", sources); got != "" {
		t.Errorf("without a source: %q", got)
	}
	list := Citations(text, sources)
	runes := []rune(text)
	var numbers []string
	for _, c := range list {
		if got := string(runes[c.Start:c.End]); got != "["+c.Number+"]" {
			t.Errorf("%d to %d is %q", c.Start, c.End, got)
		}
		numbers = append(numbers, c.Number)
	}
	if got := strings.Join(numbers, " "); got != "2 1 2 3" {
		t.Errorf("cited %s", got)
	}
}

package markdown

import (
	"fmt"
	"strings"
	"testing"

	"sluice/flow/flowtest"
)

func TestHTML_renders_safely(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text      string
		has, hasn []string
	}{
		"shows what it says": {"# Reply\n\n**Hello**\n\n- one\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", []string{"<h1", "<strong>Hello</strong>", "<li>one</li>", "<td>1</td>"}, nil},
		"shows HTML as text": {"<script>alert(1)</script>\n\ntext <b onclick=x>b</b>", []string{"&lt;script&gt;alert(1)", "&lt;b onclick=x&gt;"}, []string{"<script", "<b "}},
		"loads no pictures":  {"![seen](https://example.com/pixel.png)", []string{`href="https://example.com/pixel.png"`, "seen"}, []string{"<img"}},
		"links to the web":   {"[a](https://example.com) [b](javascript:alert(1)) [c](//evil.example) [d](data:text/html,x)", []string{`href="https://example.com" target="_blank" rel="noopener noreferrer nofollow"`}, []string{"javascript:", "//evil", "data:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := HTML(c.text)
			for _, want := range c.has {
				if !strings.Contains(got, want) {
					t.Errorf("%q is not in %s", want, got)
				}
			}
			for _, bad := range c.hasn {
				if strings.Contains(got, bad) {
					t.Errorf("%q is in %s", bad, got)
				}
			}
		})
	}
	for text, want := range map[string]bool{"# Title": true, "Some **bold** words": true, "- a\n- b": true, "plain - text\nand 2 * 3": false, "see [this](https://example.com)": true, "": false} {
		if got := Is(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

// hostile returns texts that goldmark renders slowly, of about the given size in bytes.
func hostile(size int) map[string]string {
	repeated := map[string]string{}
	for _, unit := range []string{
		"[a](", "[", "]", "![", "![a](", "[a][", "[]", "[a]", "[[a]](b)", "[a](<b", "[a](b \"c", "[a](b)", "a]", "(", "[a](()", "!", "[a]: b\n", "[a]:\n", "[a]: <b> 'c'\n", "[a]: b 'c\n", "[^1]: a\n",
		">", "> ", ">a\n", ">>\n", "> > a\n\n", "- ", "* ", "+ ", "1. ", "1) ", "- a\n", "-\n", "- - a\n", "-\ta\n", "1. a\n  - b\n", "> - ", "- > ",
		"*", "**", "_", "__", "* a", "*a ", "a*", "_a ", "**a *", "*a **a ", "*a_ ", "a**b", "**a_ ", "~", "~~", "~a ", "~~a ", "a~~", "*a ~b _c ",
		"`", "``", "`a", "``a`", "` `` ``` ", "```\n", "~~~\n", "````\na\n", "    a\n", "\ta\n",
		"<", "<a", "<a ", "<a b", "<a b=", "<a b='", "<!--", "<!-", "<?", "<!A", "<![CDATA[", "</a", "<a>", "<a:b", "<a@b", "<a@b.c>", "<http://a", "<b\n", "<script>\n", "<pre>\n", "<div>\n\n", "<!-->",
		"|", "|a", "a|b\n", "|a|\n|-|\n", "|-", "a|\n-|\n", "|`\\|`", "\\|", "-|\n", ":-|", "|:-:|\n",
		"&", "&a", "&amp;", "&#", "&#1", "\\", "\\\n", "\\*", "  \n", "a  \n", "\n", "\t", " ", "\x00", "\xff", "é", "a\r\n",
		"#", "# ", "# a\n", "a\n=\n", "a\n-\n", "=\n", "---\n", "***\n", "- - -\n", "_ _ _\n", "# *a", "###### a\n", "a\n\n", "a\n", "a", "http://a ", "www.a.b ", "a@b.c ",
	} {
		repeated[fmt.Sprintf("%q", unit)] = strings.Repeat(unit, size/len(unit))
	}
	half := size / 2
	repeated["openers, then closers"] = strings.Repeat("[", half) + strings.Repeat("]", half)
	repeated["links, then closers"] = strings.Repeat("[a", half/2) + strings.Repeat("](b)", half/4)
	repeated["emphasis, then closers"] = strings.Repeat("*a ", half/3) + strings.Repeat("b* ", half/3)
	repeated["strong emphasis, nested"] = strings.Repeat("a **b", half/5) + strings.Repeat("c** d", half/5)
	repeated["underscores, then stars"] = strings.Repeat("_a ", half/3) + strings.Repeat("b* ", half/3)
	repeated["many lengths of code"] = func() string {
		var b strings.Builder
		for i := 1; b.Len() < size-i; i++ {
			b.WriteString(strings.Repeat("`", i) + " ")
		}
		return b.String()
	}()
	repeated["a wide table"] = strings.Repeat("|a", half/3) + "\n" + strings.Repeat("|-", half/3) + "\n" + strings.Repeat("|\n", half/3)
	repeated["a square table"] = strings.Repeat("|a", 300) + "|\n" + strings.Repeat("|-", 300) + "|\n" + strings.Repeat(strings.Repeat("|b", 300)+"|\n", size/700)
	repeated["many escaped pipes"] = strings.Repeat("|a|\n|-|\n|`\\|`|\n\n", size/18)
	repeated["deeper and deeper"] = func() string {
		var b strings.Builder
		for i := 0; b.Len() < size-i-3; i += 2 {
			b.WriteString(strings.Repeat(" ", i) + "- a\n")
		}
		return b.String()
	}()
	repeated["quotes that grow"] = func() string {
		var b strings.Builder
		for i := 1; b.Len() < size-i-3; i++ {
			b.WriteString(strings.Repeat(">", i) + "a\n")
		}
		return b.String()
	}()
	repeated["references"] = strings.Repeat("[a]: b\n\n", half/8) + strings.Repeat("[a] ", half/4)
	repeated["long labels"] = strings.Repeat("["+strings.Repeat("a", 990)+"]: b\n\n", half/1000) + strings.Repeat("["+strings.Repeat("a", 990)+"] ", half/1000)
	repeated["paragraphs with links"] = strings.Repeat(strings.Repeat("[a](", 500)+"\n\n", size/2002)
	repeated["paragraphs with emphasis"] = strings.Repeat(strings.Repeat("*a _b ", 300)+"\n\n", size/1802)
	repeated["cells with links"] = strings.Repeat("|a|\n|-|\n|"+strings.Repeat("[a](", 400)+"|\n\n", size/1615)
	repeated["headings with links"] = strings.Repeat("# "+strings.Repeat("[a](", 400)+"\n", size/1603)
	repeated["items with links"] = strings.Repeat("- "+strings.Repeat("[a](", 400)+"\n", size/1603)
	repeated["nested lists with text"] = strings.Repeat(strings.Repeat("- ", 40)+"a\n", size/82)
	repeated["nested quotes with text"] = strings.Repeat(strings.Repeat("> ", 40)+"a\n", size/82)
	repeated["lazy lines"] = strings.Repeat("> ", 40) + strings.Repeat("a\n", half)
	repeated["tag with attributes"] = "<a " + strings.Repeat("b='c' ", size/6)
	repeated["tags with attributes"] = strings.Repeat("<a "+strings.Repeat("b ", 200), size/403)
	return repeated
}

// TestHTML_bounds_work proves that no text takes more than a second of CPU time.
func TestHTML_bounds_work(t *testing.T) {
	t.Parallel()
	for name, text := range hostile(MaxText) {
		flowtest.CheckCPU(t, func() {
			if got := HTML(text); len(got) > 10*len(text)+1000 {
				t.Errorf("%d bytes became %d", len(text), len(got))
			}
			Is(text)
		})
		if t.Failed() {
			t.Fatal(name)
		}
	}
	if got := HTML(strings.Repeat("**a** <b>\n", MaxText)); strings.Contains(got, "<strong>") || strings.Contains(got, "<b>") {
		t.Error("a longer text is not plain")
	}
}

// TestHTML_shows_costly_parts_as_text proves that the bounds change only what they must.
func TestHTML_shows_costly_parts_as_text(t *testing.T) {
	t.Parallel()
	got := HTML("**before**\n\n" + strings.Repeat("[a](", 20_000) + "\n\n**after**\n\n" + strings.Repeat(">", 1000) + "deep")
	for _, want := range []string{"<strong>before</strong>", "[a]([a](", "<strong>after</strong>", "&gt;deep"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %.200s", want, got)
		}
	}
	if n := strings.Count(got, "<blockquote>"); n < 10 || n > maxDepth {
		t.Errorf("%d quotes", n)
	}
	report := strings.Repeat("## Part\n\nThe **total** of `n` items is *high*, see [the page](https://example.com/a_b(c)) and <b>.\n\n- one\n  - two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n", 1000)
	if got := HTML(report); strings.Count(got, "<strong>total</strong>") != 1000 || strings.Count(got, "<td>2</td>") != 1000 || strings.Count(got, "<a href") != 1000 {
		t.Error("an ordinary text of 140 KB is not rendered completely")
	}
}

package components

import (
	"strings"
	"testing"
)

func TestMarkdown(t *testing.T) {
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
			var b strings.Builder
			if err := Markdown(c.text).Render(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.has {
				if !strings.Contains(b.String(), want) {
					t.Errorf("%q is not in %s", want, b.String())
				}
			}
			for _, bad := range c.hasn {
				if strings.Contains(b.String(), bad) {
					t.Errorf("%q is in %s", bad, b.String())
				}
			}
		})
	}
	for text, want := range map[string]bool{"# Title": true, "Some **bold** words": true, "- a\n- b": true, "plain - text\nand 2 * 3": false, "see [this](https://example.com)": true, "": false} {
		if got := IsMarkdown(text); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

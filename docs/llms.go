package docs

import (
	"fmt"
	"strings"
)

// LLMs returns the text of /llms.txt, the index that language models read
// first (llmstxt.org): every page with its address as Markdown and one line on
// what it covers. The base URL has no slash at its end.
func (b *Book) LLMs(baseURL string) string {
	var s strings.Builder
	s.WriteString("# Sluice\n\n> Draw a flow of AI models. Call it as an API.\n\n")
	fmt.Fprintf(&s, "These pages are Markdown. The OpenAPI document of all endpoints is at %s/v1/openapi.json, tools for assistants are at %s/mcp.\n", baseURL, baseURL)
	for _, section := range b.Sections {
		fmt.Fprintf(&s, "\n## %s\n\n", section.Title)
		for _, p := range section.Pages {
			fmt.Fprintf(&s, "- [%s](%s%s): %s\n", p.Title, baseURL, p.MarkdownPath(), plain(p.Lede))
			for _, part := range p.Parts {
				fmt.Fprintf(&s, "  - [%s](%s%s): %s\n", part.Title, baseURL, part.MarkdownPath(), plain(part.Lede))
			}
		}
	}
	return s.String()
}

// MarkdownPath returns the URL path of the page as Markdown. Relative links in
// the Markdown resolve to other pages as Markdown.
func (p *Page) MarkdownPath() string { return "/docs/" + p.Name + ".md" }

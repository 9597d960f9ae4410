// Package docs renders the documentation pages and their search. The texts are in the root
// package docs.
package docs

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"

	"sluice/docs"
	"sluice/views/components"

	"github.com/a-h/templ"
)

// DocsPage is a documentation page, or the results of a search.
type DocsPage struct {
	Sections []docs.Section
	Page     *docs.Page // nil for search results
	// Body is the rendered content, if it is cached.
	Body          templ.Component
	Before, After *docs.Page
	Query         string
	Hits          []docs.Hit
}

// Name returns the name of the page; "" for search results.
func (d DocsPage) Name() string {
	if d.Page == nil {
		return ""
	}
	return d.Page.Name
}

// current returns the attribute that marks the current entry of a navigation.
func current(is bool) templ.Attributes {
	if is {
		return templ.Attributes{"aria-current": "page"}
	}
	return nil
}

// docsFoundText summarizes the results of a search; without results it says what to try
// next.
func docsFoundText(d DocsPage) string {
	switch len(d.Hits) {
	case 0:
		return fmt.Sprintf("No results for “%s”. Try fewer words, the name of a field, or an error code.", d.Query)
	case 1:
		return fmt.Sprintf("1 result for “%s”.", d.Query)
	}
	return fmt.Sprintf("%d results for “%s”, best match first.", len(d.Hits), d.Query)
}

// docDepth returns the CSS class that indents an entry of the table of contents by the
// level of its heading.
func docDepth(b docs.Block) string { return fmt.Sprintf("depth-%d", b.Level) }

// docTone returns the color of a note by its first word.
func docTone(b docs.Block) components.Tone {
	switch b.Tone {
	case "tip":
		return components.ToneOK
	case "important", "warning":
		return components.ToneWait
	case "caution":
		return components.ToneBad
	}
	return components.ToneNone
}

// docMethod returns the CSS class of an HTTP method, which distinguishes reading, changing and
// deleting.
func docMethod(b docs.Block) string { return "method-" + strings.ToLower(b.Method) }

// docLanguages are the display names of languages.
var docLanguages = map[string]string{
	"python": "Python", "javascript": "JavaScript", "typescript": "TypeScript", "go": "Go", "php": "PHP", "ruby": "Ruby",
	"java": "Java", "csharp": "C#", "json": "JSON", "sh": "Shell", "http": "HTTP", "text": "Text", "toml": "TOML", "yaml": "YAML",
}

// docLanguage returns the label of a tab for the language of a code block, which is the
// word after the fence.
func docLanguage(id string) string { return cmp.Or(docLanguages[id], "Code") }

// docPanels returns a group of code samples as tabs, in the order of the page.
func docPanels(b docs.Block) []components.Panel {
	var list []components.Panel
	for _, sample := range b.Blocks {
		label := docLanguage(sample.Language)
		if sample.Language == "sh" {
			label = "cURL" // next to other languages, shell samples are cURL commands
		}
		list = append(list, components.Panel{Label: label, Content: docCode(sample)})
	}
	return list
}

// docTabsID returns an ID for a tab group, derived from its code, which is unique on a page.
func docTabsID(b docs.Block) string {
	h := fnv.New32a()
	for _, sample := range b.Blocks {
		_, _ = h.Write([]byte(sample.Code)) // never fails
	}
	return fmt.Sprintf("tabs-%08x", h.Sum32())
}

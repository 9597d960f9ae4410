// Package docs renders the documentation pages and their search. The text comes
// from package docs at the root.
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

// DocsPage is a page of the documentation, or what a search of it found.
type DocsPage struct {
	Sections []docs.Section
	Page     *docs.Page // nil for a search
	// Body is the page's content where it has been made before.
	Body          templ.Component
	Before, After *docs.Page
	Query         string
	Hits          []docs.Hit
}

// Name is that of the page; a search has none.
func (d DocsPage) Name() string {
	if d.Page == nil {
		return ""
	}
	return d.Page.Name
}

// current marks the entry of a navigation that is shown.
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

// docTone is the color of a note by the word it begins with.
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

// docMethod is the class of a method: what reads, what changes, what removes.
func docMethod(b docs.Block) string { return "method-" + strings.ToLower(b.Method) }

// docLanguages are languages as people write them.
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
			label = "cURL" // beside programs, that is what a shell is used for
		}
		list = append(list, components.Panel{Label: label, Content: docCode(sample)})
	}
	return list
}

// docTabsID tells the tabs of one page apart: no two hold the same code.
func docTabsID(b docs.Block) string {
	h := fnv.New32a()
	for _, sample := range b.Blocks {
		_, _ = h.Write([]byte(sample.Code)) // never fails
	}
	return fmt.Sprintf("tabs-%08x", h.Sum32())
}

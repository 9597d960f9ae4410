package web

import (
	"strconv"

	"sluice/flow"
	"sluice/markdown"
)

// maxCitations is how many sources an output has at most, to be recognized as citations.
const maxCitations = 1_000

// Citations returns the sources that a value lists by number, as the port citations of knowledge_search does, or nil if it is something else.
func Citations(v any) map[string]markdown.Source {
	o, _ := flow.AsObject(v)
	if o == nil || o.Len() == 0 || o.Len() > maxCitations {
		return nil
	}
	list := map[string]markdown.Source{}
	for number, v := range o.All() {
		n, err := strconv.Atoi(number)
		c, _ := flow.AsObject(v)
		if err != nil || n < 1 || strconv.Itoa(n) != number || c == nil {
			return nil
		}
		title, isText := c.Get("title").(string)
		source, hasSource := c.Get("source").(string)
		if !isText || !hasSource {
			return nil
		}
		if title == "" {
			title = source
		}
		s := markdown.Source{Title: title}
		s.Link, _ = c.Get("link").(string)
		if page, ok := flow.Float(c.Get("page")); ok && page >= 1 && page < 1e6 {
			s.Page = int(page)
		}
		list[number] = s
	}
	return list
}

// RunCitations returns the sources that the outputs of a run list, or nil. A number to which two outputs give different sources is ambiguous, so it has none.
func RunCitations(outputs *flow.Object) map[string]markdown.Source {
	if outputs == nil {
		return nil
	}
	var all map[string]markdown.Source
	ambiguous := map[string]bool{}
	for _, v := range outputs.All() {
		for number, s := range Citations(v) {
			if all == nil {
				all = map[string]markdown.Source{}
			}
			if known, ok := all[number]; ok && known != s {
				ambiguous[number] = true
			}
			all[number] = s
		}
	}
	for number := range ambiguous {
		delete(all, number)
	}
	return all
}

// Footnotes renders a text with footnotes. It returns "" without sources, and for a text that cites none or is too long.
func Footnotes(v any, sources map[string]markdown.Source) string {
	text, isText := v.(string)
	if !isText || len(sources) == 0 || len(text) > markdown.MaxText || !markdown.Cites(text) {
		return ""
	}
	return markdown.WithFootnotes(text, sources)
}

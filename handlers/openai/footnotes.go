package openai

import (
	"sluice/handlers/web"
	"sluice/markdown"
)

// annotation is a citation in OpenAI's format.
type annotation struct {
	Type string      `json:"type"` // url_citation
	URL  urlCitation `json:"url_citation"`
}

// urlCitation says which characters of the reply cite an address.
type urlCitation struct {
	Start int    `json:"start_index"`
	End   int    `json:"end_index"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// footnotes returns the list of the sources that a reply cites, which is appended to it, and an annotation for each number whose source has an address on the web.
// Both are empty if the flow outputs no citations.
func (a *answer) footnotes(text string) (list string, annotations []annotation) {
	sources := web.RunCitations(a.run.Outputs)
	if len(text) > markdown.MaxText {
		return "", nil
	}
	for _, c := range markdown.Citations(text, sources) {
		if s := sources[c.Number]; s.HasAddress() {
			annotations = append(annotations, annotation{"url_citation", urlCitation{c.Start, c.End, s.Place(), s.Link}})
		}
	}
	return markdown.SourceList(text, sources), annotations
}

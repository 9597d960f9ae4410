package components

import "strconv"

// Span is a stretch of a text, marked or not.
type Span struct {
	Text   string
	Marked bool
}

// Hit is a passage that a search found.
type Hit struct {
	Title, Headings, Part  string
	Text                   []Span
	RankWords, RankMeaning int
	Meaning                string
	Page                   int
	Path, Link             string // of the document here, and where people can read it
}

// rank shows a rank, or a dash.
func rank(n int) string {
	if n == 0 {
		return "–"
	}
	return Count(n)
}

// pageOr is the text of the link to a passage.
func pageOr(page int) string {
	if page > 0 {
		return "Page " + strconv.Itoa(page)
	}
	return "Open"
}

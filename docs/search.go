package docs

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Hit is a section that matches a search.
type Hit struct {
	Page  *Page
	Title []Mark // heading of the section; empty for the beginning of a page
	Path  string // with the anchor
	// Excerpt is the text around the first match.
	Excerpt []Mark
}

// Mark is a piece of a title or an excerpt, highlighted if it matches.
type Mark struct {
	Text  string
	Found bool
}

// place is the section under one heading.
type place struct {
	page        *Page
	title, path string
	text        string
	weights     map[string]float64 // by word
	length      float64
}

// index maps words to the places that contain them.
type index struct {
	places []*place
	words  map[string][]*place
	sorted []string // all words, to find words by prefix
}

// Weights of a word in the title of the page or of the place, relative to a
// word in the text.
const (
	weightPage  = 4
	weightTitle = 10
	weightText  = 1
)

// newIndex indexes the words of all sections. Words are also kept in sorted order, in
// which those with a common prefix are neighbors.
func newIndex(b *Book) *index {
	x := &index{words: map[string][]*place{}}
	for p := range b.Pages() {
		x.places = append(x.places, places(p)...)
	}
	for _, p := range x.places {
		for word := range p.weights {
			x.words[word] = append(x.words[word], p)
		}
	}
	for word := range x.words {
		x.sorted = append(x.sorted, word)
	}
	slices.Sort(x.sorted)
	return x
}

// places splits a page at its headings.
func places(page *Page) []*place {
	at := newPlace(page, "", page.Path())
	at.add(plain(page.Lede))
	list := []*place{at}
	for _, b := range page.Blocks {
		if b.Type == Heading {
			at = newPlace(page, b.Text(), page.Path()+"#"+b.ID)
			list = append(list, at)
			continue
		}
		at.add(blockText(b))
	}
	return list
}

// newPlace starts the index entry of a section. In the section at the beginning of a
// page, words of the page's title and name weigh more, so that the page itself is found
// before its other sections.
func newPlace(page *Page, title, path string) *place {
	p := &place{page: page, title: title, path: path, weights: map[string]float64{}}
	pageWeight := float64(weightPage)
	if title == "" {
		pageWeight = weightTitle
	}
	p.weigh(page.Title, pageWeight)
	p.weigh(page.Name, pageWeight)
	p.weigh(title, weightTitle)
	return p
}

// add indexes a text of the section and appends it to the text that excerpts are cut
// from. White space is collapsed.
func (p *place) add(text string) {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return
	}
	p.weigh(text, weightText)
	p.text = strings.TrimSpace(p.text + " " + text)
}

// weigh counts the words of a text. An identifier such as run_failed is one
// word, and its parts are words too.
func (p *place) weigh(text string, weight float64) {
	for _, w := range wordsOf(text) {
		p.length++
		p.weights[w] += weight
		if parts := strings.Split(w, "_"); len(parts) > 1 {
			for _, part := range parts {
				p.weights[part] += weight / 4
			}
		}
	}
}

// blockText returns all text of a block, including nested blocks, list items and table
// cells, for the index.
func blockText(b Block) string {
	parts := []string{plain(b.Spans), b.Code, b.Alt}
	for _, sub := range b.Blocks {
		parts = append(parts, blockText(sub))
	}
	for _, item := range b.Items {
		for _, sub := range item {
			parts = append(parts, blockText(sub))
		}
	}
	for _, row := range append([][]Cell{b.Head}, b.Rows...) {
		for _, cell := range row {
			parts = append(parts, plain(cell))
		}
	}
	return strings.Join(parts, " ")
}

// wordsOf splits a text into lowercase words. The underscore is part of a word, so that
// identifiers such as key_missing are found as a whole.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// longestQuery is the maximum number of words in a query.
const longestQuery = 8

// Find returns at most n places that contain all words of a query, best match
// first. A word of the query may be a prefix.
func (b *Book) Find(query string, limit int) []Hit {
	words := wordsOf(query)
	if len(words) == 0 {
		return nil
	}
	words = words[:min(len(words), longestQuery)]
	var scores map[*place]float64
	for _, w := range words {
		scores = intersect(scores, b.index.scoreMeaning(w))
	}
	best := make([]*place, 0, len(scores))
	for p := range scores {
		best = append(best, p)
	}
	slices.SortFunc(best, func(a, b *place) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a.path, b.path))
	})
	var hits []Hit
	for _, p := range best[:min(len(best), limit)] {
		hits = append(hits, Hit{Page: p.page, Title: mark(p.title, strings.ToLower(p.title), words), Path: p.path, Excerpt: excerpt(p.text, words)})
	}
	return hits
}

// intersect keeps the places that contain the earlier words and this one.
func intersect(earlier, now map[*place]float64) map[*place]float64 {
	if earlier == nil {
		return now
	}
	kept := map[*place]float64{}
	for p, score := range now {
		if before, ok := earlier[p]; ok {
			kept[p] = before + score
		}
	}
	return kept
}

// score rates each place for a word. Words that only start with it count half,
// and frequent words count little (inverse document frequency).
func (x *index) score(word string) map[*place]float64 {
	scores := map[*place]float64{}
	from, _ := slices.BinarySearch(x.sorted, word)
	for _, full := range x.sorted[from:] {
		if !strings.HasPrefix(full, word) {
			break
		}
		found := x.words[full]
		rare := math.Log(1 + float64(len(x.places))/float64(len(found)))
		if full != word {
			rare /= 2
		}
		for _, p := range found {
			weight := p.weights[full]
			scores[p] = max(scores[p], rare*weight/(weight+1.5+p.length/100)*(1+weight/20))
		}
	}
	return scores
}

package docs

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
)

// Hit is a place in the book that a search found.
type Hit struct {
	Page  *Page
	Title []Mark // of the place within the page; none is its beginning
	Path  string // with the anchor
	// Excerpt is the text around the first word that was found.
	Excerpt []Mark
}

// Mark is a piece of a title or an excerpt.
type Mark struct {
	Text  string
	Found bool
}

// place is the text under one heading.
type place struct {
	page        *Page
	title, path string
	text        string
	weights     map[string]float64 // of its words
	length      float64
}

// index knows in which places a word stands.
type index struct {
	places []*place
	words  map[string][]*place
	sorted []string // all words, for those that are typed to a part
}

// How much more a word says of a place when it stands in the page's title or
// the place's own, rather than in the text.
const (
	weightPage  = 4
	weightTitle = 10
	weightText  = 1
)

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

// places cuts a page at its headings.
func places(page *Page) []*place {
	at := newPlace(page, "", page.Path())
	at.add(plain(page.Lede))
	list := []*place{at}
	for _, b := range page.Blocks {
		if b.Kind == Heading {
			at = newPlace(page, b.Text(), page.Path()+"#"+b.ID)
			list = append(list, at)
			continue
		}
		at.add(blockText(b))
	}
	return list
}

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

func (p *place) add(text string) {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return
	}
	p.weigh(text, weightText)
	p.text = strings.TrimSpace(p.text + " " + text)
}

// weigh counts the words of a text. A name such as run_failed is one word, and
// its parts are words too.
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

func blockText(b Block) string {
	parts := []string{plain(b.Spans), b.Code}
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

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// longestQuery bounds the words that are looked for.
const longestQuery = 8

// Find gives the places that have all words of a query, the best first. Words
// may be typed to a part.
func (b *Book) Find(query string, limit int) []Hit {
	words := wordsOf(query)
	if len(words) == 0 {
		return nil
	}
	words = words[:min(len(words), longestQuery)]
	var scores map[*place]float64
	for _, w := range words {
		scores = both(scores, b.index.score(w))
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

// both keeps the places that have the earlier words and this one.
func both(earlier, now map[*place]float64) map[*place]float64 {
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

// score says how much a word has to do with each place. What begins with the
// word counts half, and a word that is everywhere counts little.
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

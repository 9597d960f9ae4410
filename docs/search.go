package docs

import (
	"cmp"
	"maps"
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
	name        string // another name that finds it first: the kind of a part
	text        string
	words       map[string]*uses
	length      float64 // words of the text
	prior       float64 // factor; below 1 for reference pages, which have a section for everything
}

// uses is where a place has a word: how often in its text, and whether in its heading or in the title of its page.
type uses struct {
	text            float64
	heading, inPage bool
}

// index maps words to the places that contain them.
type index struct {
	places  []*place
	words   map[string][]*place
	sorted  []string // all words, to find words by prefix
	average float64  // words of a place
}

// Parameters of the ranking. Texts are rated by Okapi BM25, to which words in titles add.
const (
	saturation   = 1.2 // k1 of BM25: how soon more uses of a word add nothing
	lengthEffect = 0.6 // b of BM25: how much a long text counts less
	headingBonus = 2.5
	pageBonus    = 1.0
	partWeight   = 0.25 // a part of an identifier, such as "key" of key_missing
	prefixWeight = 0.5  // a word that begins with the word of the query
	coverage     = 1.5  // exponent of the share of the query that a place has
	leastRarity  = 0.2  // of a word that nearly every place has
	exactTitle   = 3    // factor for a heading that is the query
	titleFactor  = 2    // how much a heading counts whose words are all in the query
)

// priors are the factors of pages that list everything; guides answer most questions better. An exact name still finds them.
var priors = map[string]float64{"api": 0.6, "cli": 0.6, "nodes": 0.7, "errors": 0.8, "design": 0.4, "upgrading": 0.8, "benchmarks": 0.7, "configuration": 0.9}

// newIndex indexes the words of all sections. Words are also kept in sorted order, in
// which those with a common prefix are neighbors.
func newIndex(b *Book) *index {
	x := &index{words: map[string][]*place{}}
	for p := range b.Pages() {
		x.places = append(x.places, places(p)...)
	}
	for _, p := range x.places {
		x.average += p.length / float64(len(x.places))
		for word := range p.words {
			x.words[word] = append(x.words[word], p)
		}
	}
	x.sorted = slices.Collect(maps.Keys(x.words))
	slices.Sort(x.sorted)
	return x
}

// places splits a page at its headings.
func places(page *Page) []*place {
	at := newPlace(page, "", page.Path())
	if page.Parent != nil { // found as a section of its page
		at = newPlace(page.Parent, page.Title, page.Path())
		at.name = page.Kind()
		at.count(at.name, func(u *uses, _ float64) { u.heading = true })
	}
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

// newPlace starts the index entry of a section. The section at the beginning of a page has the page's title and name as its heading, so
// that the page itself is found before its other sections.
func newPlace(page *Page, title, path string) *place {
	p := &place{page: page, title: title, path: path, words: map[string]*uses{}, prior: cmp.Or(priors[page.Name], 1)}
	for _, text := range []string{page.Title, page.Name} {
		p.count(text, func(u *uses, _ float64) { u.inPage, u.heading = true, u.heading || title == "" })
	}
	p.count(title, func(u *uses, _ float64) { u.heading = true })
	return p
}

// add indexes a text of the section and appends it to the text that excerpts are cut
// from. White space is collapsed.
func (p *place) add(text string) {
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return
	}
	p.count(text, func(u *uses, n float64) { u.text += n; p.length += n })
	p.text = strings.TrimSpace(p.text + " " + text)
}

// count calls use for each word of a text. An identifier such as run_failed is one word, and its parts are words too, which count less.
func (p *place) count(text string, use func(u *uses, n float64)) {
	of := func(word string) *uses {
		if p.words[word] == nil {
			p.words[word] = &uses{}
		}
		return p.words[word]
	}
	for _, w := range wordsOf(text) {
		use(of(w), 1)
		if parts := strings.Split(w, "_"); len(parts) > 1 {
			for _, part := range parts {
				use(of(part), partWeight)
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
const longestQuery = 12

// stopWords are in most questions and say nothing about their subject. A query of nothing else keeps them.
var stopWords = func() map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq("a about after again all also always am an and any anything are as at be been before being but by can cannot could did do does doing " +
		"don each ever every for from get gets got had happen happens has have having here how i in into is isn it its just let like made make makes many may me mean means might more most " +
		"much must my need never now of off on one only or other our out over own please put s same should so some something such t than that the their them then there these " +
		"they thing this those to too under up use used using very want was way we were what when where which while who whose why will with without won work works would you your") {
		set[w] = true
	}
	return set
}()

// subjects returns the words of a query without stop words.
func subjects(query string) []string {
	all := wordsOf(query)
	if words := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return stopWords[w] }); len(words) > 0 {
		all = words
	}
	return all[:min(len(all), longestQuery)]
}

// Find returns at most limit places for a query, which may be a question, best match first. Places rank higher the more words of the
// query they contain, weighed by how rare the words are, so those with all words come first. Headings and titles count more than texts, and
// a heading whose words are all in the query most. A word of the query may be a prefix.
func (b *Book) Find(query string, limit int) []Hit {
	words := subjects(query)
	if len(words) == 0 {
		return nil
	}
	scores, found := map[*place]float64{}, map[*place]float64{} // found sums the rarity of the words that a place has
	total := 0.0
	for _, w := range words {
		places := b.index.scoreMeaning(w)
		rare := b.index.rarity(len(places))
		total += rare
		for p, score := range places {
			scores[p] += score
			found[p] += rare
		}
	}
	best, whole := make([]*place, 0, len(scores)), wordsOf(query)
	for p := range scores {
		scores[p] *= p.prior * math.Pow(found[p]/total, coverage) * (1 + titleFactor*b.index.share(p.title, words))
		if best = append(best, p); slices.Equal(wordsOf(p.title), whole) || p.name != "" && slices.Equal(whole, []string{p.name}) {
			scores[p] *= exactTitle
		}
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

// score rates each place for a word. Words that only start with it count half,
// and frequent words count little (inverse document frequency).
func (x *index) score(word string) map[*place]float64 {
	scores := map[*place]float64{}
	from, _ := slices.BinarySearch(x.sorted, word)
	for _, full := range x.sorted[from:] {
		if !strings.HasPrefix(full, word) {
			break
		}
		weight := x.rarity(len(x.words[full]))
		if full != word {
			weight *= prefixWeight
		}
		for _, p := range x.words[full] {
			scores[p] = max(scores[p], weight*p.rate(full, x.average))
		}
	}
	return scores
}

// rate is the part of a place's score for a word that does not depend on how rare the word is.
func (p *place) rate(word string, average float64) float64 {
	u := p.words[word]
	score := u.text * (saturation + 1) / (u.text + saturation*(1-lengthEffect+lengthEffect*p.length/average))
	if u.heading {
		score += headingBonus
	}
	if u.inPage {
		score += pageBonus
	}
	return score
}

// rarity weighs a word that n places have: the fewer, the more it says (inverse document frequency).
func (x *index) rarity(n int) float64 {
	return max(leastRarity, math.Log(float64(len(x.places))/float64(max(n, 1))))
}

// share is the share of a heading's subjects that are in a query, from 0 to 1.
func (x *index) share(heading string, query []string) float64 {
	all := subjects(strings.ReplaceAll(heading, "_", " "))
	if len(all) == 0 {
		return 0
	}
	n := 0
	for _, w := range all {
		if slices.ContainsFunc(query, func(q string) bool {
			return stem(q) == stem(w) || slices.ContainsFunc(synonyms[q], func(other string) bool { return stem(other) == stem(w) })
		}) {
			n++
		}
	}
	return float64(n) / float64(len(all))
}

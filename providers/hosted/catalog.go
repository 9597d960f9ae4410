package hosted

import (
	"bytes"
	"cmp"
	_ "embed" // for catalog.json
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"sluice/flow/sorting"
)

// catalogFile holds facts of models (identifiers, versions, schemas without prose; a
// snapshot of January 2025) with Sluice's own descriptions. Newer models have only an
// identifier; their schema is read from the platform.
//
//go:embed catalog.json
var catalogFile []byte

// Featured is the list of featured models that Sluice ships. It never changes
// while the program runs.
type Featured struct {
	categories []Collection
	models     []*entry // in the order of the file: the best of a category first
}

// entry is a model in the format of the file.
type entry struct {
	ID, Title, Description string
	Category               string
	Tasks                  []string
	Output                 string
	Official               bool
	Version                string
	Runs                   int64
	Schemas                map[string]any

	ref   Ref
	words [5]string // to search in, small letters, the most telling first
}

// Catalog returns the shipped catalog.
var Catalog = sync.OnceValue(func() *Featured {
	var file struct {
		Categories []Collection
		Models     []*entry
	}
	d := json.NewDecoder(bytes.NewReader(catalogFile))
	d.UseNumber()
	if err := d.Decode(&file); err != nil {
		panic("the shipped catalog of models cannot be read: " + err.Error())
	}
	c := &Featured{categories: file.Categories, models: file.Models}
	for _, m := range c.models {
		c.prepare(m)
	}
	return c
})

// prepare parses the reference of an entry and lowercases the texts that Search
// compares, once when the catalog is loaded. It panics on an invalid reference: the
// catalog is part of the program, and a test loads it.
func (c *Featured) prepare(m *entry) {
	ref, err := ParseRef(m.ID)
	if err != nil {
		panic("the shipped catalog names no model with " + m.ID)
	}
	ref.Version = m.Version
	m.ref = ref
	category := strings.ReplaceAll(m.Category, "-", " ")
	for _, k := range c.categories {
		if k.Slug == m.Category {
			category += " " + k.Title
		}
	}
	m.words = [5]string{m.ID, m.Title, strings.Join(m.Tasks, ", "), category + " " + m.Output, m.Description}
	for i, text := range m.words {
		m.words[i] = strings.ToLower(text)
	}
}

// Categories returns the shipped categories in order, without their models.
func (c *Featured) Categories() []Collection { return slices.Clone(c.categories) }

// Models returns the shipped models of a category, or none for an unknown category.
func (c *Featured) Models(category string) []Listing {
	var out []Listing
	for _, m := range c.models {
		if m.Category == category {
			out = append(out, m.listing())
		}
	}
	return out
}

// Find returns a shipped model, and false for a version other than the shipped one. Input
// is nil if Sluice ships no schema. Callers must not change the maps.
func (c *Featured) Find(ref Ref) (*Model, bool) {
	for _, m := range c.models {
		if !strings.EqualFold(m.ref.Path(), ref.Path()) {
			continue
		}
		if ref.Version != "" && ref.Version != m.ref.Version {
			return nil, false
		}
		return m.model(), true
	}
	return nil, false
}

// Search returns shipped models that contain all words of the query, best match first. A
// word in the name counts most, then in the title, tasks, category and output, and least in
// the description.
func (c *Featured) Search(query string) []Listing {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	type hit struct {
		*entry
		score int
	}
	var hits []hit
	for _, m := range c.models {
		if score := m.score(words); score > 0 {
			hits = append(hits, hit{m, score})
		}
	}
	sorting.By(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	out := make([]Listing, 0, len(hits))
	for _, h := range hits {
		out = append(out, h.listing())
	}
	return out
}

// score rates a match; 0 if a word is missing. A phrase that occurs as typed, such as
// "speech to text", counts twice.
func (m *entry) score(words []string) int {
	words = words[:min(len(words), 12)]
	sum := 0
	for _, word := range words {
		weight := m.weight(word)
		if weight == 0 {
			return 0
		}
		sum += weight
	}
	if len(words) > 1 {
		sum += len(words) * m.weight(strings.Join(words, " "))
	}
	return sum
}

// weight returns the weight of the most important text that contains a word.
func (m *entry) weight(word string) int {
	i := slices.IndexFunc(m.words[:], func(text string) bool { return mentions(text, word) })
	if i < 0 {
		return 0
	}
	return len(m.words) - i
}

// mentions reports whether a word, or its singular, occurs at the beginning of a word: "art"
// is not found in "start".
func mentions(text, word string) bool {
	if beginsAWord(text, word) {
		return true
	}
	one, plural := strings.CutSuffix(word, "s")
	return plural && len(one) >= 4 && beginsAWord(text, one)
}

// beginsAWord reports whether the searched text occurs at the beginning of a word, so
// that "art" is found in "art style" and not in "smart".
func beginsAWord(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if i == 0 || !isWordByte(text[i-1]) || !isWordByte(word[0]) {
			return true
		}
		from = i + 1
	}
}

// isWordByte reports whether a byte of a lowercase text belongs to a word. All bytes of
// non-ASCII characters do.
func isWordByte(b byte) bool { return b >= 'a' && b <= 'z' || b >= '0' && b <= '9' || b >= 0x80 }

// listing returns the entry for lists, without schemas, which only forms need.
func (m *entry) listing() Listing {
	return Listing{
		Owner: m.ref.Owner, Name: m.ref.Name, Title: m.Title, Description: m.Description,
		Category: m.Category, Tasks: m.Tasks, Output: m.Output, Official: m.Official, Runs: m.Runs,
	}
}

// model returns the entry in the form that the platform's API would give. If it ships
// with schemas, its form needs no request and no credential.
func (m *entry) model() *Model {
	out := &Model{Ref: m.ref, Title: m.Title, Description: m.Description, Official: m.Official, Runs: m.Runs}
	if m.Schemas != nil {
		out.setSchemas(m.Schemas)
	}
	return out
}

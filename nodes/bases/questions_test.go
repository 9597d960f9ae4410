package bases_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode"

	"sluice/e2e/need"
	"sluice/flow/knowledge"
	"sluice/nodes/passages"
	"sluice/providers/builtin"
)

// question is asked about the docs. Want has the pages that answer it, with spaces between them; one with an anchor wants that section.
type question struct{ Ask, Want string }

// quality says how often a search has the right section first and among the first five, and the mean of 1/rank.
type quality struct {
	first, five int
	mrr         float64
}

// TestSearch_by_words_answers_questions asks 60 questions about the docs.
func TestSearch_by_words_answers_questions(t *testing.T) {
	t.Parallel()
	words, _ := ask(t, false)
	if words.first < leastFirst || words.five < leastFive {
		t.Errorf("words find less than before: want %d first and %d among five", leastFirst, leastFive)
	}
}

// TestSearch_by_words_and_meaning_is_not_worse_than_by_words is the long form: together with the built-in model, no measure is worse by more than two of the
// questions than that of words alone.
func TestSearch_by_words_and_meaning_is_not_worse_than_by_words(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	if words, both := ask(t, true); both.first < words.first-2 || both.five < words.five-2 || both.mrr < words.mrr-2 {
		t.Error("words and meaning are worse than words alone")
	}
}

// ask asks the questions, by words and, with meaning, by both.
func ask(t *testing.T, meaning bool) (words, both quality) {
	t.Helper()
	sections, blocks := indexDocs(t, meaning)
	var list []question
	data, err := os.ReadFile("testdata/questions-docs.json")
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil || len(list) != 60 {
		t.Fatalf("%d questions: %v", len(list), err)
	}
	for _, q := range list {
		r := knowledge.Request{Words: knowledge.QueryWords(q.Ask), Limit: 256}
		words.add(rankOf(t, blocks, r, sections, q.Want))
		if meaning {
			r.Vector = embed(t, []string{q.Ask})[0]
			both.add(rankOf(t, blocks, r, sections, q.Want))
		}
	}
	n := float64(len(list))
	t.Logf("%d passages; words: %d first, %d among five, MRR %.2f; both: %d, %d, %.2f", len(sections), words.first, words.five, words.mrr/n, both.first, both.five, both.mrr/n)
	return words, both
}

// embed embeds texts with the built-in model.
func embed(t *testing.T, texts []string) [][]float32 {
	t.Helper()
	vectors, err := model().Embed(t.Context(), "", texts)
	if err != nil {
		t.Fatal(err)
	}
	return vectors
}

// What words alone find at least; the docs change, so it is a little less than measured.
const leastFirst, leastFive = 27, 43

func (q *quality) add(rank int) {
	if rank == 0 {
		return
	}
	q.mrr += 1 / float64(rank)
	if rank == 1 {
		q.first++
	}
	if rank <= 5 {
		q.five++
	}
}

// model is the built-in one.
var model = sync.OnceValue(builtin.New)

// indexDocs cuts all pages of the docs, with meaning embeds the passages, and returns the section of each, by number from 1, such as runs#cancel.
func indexDocs(t *testing.T, meaning bool) (sections []string, blocks []knowledge.Block) {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	var entries []knowledge.Entry
	flush := func() {
		head, shards := knowledge.BuildBlock(entries)
		decoded, err := knowledge.DecodeHead(head)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []byte
		for i := 0; meaning && i < len(entries); i++ {
			scale, numbers := knowledge.Quantize(entries[i].Vector)
			vectors = knowledge.AppendVector(vectors, i, scale, numbers)
		}
		blocks = append(blocks, knowledge.Block{Head: decoded, Dimensions: len(entries[0].Vector), Shard: func(n int) ([]byte, error) { return shards[n], nil }, Vectors: func() ([]byte, error) { return vectors, nil }})
		entries = nil
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page := strings.TrimSuffix(filepath.Base(file), ".md")
		title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		list := passages.Cut(string(text), nil, passages.Rules{Size: passages.DefaultSize, Overlap: passages.DefaultOverlap})
		texts := make([]string, len(list))
		for i := range list {
			texts[i] = strings.Join(append(append([]string{title}, list[i].Headings...), list[i].Text), "\n")
		}
		vectors := make([][]float32, len(list))
		if meaning {
			vectors = embed(t, texts)
		}
		for i := range list {
			section := page
			if n := len(list[i].Headings); n > 0 {
				section += "#" + anchor(list[i].Headings[n-1])
			}
			sections = append(sections, section)
			e := knowledge.NewEntry(int64(len(sections)), strings.Join(append([]string{title}, list[i].Headings...), "\n"), list[i].Text)
			e.Vector = vectors[i]
			if entries = append(entries, e); len(entries) == knowledge.BlockPassages {
				flush()
			}
		}
	}
	flush()
	return sections, blocks
}

// anchor returns the anchor of a heading.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// rankOf returns the rank of the first passage that answers, or 0.
func rankOf(t *testing.T, blocks []knowledge.Block, r knowledge.Request, sections []string, want string) int {
	t.Helper()
	ranking, err := knowledge.Rank(blocks, r)
	if err != nil {
		t.Fatal(err)
	}
	for i, found := range ranking.Fuse(knowledge.WeightsOf("")) {
		section := sections[found.Number-1]
		page, _, _ := strings.Cut(section, "#")
		for _, w := range strings.Fields(want) {
			if section == w || page == w {
				return i + 1
			}
		}
	}
	return 0
}

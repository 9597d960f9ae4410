package knowledge

import (
	"cmp"
	"container/heap"
	"math"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"sluice/flow/sorting"
)

// Block gives access to a block of an index. The functions may read a database, and are called concurrently.
type Block struct {
	Head       *Head
	Dimensions int // of its vectors; 0 without any
	Shard      func(n int) ([]byte, error)
	Vectors    func() ([]byte, error)
}

// Request asks for the best passages of blocks.
type Request struct {
	Words  []string // of the query, as Words returns them
	Vector []float32
	// Allows reports whether a passage takes part. Nil means that all do. It is called concurrently.
	Allows func(number int64) bool
	Limit  int // how many passages of each list are wanted
}

// Scored is a passage with its score.
type Scored struct {
	Number int64
	Score  float64
}

// Ranking has the best passages by words and by meaning, the best first.
type Ranking struct {
	Words, Meaning []Scored
	// Complete reports that neither list was cut.
	Complete bool
}

// Parameters of BM25.
const (
	saturation = 1.2
	lengthNorm = 0.75
)

// Rank scores the passages of blocks: by BM25 over words, and by exact inner products over vectors.
func Rank(blocks []Block, r Request) (*Ranking, error) {
	words, err := rankWords(blocks, &r)
	if err != nil {
		return nil, err
	}
	meaning, err := rankMeaning(blocks, &r)
	if err != nil {
		return nil, err
	}
	return &Ranking{Words: words.list(), Meaning: meaning.list(), Complete: !words.cut && !meaning.cut}, nil
}

// term is a word of the query, or the words that replace it, with its postings by block.
type term struct {
	passages int
	weight   float64
	postings [][]Postings
}

// rankWords scores passages by the words of the query.
func rankWords(blocks []Block, r *Request) (*best, error) {
	passages, length := 0, 0
	for i := range blocks {
		passages += len(blocks[i].Head.Numbers)
		length += blocks[i].Head.Total
	}
	if passages == 0 {
		return &best{limit: r.Limit}, nil
	}
	average := float64(length) / float64(passages)
	var terms []term
	seen := map[string]bool{}
	for _, w := range r.Words {
		if seen[w] {
			continue
		}
		seen[w] = true
		t, err := findTerm(blocks, w)
		if err != nil {
			return nil, err
		}
		if t.passages > 0 {
			t.weight = max(1e-6, math.Log(1+(float64(passages)-float64(t.passages)+0.5)/(float64(t.passages)+0.5)))
			terms = append(terms, t)
		}
	}
	return bestOf(blocks, r, func(top *best, blocks []Block, first int) error {
		var scores, norms []float64
		for b := range blocks {
			head := blocks[b].Head
			scores, norms = slices.Grow(scores[:0], len(head.Numbers))[:len(head.Numbers)], norms[:0]
			clear(scores)
			for _, n := range head.Lengths {
				norms = append(norms, saturation*(1-lengthNorm+lengthNorm*float64(n)/average))
			}
			for i := range terms {
				for _, p := range terms[i].postings[first+b] {
					if err := p.score(scores, norms, terms[i].weight); err != nil {
						return err
					}
				}
			}
			for at, score := range scores {
				if score > 0 && top.wants(score) && (r.Allows == nil || r.Allows(head.Numbers[at])) {
					top.add(Scored{head.Numbers[at], score})
				}
			}
		}
		return nil
	})
}

// score adds what a word contributes to the scores of the passages of its block: by BM25, with its weight and the norms of their lengths.
func (p Postings) score(scores, norms []float64, weight float64) error {
	r, at := reader{data: p.data}, -1
	for range p.Passages {
		at += r.number() + 1
		n := float64(r.number())
		if r.err != nil {
			return r.err
		}
		if at < len(scores) {
			scores[at] += weight * n * (saturation + 1) / (n + norms[at])
		}
	}
	return nil
}

// workerBlocks is how many blocks are worth another goroutine.
const workerBlocks = 8

// divide calls f for consecutive parts of n blocks, in parallel on the processors of the machine. It returns the first error.
func divide(n int, f func(worker, from, to int) error) error {
	workers := max(1, min(runtime.GOMAXPROCS(0), n/workerBlocks))
	var group errgroup.Group
	for w := 1; w < workers; w++ {
		group.Go(func() error { return f(w, n*w/workers, n*(w+1)/workers) })
	}
	err := f(0, 0, n/workers)
	return cmp.Or(err, group.Wait())
}

// bestOf ranks parts of the blocks in parallel, and returns the best passages of all. first is the index of the first block of a part.
func bestOf(blocks []Block, r *Request, rank func(top *best, part []Block, first int) error) (*best, error) {
	parts := make([]best, runtime.GOMAXPROCS(0))
	err := divide(len(blocks), func(worker, from, to int) error {
		parts[worker].limit = r.Limit
		return rank(&parts[worker], blocks[from:to], from)
	})
	top := &parts[0]
	for i := range parts[1:] {
		part := &parts[i+1]
		top.cut = top.cut || part.cut
		for _, s := range part.heap {
			if top.wants(s.Score) {
				top.add(s)
			}
		}
	}
	return top, err
}

// maxVariants is how many words replace one of the query that does not occur.
const maxVariants = 30

// findTerm finds a word in all blocks. A word that does not occur is replaced by those with its longest known beginning, unless it
// has digits: a number that is almost the same is another. A single character of a language that is cut into pairs stands for all
// that begin with it.
func findTerm(blocks []Block, word string) (t term, err error) {
	if isSingle(word) {
		return findPostings(blocks, func(b *Block) ([]Postings, error) {
			shard, err := shardOf(b, word)
			if err != nil {
				return nil, err
			}
			return FindBeginning(shard, word)
		})
	}
	words := []string{word}
	if t, err = findWords(blocks, words); err != nil || t.passages > 0 || len(word) < shardBytes+2 || strings.ContainsAny(word, "0123456789") {
		return t, err
	}
	if r, _ := utf8.DecodeRuneInString(word); isDense(r) {
		return t, nil
	}
	longest := 0
	for i := range blocks {
		shard, err := shardOf(&blocks[i], word)
		if err != nil {
			return t, err
		}
		n, err := LongestPrefix(shard, word)
		if err != nil {
			return t, err
		}
		longest = max(longest, n)
	}
	for longest > 0 && longest < len(word) && !utf8.RuneStart(word[longest]) {
		longest--
	}
	if longest <= shardBytes || 2*longest < len(word) {
		return t, nil
	}
	known := map[string]bool{}
	for i := range blocks {
		shard, err := shardOf(&blocks[i], word)
		if err != nil {
			return t, err
		}
		list, err := WithPrefix(shard, word[:longest])
		if err != nil {
			return t, err
		}
		for _, w := range list {
			known[w] = true
		}
	}
	if words = sorting.Keys(known); len(words) > maxVariants {
		words = words[:maxVariants]
	}
	return findWords(blocks, words)
}

// shardOf returns the shard of a block that has a word.
func shardOf(b *Block, word string) ([]byte, error) {
	return b.Shard(ShardOf(word, Shards(len(b.Head.Numbers))))
}

// findWords finds words that count as one.
func findWords(blocks []Block, words []string) (t term, err error) {
	return findPostings(blocks, func(b *Block) (list []Postings, err error) {
		for _, w := range words {
			shard, err := shardOf(b, w)
			if err != nil {
				return nil, err
			}
			p, err := FindWord(shard, w)
			if err != nil {
				return nil, err
			}
			if p.Passages > 0 {
				list = append(list, p)
			}
		}
		return list, nil
	})
}

// findPostings collects postings that count as those of one word from all blocks.
func findPostings(blocks []Block, find func(*Block) ([]Postings, error)) (t term, err error) {
	t.postings = make([][]Postings, len(blocks))
	err = divide(len(blocks), func(_, from, to int) error {
		for i := from; i < to; i++ {
			list, err := find(&blocks[i])
			if err != nil {
				return err
			}
			t.postings[i] = list
		}
		return nil
	})
	for _, list := range t.postings {
		for _, p := range list {
			t.passages += p.Passages
		}
	}
	return t, err
}

// rankMeaning scores passages by the inner product of their vectors with that of the query.
func rankMeaning(blocks []Block, r *Request) (*best, error) {
	if len(r.Vector) == 0 {
		return &best{limit: r.Limit}, nil
	}
	scale, query := Quantize(r.Vector)
	return bestOf(blocks, r, func(top *best, blocks []Block, _ int) error {
		for i := range blocks {
			if blocks[i].Dimensions != len(r.Vector) {
				continue
			}
			data, err := blocks[i].Vectors()
			if err != nil {
				return err
			}
			head := blocks[i].Head
			err = EachVector(data, len(r.Vector), func(at int, s float32, numbers []byte) {
				score := float64(scale) * float64(s) * float64(Dot(query, numbers))
				if at < len(head.Numbers) && top.wants(score) && (r.Allows == nil || r.Allows(head.Numbers[at])) {
					top.add(Scored{head.Numbers[at], score})
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// best keeps the passages with the highest scores. Of equal ones, that with the lower number comes first.
type best struct {
	limit int
	cut   bool // one was left out
	heap  scoredHeap
}

// scoredHeap has the worst passage on top.
type scoredHeap []Scored

func (h scoredHeap) Len() int           { return len(h) }
func (h scoredHeap) Less(i, j int) bool { return worse(h[i], h[j]) }
func (h scoredHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *scoredHeap) Push(x any)        { *h = append(*h, x.(Scored)) }
func (h *scoredHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func worse(a, b Scored) bool { return a.Score < b.Score || a.Score == b.Score && a.Number > b.Number }

// wants reports whether a passage with a score may be among the best.
func (b *best) wants(score float64) bool {
	if len(b.heap) < b.limit || b.limit > 0 && score >= b.heap[0].Score {
		return true
	}
	b.cut = true
	return false
}

func (b *best) add(s Scored) {
	if len(b.heap) < b.limit {
		heap.Push(&b.heap, s)
		return
	}
	b.cut = true
	if worse(b.heap[0], s) {
		b.heap[0] = s
		heap.Fix(&b.heap, 0)
	}
}

// list returns the passages, the best first.
func (b *best) list() []Scored {
	list := []Scored(b.heap)
	sorting.By(list, func(x, y Scored) int {
		if worse(y, x) {
			return -1
		}
		return 1
	})
	return list
}

// Modes of a search.
const (
	ModeBoth    = "both"
	ModeWords   = "words"
	ModeMeaning = "meaning"
)

// Weights say how the ranks by words and by meaning are combined.
type Weights struct {
	Meaning   float64 // against 1 for words
	WordFirst bool    // the best passage by words stays first
	Minimum   float64 // a passage without a word in common is left out below this similarity
}

// WeightsOf returns the weights for a model. Those of the built-in one, whose name is empty, are lower: it finds less than words do.
func WeightsOf(model string) Weights {
	if model == "" {
		return Weights{Meaning: 0.5, WordFirst: true, Minimum: 0.35}
	}
	return Weights{Meaning: 1, Minimum: 0.2}
}

// Ranked is a passage with its ranks, counted from 1; 0 if it is not in that list.
type Ranked struct {
	Number      int64
	RankWords   int
	RankMeaning int
	Meaning     float64 // similarity, if RankMeaning is not 0
	Score       float64
}

// rankConstant is k of reciprocal ranks.
const rankConstant = 60

// Fuse combines both lists by weighted reciprocal ranks.
func (r *Ranking) Fuse(w Weights) []Ranked {
	at := map[int64]int{}
	var list []Ranked
	place := func(number int64) *Ranked {
		i, known := at[number]
		if !known {
			i = len(list)
			at[number] = i
			list = append(list, Ranked{Number: number})
		}
		return &list[i]
	}
	for i, s := range r.Words {
		p := place(s.Number)
		p.RankWords = i + 1
		p.Score += 1 / float64(rankConstant+i+1)
	}
	for i, s := range r.Meaning {
		if _, common := at[s.Number]; !common && s.Score < w.Minimum {
			continue
		}
		p := place(s.Number)
		p.RankMeaning, p.Meaning = i+1, s.Score
		p.Score += w.Meaning / float64(rankConstant+i+1)
	}
	sorting.By(list, func(a, b Ranked) int {
		switch {
		case w.WordFirst && a.RankWords == 1:
			return -1
		case w.WordFirst && b.RankWords == 1, a.Score < b.Score:
			return 1
		case a.Score > b.Score:
			return -1
		case a.Number < b.Number:
			return -1
		}
		return 1
	})
	return list
}

// Phrases returns the quoted parts of a query.
func Phrases(query string) (list []string) {
	for _, quotes := range []string{`""`, "“”", "„“", "«»", "「」"} {
		open, closing := []rune(quotes)[0], []rune(quotes)[1]
		rest := query
		for {
			_, after, found := strings.Cut(rest, string(open))
			phrase, tail, closed := strings.Cut(after, string(closing))
			if !found || !closed {
				break
			}
			if strings.TrimSpace(phrase) != "" {
				list = append(list, strings.TrimSpace(phrase))
			}
			rest = tail
		}
	}
	return list
}

// HasPhrase reports whether the words of a phrase follow each other in a text. In languages whose words are cut into pairs, the text
// may have it anywhere.
func HasPhrase(text, phrase string) bool {
	if strings.ContainsFunc(phrase, func(r rune) bool { return isDense(r) || isHangul(r) }) && strings.Contains(fold(text), fold(phrase)) {
		return true
	}
	words, wanted := WordList(text), WordList(phrase)
	for i := 0; i+len(wanted) <= len(words); i++ {
		equal := true
		for j := range wanted {
			equal = equal && words[i+j] == wanted[j]
		}
		if equal {
			return true
		}
	}
	return len(wanted) == 0
}

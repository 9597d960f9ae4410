package knowledge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"sluice/flow/knowledge"
)

func TestFindWord_finds_each_word_and_no_other(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	word := func() string { // few letters, so that most words share their beginnings, or are the beginning of another
		w := make([]byte, 1+rng.IntN(6))
		for i := range w {
			w[i] = byte('a' + rng.IntN(3))
		}
		return string(w)
	}
	var entries []knowledge.Entry
	passages := map[string]int{}
	for n := range 200 {
		e := knowledge.Entry{Number: int64(n), Counts: map[string]int{}}
		for range 1 + rng.IntN(5) {
			w := word()
			if e.Counts[w]++; e.Counts[w] == 1 {
				passages[w]++
			}
		}
		entries = append(entries, e)
	}
	_, shards := knowledge.BuildBlock(entries)
	absent := 0
	for range 20_000 {
		w := word()
		found, err := knowledge.FindWord(shards[knowledge.ShardOf(w, len(shards))], w)
		if err != nil || found.Passages != passages[w] {
			t.Fatalf("%s is in %d passages, want %d: %v", w, found.Passages, passages[w], err)
		}
		if passages[w] == 0 {
			absent++
		}
	}
	if absent == 0 {
		t.Fatal("every word occurs")
	}
}

// BenchmarkRank ranks 20,480 passages of 150 words, whose frequencies are those of a language, by six words and a vector of 512 numbers.
func BenchmarkRank(b *testing.B) {
	const perBlock, blocks, dimensions = knowledge.BlockPassages, 20, 512
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 8, 49_999)
	text := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("w%x", 7*zipf.Uint64())
		}
		return strings.Join(list, " ")
	}
	vector := func() []float32 {
		v := make([]float32, dimensions)
		for i := range v {
			v[i] = float32(rng.NormFloat64())
		}
		return knowledge.Unit(v)
	}
	var all []knowledge.Block
	for n := range blocks {
		var entries []knowledge.Entry
		var vectors []byte
		for i := range perBlock {
			entries = append(entries, knowledge.NewEntry(int64(n*perBlock+i), "", text(150)))
			scale, numbers := knowledge.Quantize(vector())
			vectors = knowledge.AppendVector(vectors, i, scale, numbers)
		}
		data, shards := knowledge.BuildBlock(entries)
		head, err := knowledge.DecodeHead(data)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, knowledge.Block{Head: head, Dimensions: dimensions, Shard: func(n int) ([]byte, error) { return shards[n], nil }, Vectors: func() ([]byte, error) { return vectors, nil }})
	}
	for name, request := range map[string]func() knowledge.Request{
		"words":   func() knowledge.Request { return knowledge.Request{Words: knowledge.WordList(text(6)), Limit: 256} },
		"meaning": func() knowledge.Request { return knowledge.Request{Vector: vector(), Limit: 256} },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := knowledge.Rank(all, request()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

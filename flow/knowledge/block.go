package knowledge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"slices"
	"strings"

	"sluice/flow/sorting"
)

// A block holds the words of up to BlockPassages passages. It is never changed: background work replaces blocks by merged ones.
// Its words are divided among shards by their first bytes, so that a query reads only the shards of its words, and all words
// with the same beginning are in one.

const (
	// BlockPassages is how many passages a full block has.
	BlockPassages = 1024
	// shardPassages is how many passages of a block need another shard.
	shardPassages = 16
	// shardBytes is how many bytes of a word decide its shard, which is also the length of the shortest beginning that can be
	// looked up.
	shardBytes = 3
)

// Entry is a passage as an index has it.
type Entry struct {
	Number int64          // of the passage in its base
	Length int            // in words, with headings counted by their weight
	Counts map[string]int // occurrences by word, weighted
	Vector []float32      // of length 1; nil for a passage that has none
}

// headingWeight is how often words of titles and headings count.
const headingWeight = 3

// NewEntry counts the words of a passage. heading is its title and headings.
func NewEntry(number int64, heading, text string) Entry {
	e := Entry{Number: number, Counts: map[string]int{}}
	count := func(text string, weight int) {
		add := func(w string) { e.Counts[w] += weight }
		eachWordOf(text, func(w string) { add(w); e.Length += weight }, add)
	}
	count(heading, headingWeight)
	count(text, 1)
	return e
}

// Head lists the passages of a block: their numbers, ascending, and their lengths. Total is the sum of the lengths.
type Head struct {
	Numbers []int64
	Lengths []int
	Total   int
}

// Shards returns how many shards a block with n passages has.
func Shards(n int) int {
	shards := 1
	for shards*shardPassages < n {
		shards *= 2
	}
	return shards
}

// ShardOf returns the shard of a word, or of a beginning of at least 3 bytes, among a number of shards.
func ShardOf(word string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(word[:min(len(word), shardBytes)])) // never fails
	return int(h.Sum32() % uint32(shards))
}

// posting is an occurrence: the index of a passage in its block, and its weighted count.
type posting struct{ at, count int }

// BuildBlock encodes the head and the shards of a block. Entries are in the order of their numbers.
func BuildBlock(entries []Entry) (head []byte, shards [][]byte) {
	lists := map[string][]posting{}
	var before int64
	for i := range entries {
		e := &entries[i]
		head = binary.AppendUvarint(head, uint64(e.Number-before))
		head = binary.AppendUvarint(head, uint64(e.Length))
		before = e.Number
		for w, n := range e.Counts {
			lists[w] = append(lists[w], posting{i, n})
		}
	}
	return head, encodeShards(lists, Shards(len(entries)))
}

// encodeShards encodes the postings of words. Within a shard, words are sorted, and share their beginnings.
func encodeShards(lists map[string][]posting, n int) [][]byte {
	shards, last := make([][]byte, n), make([]string, n)
	for _, w := range sorting.Keys(lists) {
		var data []byte
		before := -1
		for _, p := range lists[w] {
			data = binary.AppendUvarint(data, uint64(p.at-before-1))
			data = binary.AppendUvarint(data, uint64(p.count))
			before = p.at
		}
		s := ShardOf(w, n)
		shared := sharedPrefix(last[s], w)
		b := binary.AppendUvarint(shards[s], uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(w)-shared))
		b = append(b, w[shared:]...)
		b = binary.AppendUvarint(b, uint64(len(lists[w])))
		b = binary.AppendUvarint(b, uint64(len(data)))
		shards[s], last[s] = append(b, data...), w
	}
	return shards
}

// sharedPrefix returns the length of the common beginning of two words.
func sharedPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// errBlock is returned for a block that cannot be decoded.
var errBlock = errors.New("knowledge: a block of the index is damaged")

// reader reads numbers and bytes of a block.
type reader struct {
	data []byte
	err  error
}

func (r *reader) number() int {
	if len(r.data) > 0 && r.data[0] < 0x80 { // most are small
		n := int(r.data[0])
		r.data = r.data[1:]
		return n
	}
	return r.largeNumber()
}

func (r *reader) largeNumber() int {
	v, n := binary.Uvarint(r.data)
	if n <= 0 || v > 1<<62 {
		r.data, r.err = nil, errBlock
		return 0
	}
	r.data = r.data[n:]
	return int(v)
}

func (r *reader) bytes(n int) []byte {
	if n < 0 || n > len(r.data) {
		r.data, r.err = nil, errBlock
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

// DecodeHead decodes the head of a block.
func DecodeHead(data []byte) (*Head, error) {
	r, h, number := reader{data: data}, &Head{}, int64(0)
	for len(r.data) > 0 {
		number += int64(r.number())
		length := r.number()
		h.Numbers, h.Lengths, h.Total = append(h.Numbers, number), append(h.Lengths, length), h.Total+length
	}
	return h, r.err
}

// Postings are the occurrences of a word in a block.
type Postings struct {
	Passages int // that have the word
	data     []byte
}

// eachWord calls f for the words of a shard in order, until it returns false.
func eachWord(shard []byte, f func(word []byte, p Postings) bool) error {
	r := reader{data: shard}
	var word []byte
	for len(r.data) > 0 {
		shared := r.number()
		if shared > len(word) {
			return errBlock
		}
		word = append(word[:shared], r.bytes(r.number())...)
		n := r.number()
		p := Postings{n, r.bytes(r.number())}
		if r.err != nil || !f(word, p) {
			return r.err
		}
	}
	return r.err
}

// FindWord returns the postings of a word in its shard. Because words are sorted, how much of the word the previous one shared is enough
// to skip most others without a comparison.
func FindWord(shard []byte, word string) (Postings, error) {
	r := reader{data: shard}
	for common := 0; len(r.data) > 0; { // the previous word is lower, and has this many bytes in common with the wanted one
		shared := r.number()
		rest := r.bytes(r.number())
		p := Postings{r.number(), r.bytes(r.number())}
		switch {
		case r.err != nil:
			return Postings{}, r.err
		case shared > common:
			continue // it differs from the wanted word where the previous one did
		case shared < common:
			return Postings{}, nil // it is higher
		}
		n := sharedPrefix(string(rest), word[common:])
		common += n
		if common == len(word) || n < len(rest) && rest[n] > word[common] {
			if common == len(word) && n == len(rest) {
				return p, nil
			}
			return Postings{}, nil
		}
	}
	return Postings{}, r.err
}

// LongestPrefix returns the length of the longest common beginning of a word with a word of the shard.
func LongestPrefix(shard []byte, word string) (longest int, err error) {
	err = eachWord(shard, func(w []byte, _ Postings) bool {
		longest = max(longest, sharedPrefix(string(w), word))
		return true
	})
	return longest, err
}

// FindBeginning returns the postings of all words of a shard that begin with a prefix.
func FindBeginning(shard []byte, prefix string) (list []Postings, err error) {
	err = eachWord(shard, func(w []byte, p Postings) bool {
		if bytes.HasPrefix(w, []byte(prefix)) {
			list = append(list, p)
		}
		return true
	})
	return list, err
}

// WithPrefix returns the words of a shard that begin with a prefix.
func WithPrefix(shard []byte, prefix string) (words []string, err error) {
	err = eachWord(shard, func(w []byte, _ Postings) bool {
		if strings.HasPrefix(string(w), prefix) {
			words = append(words, string(w))
		}
		return true
	})
	return words, err
}

// Each calls f for each occurrence: the index of the passage in its block and the weighted count.
func (p Postings) Each(f func(at, count int)) error {
	r, at := reader{data: p.data}, -1
	for range p.Passages {
		at += r.number() + 1
		n := r.number()
		if r.err != nil {
			return r.err
		}
		f(at, n)
	}
	return nil
}

// MergeBlock is a block to be merged: its head and all of its shards.
type MergeBlock struct {
	Head   *Head
	Shards [][]byte
}

// MergeBlocks encodes a block with the passages of several that keep accepts. No passage is in two of them.
func MergeBlocks(blocks []MergeBlock, keep func(number int64) bool) (head *Head, headData []byte, shards [][]byte, err error) {
	type place struct {
		number     int64
		length     int
		block, was int
	}
	var places []place
	for b := range blocks {
		for i, n := range blocks[b].Head.Numbers {
			if keep(n) {
				places = append(places, place{n, blocks[b].Head.Lengths[i], b, i})
			}
		}
	}
	sorting.By(places, func(a, b place) int { return int(min(1, max(-1, a.number-b.number))) })
	head = &Head{}
	now := make([]map[int]int, len(blocks))
	for b := range now {
		now[b] = map[int]int{}
	}
	var before int64
	for i, p := range places {
		head.Numbers, head.Lengths, head.Total = append(head.Numbers, p.number), append(head.Lengths, p.length), head.Total+p.length
		headData = binary.AppendUvarint(headData, uint64(p.number-before))
		headData = binary.AppendUvarint(headData, uint64(p.length))
		before = p.number
		now[p.block][p.was] = i
	}
	lists := map[string][]posting{}
	for b := range blocks {
		for _, shard := range blocks[b].Shards {
			var inner error
			err := eachWord(shard, func(w []byte, p Postings) bool {
				word := string(w)
				inner = p.Each(func(at, count int) {
					if i, kept := now[b][at]; kept {
						lists[word] = append(lists[word], posting{i, count})
					}
				})
				return inner == nil
			})
			if err == nil {
				err = inner
			}
			if err != nil {
				return nil, nil, nil, err
			}
		}
	}
	for _, list := range lists {
		slices.SortFunc(list, func(a, b posting) int { return a.at - b.at })
	}
	return head, headData, encodeShards(lists, Shards(len(places))), nil
}

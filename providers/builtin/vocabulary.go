package builtin

import (
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

const (
	reservedPieces = 6 // the unknown piece and five markers that no text may produce
	unknownPiece   = 0
	wordStart      = '▁' // stands for the space before a word
)

// vocabulary is a SentencePiece unigram vocabulary: a trie of pieces with their log probabilities.
type vocabulary struct {
	edges map[uint64]int32 // (node, rune) -> node
	nodes []pieceNode
}

// pieceNode is a node of the trie. id is 0 if no piece ends there.
type pieceNode struct {
	id    int32
	score float64
}

// newVocabulary returns an empty trie. Node 0 is its root; the capacity avoids growing
// it while the shipped model is read.
func newVocabulary() *vocabulary {
	return &vocabulary{edges: make(map[uint64]int32, 1<<15), nodes: make([]pieceNode, 1, 1<<15)}
}

// edge returns the map key of an edge: the node that it leaves in the upper 32 bits,
// and the character in the lower.
func edge(node int32, r rune) uint64 { return uint64(node)<<32 | uint64(uint32(r)) }

// add inserts a piece. One piece is listed twice with different IDs; the later one wins, as in the published tokenizer.
func (v *vocabulary) add(id int, piece string, score float64) {
	if id < reservedPieces {
		return
	}
	var node int32
	for _, r := range piece {
		next, ok := v.edges[edge(node, r)]
		if !ok {
			next = int32(len(v.nodes))
			v.nodes = append(v.nodes, pieceNode{})
			v.edges[edge(node, r)] = next
		}
		node = next
	}
	v.nodes[node] = pieceNode{id: int32(id), score: score}
}

// tidy collapses runs of white space: the model was trained on text without tabs, newlines and double spaces.
func tidy(text string) string {
	return strings.Join(strings.Fields(norm.NFKC.String(text)), " ")
}

// tokens splits text into the ids of its most probable pieces. A run of unknown pieces counts as one.
func (v *vocabulary) tokens(text string) []int32 {
	text = tidy(text)
	if text == "" {
		return nil
	}
	symbols := []rune(string(wordStart) + strings.ReplaceAll(text, " ", string(wordStart)))
	ends := v.bestEnds(symbols)
	var ids []int32
	for end := len(symbols); end > 0; end -= int(ends[end].length) {
		if id := ends[end].id; id != unknownPiece || len(ids) == 0 || ids[len(ids)-1] != unknownPiece {
			ids = append(ids, id)
		}
	}
	slices.Reverse(ids)
	return ids
}

// pieceEnd is the best path to a position: its last piece and total score. The zero value means unreached, which is
// treated as one unknown rune.
type pieceEnd struct {
	score  float64
	id     int32
	length int32
}

// bestEnds is the Viterbi search. It keeps two quirks of the published tokenizer, against whose IDs the weights were
// verified: any path replaces one with a score of 0, and of equal paths the one with the later start wins.
func (v *vocabulary) bestEnds(symbols []rune) []pieceEnd {
	ends := make([]pieceEnd, len(symbols)+1)
	for i := range ends {
		ends[i].length = 1
	}
	for start := range symbols {
		if v.extend(ends, symbols, start) {
			continue
		}
		if end := &ends[start+1]; end.score == 0 || ends[start].score >= end.score {
			*end = pieceEnd{score: ends[start].score, id: unknownPiece, length: 1}
		}
	}
	return ends
}

// extend tries every piece that begins at start and reports whether there was one.
func (v *vocabulary) extend(ends []pieceEnd, symbols []rune, start int) (found bool) {
	var node int32
	for i := start; i < len(symbols); i++ {
		next, ok := v.edges[edge(node, symbols[i])]
		if !ok {
			return found
		}
		node = next
		piece := &v.nodes[node]
		if piece.id == unknownPiece {
			continue
		}
		found = true
		end, score := &ends[i+1], ends[start].score+piece.score
		if end.score == 0 || score >= end.score {
			*end = pieceEnd{score: score, id: piece.id, length: int32(i + 1 - start)}
		}
	}
	return found
}

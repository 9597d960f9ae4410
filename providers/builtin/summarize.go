package builtin

import (
	"context"
	"fmt"
	"slices"
	"sluice/flow/wording"
	"strings"
)

const (
	// openingBonus raises the score of the first sentence by this share, of the second by half of it, and so on: news
	// and reports begin with the essentials.
	openingBonus = 0.15
	// repetitionCost lowers the score of a sentence for its similarity to one already chosen.
	repetitionCost = 0.5
	// sameSentence is the similarity from which a sentence counts as a repetition and is chosen last.
	sameSentence = 0.9
)

// MaxSentences is the maximum length of a summary. Beyond it, sending the text itself is cheaper.
const MaxSentences = 200

// Summarize returns the given number of sentences, or all if there are fewer: the most representative ones, in their
// original order and joined by spaces. It adds no words.
//
// It returns ErrCount unless sentences is between 1 and MaxSentences, ErrTooLong as Embed does.
func (m *Model) Summarize(ctx context.Context, group, text string, sentences int) (string, error) {
	if sentences < 1 || sentences > MaxSentences {
		return "", fmt.Errorf("summary of %d sentences: %w", sentences, ErrCount)
	}
	if err := checkLength(text); err != nil {
		return "", err
	}
	candidates := summaryCandidates(text, sentences)
	if len(candidates) <= sentences {
		return strings.Join(candidates, " "), nil
	}
	vectors, err := m.Embed(ctx, group, candidates)
	if err != nil {
		return "", err
	}
	chosen, err := choose(ctx, vectors, sentences)
	if err != nil {
		return "", err
	}
	slices.Sort(chosen)
	var out []string
	for _, i := range chosen {
		out = append(out, candidates[i])
	}
	return strings.Join(out, " "), nil
}

// summaryCandidates returns the sentences, without headings and exclamations if enough others remain.
func summaryCandidates(text string, enough int) []string {
	var all, full []string
	for _, s := range splitSentences(text) {
		sentence := wording.OneLine(s.in(text))
		all = append(all, sentence)
		if !isShort(sentence) {
			full = append(full, sentence)
		}
	}
	if len(full) >= enough {
		return full
	}
	return all
}

// choose picks count sentences one by one, each the most central that does not repeat those before.
func choose(ctx context.Context, vectors [][]float32, count int) ([]int, error) {
	central := centrality(vectors)
	nearest := make([]float64, len(vectors)) // similarity to the most similar chosen sentence
	var chosen []int
	for len(chosen) < count {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		best := -1
		for i := range vectors {
			if !slices.Contains(chosen, i) && (best < 0 || worth(central, nearest, i) > worth(central, nearest, best)) {
				best = i
			}
		}
		chosen = append(chosen, best)
		for i, v := range vectors {
			nearest[i] = max(nearest[i], cosine(v, vectors[best]))
		}
	}
	return chosen, nil
}

// worth scores the i-th sentence for a summary: it should be central to the text, come
// early, and differ from those chosen. A near copy of a chosen one scores below all
// others.
func worth(central, nearest []float64, i int) float64 {
	w := central[i]*(1+openingBonus/float64(1+i)) - repetitionCost*nearest[i]
	if nearest[i] > sameSentence {
		w -= 2 // below any other
	}
	return w
}

// centrality is the similarity of each sentence to the sum of all others, so that the cost grows with their number and
// not with its square.
func centrality(vectors [][]float32) []float64 {
	sum := make([]float32, Dimensions)
	for _, v := range vectors {
		addScaled(sum, v, 1)
	}
	out := make([]float64, len(vectors))
	others := make([]float32, Dimensions)
	for i, v := range vectors {
		copy(others, sum)
		addScaled(others, v, -1)
		out[i] = cosine(v, normalize(others))
	}
	return out
}

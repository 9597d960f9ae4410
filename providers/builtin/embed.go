package builtin

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// passTokens is the number of tokens from short texts that share one pass: enough to amortize reading the weights, few
// enough to spread a dozen sentences over the cores.
const passTokens = 64

// Embed returns a unit vector of Dimensions for each text. Texts of similar meaning have a large inner product. A text of
// more than MaxTokens is split by sentence; its vector is the mean of the parts, weighted by length. The vector of a blank
// text is all zeros.
//
// It returns ErrTooLong beyond MaxText, MaxBatch or MaxTexts, and the context's error soon after the context ends.
func (m *Model) Embed(ctx context.Context, group string, texts []string) ([][]float32, error) {
	if err := checkLength(texts...); err != nil {
		return nil, err
	}
	e, err := m.ready()
	if err != nil {
		return nil, err
	}
	parts, err := split(ctx, e.vocab, texts)
	if err != nil {
		return nil, err
	}
	if err := m.encodeAll(ctx, group, parts); err != nil {
		return nil, err
	}
	return join(parts, len(texts)), nil
}

// part is a piece of a text that fits the network.
type part struct {
	text   int // its index
	tokens []int32
	vector []float32
}

// split splits each text into parts. Blank texts have none.
func split(ctx context.Context, v *vocabulary, texts []string) ([]part, error) {
	var parts []part
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, tokens := range splitTokens(v, text) {
			parts = append(parts, part{text: i, tokens: tokens})
		}
	}
	return parts, nil
}

// splitTokens returns the tokens of a text, in several runs of at most MaxTokens if needed: whole sentences where they
// fit, because half a sentence misleads the network.
func splitTokens(v *vocabulary, text string) [][]int32 {
	if tokens := v.tokens(text); len(tokens) <= MaxTokens {
		return nonEmpty(tokens)
	}
	var runs [][]int32
	var run []int32
	for _, s := range splitSentences(text) {
		tokens := v.tokens(s.in(text))
		if len(run)+len(tokens) > MaxTokens {
			runs, run = append(runs, nonEmpty(run)...), nil
		}
		for ; len(tokens) > MaxTokens; tokens = tokens[MaxTokens:] {
			runs = append(runs, tokens[:MaxTokens])
		}
		run = append(run, tokens...)
	}
	return append(runs, nonEmpty(run)...)
}

// nonEmpty returns a list of the one sequence, or an empty list for an empty sequence:
// the vector of an empty text stays zero without a pass.
func nonEmpty(tokens []int32) [][]int32 {
	if len(tokens) == 0 {
		return nil
	}
	return [][]int32{tokens}
}

// encodeAll sets the vector of every part, on as many goroutines as there are cores.
func (m *Model) encodeAll(ctx context.Context, group string, parts []part) error {
	passes := groupParts(parts)
	var next atomic.Int64
	var wait sync.WaitGroup
	errs := make([]error, min(runtime.GOMAXPROCS(0), len(passes)))
	for i := range errs {
		wait.Go(func() {
			for errs[i] == nil {
				n := int(next.Add(1)) - 1
				if n >= len(passes) {
					return
				}
				errs[i] = m.encodeParts(ctx, group, passes[n])
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// groupParts combines consecutive parts into passes of up to passTokens.
func groupParts(parts []part) [][]part {
	var passes [][]part
	start, tokens := 0, 0
	for i, p := range parts {
		if i > start && tokens+len(p.tokens) > passTokens {
			passes = append(passes, parts[start:i])
			start, tokens = i, 0
		}
		tokens += len(p.tokens)
	}
	if start < len(parts) {
		passes = append(passes, parts[start:])
	}
	return passes
}

// encodeParts sets the vectors of the parts, which are computed together in one pass.
func (m *Model) encodeParts(ctx context.Context, group string, parts []part) error {
	sequences := make([][]int32, len(parts))
	for i, p := range parts {
		sequences[i] = p.tokens
	}
	vectors, err := m.pass(ctx, group, sequences)
	for i := range vectors {
		parts[i].vector = vectors[i]
	}
	return err
}

// join averages the parts of each text, by their length in tokens.
func join(parts []part, texts int) [][]float32 {
	vectors := make([][]float32, texts)
	for _, p := range parts {
		if vectors[p.text] == nil {
			vectors[p.text] = multiply(p.vector, float32(len(p.tokens)))
			continue
		}
		addScaled(vectors[p.text], p.vector, float32(len(p.tokens)))
	}
	for i, v := range vectors {
		if v == nil {
			vectors[i] = make([]float32, Dimensions)
			continue
		}
		normalize(v)
	}
	return vectors
}

// Similarity returns the similarity of two texts: 1 for the same meaning, about 0 for unrelated ones, rarely less. With
// blank text it is 0.
func (m *Model) Similarity(ctx context.Context, group, a, b string) (float64, error) {
	vectors, err := m.Embed(ctx, group, []string{a, b})
	if err != nil {
		return 0, err
	}
	return cosine(vectors[0], vectors[1]), nil
}

// cosine returns the inner product of unit vectors, clamped to -1..1 because of rounding errors.
func cosine(a, b []float32) float64 {
	return min(1, max(-1, float64(dot(a, b))))
}

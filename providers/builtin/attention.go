package builtin

import "math"

// attend reads queries, keys and values of the given width from wide. It writes the attention output of each token of
// the sequence to scratch.
func (w *workspace) attend(s span, width int) {
	size := width / attentionHeads
	for t := range s.tokens {
		row := (s.start + t) * width
		for at := 0; at < width; at += size {
			w.attendHead(s, w.scratch[row+at:][:size], 3*row+at, 3*s.start*width+width+at, width)
		}
	}
}

// attendHead computes one head for one token. query and keys are offsets into wide; the values are at offset keys+width.
func (w *workspace) attendHead(s span, dst []float32, query, keys, width int) {
	weights, size := w.weights[:len(s.tokens)], len(dst)
	scale := float32(1 / math.Sqrt(float64(size)))
	for t := range weights {
		weights[t] = scale * dot(w.wide[query:][:size], w.wide[keys+3*t*width:][:size])
	}
	softmax(weights)
	clear(dst)
	for t, weight := range weights {
		addScaled(dst, w.wide[keys+width+3*t*width:][:size], weight)
	}
}

// softmax converts scores to weights that add up to 1.
func softmax(scores []float32) {
	top := float32(math.Inf(-1))
	for _, s := range scores {
		top = max(top, s)
	}
	var sum float32
	for i, s := range scores {
		scores[i] = float32(math.Exp(float64(s - top)))
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
}

package builtin

// workspace holds the buffers of one pass through the network, about 2 MB. One goroutine uses it at a time.
type workspace struct {
	spans  []span
	tokens int // rows in use

	input   []float32 // embeddingSize per row
	state   []float32 // Dimensions per row, as are scratch, mean and out
	scratch []float32
	wide    []float32 // 3 * Dimensions = feedSize per row
	mean    []float32
	out     []float32
	weights [MaxTokens]float32 // attention of one token
}

// span is the range of rows of a sequence.
type span struct {
	start  int
	tokens []int32
}

// newWorkspace allocates the buffers of a pass of up to MaxTokens tokens. Workspaces
// are pooled, because they take megabytes.
func newWorkspace() *workspace {
	return &workspace{
		input:   make([]float32, MaxTokens*embeddingSize),
		state:   make([]float32, MaxTokens*Dimensions),
		scratch: make([]float32, MaxTokens*Dimensions),
		wide:    make([]float32, MaxTokens*feedSize),
		mean:    make([]float32, MaxTokens*Dimensions),
		out:     make([]float32, MaxTokens*Dimensions),
	}
}

// place assigns consecutive rows to the sequences and returns the number of rows to process, a multiple of tileRows. Rows
// after the last token contain garbage, which is never read.
func (w *workspace) place(sequences [][]int32) (rows int) {
	w.spans, w.tokens = w.spans[:0], 0
	for _, tokens := range sequences {
		w.spans = append(w.spans, span{start: w.tokens, tokens: tokens})
		w.tokens += len(tokens)
	}
	return (w.tokens + tileRows - 1) / tileRows * tileRows
}

// average sets a row of mean for each sequence.
func (w *workspace) average() {
	for i, s := range w.spans {
		mean := w.mean[i*Dimensions:][:Dimensions]
		clear(mean)
		for t := range s.tokens {
			addScaled(mean, w.state[(s.start+t)*Dimensions:][:Dimensions], 1/float32(len(s.tokens)))
		}
	}
}

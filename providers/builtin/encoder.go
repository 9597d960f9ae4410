package builtin

import (
	"fmt"
	"math"
)

// The sizes of the Universal Sentence Encoder Lite.
const (
	Dimensions = 512 // of an embedding
	MaxTokens  = 128 // that the network sees at once; longer texts are split

	pieces         = 8002 // rows of the embedding: the vocabulary and two that are never used
	embeddingSize  = 256
	attentionHeads = 4
	feedSize       = 1536
)

// encoder is the network: two transformer layers over piece embeddings, their mean, and a tanh layer. It is read-only.
type encoder struct {
	vocab     *vocabulary
	embedding matrix
	position  []float32 // a row of embeddingSize per position
	project   linear
	layers    [2]layer
	output    linear
}

// layer is one transformer layer. Its attention may be narrower than its output, as in the first layer.
type layer struct {
	attendNorm, feedNorm layerNorm
	attendIn, attendOut  linear
	feedIn, feedOut      linear
}

// newEncoder parses the model file. It checks the shape of every tensor, so that the
// arithmetic needs no bounds checks of its own.
func newEncoder(file []byte) (*encoder, error) {
	vocab, t, err := parseModel(file)
	if err != nil {
		return nil, fmt.Errorf("read the built-in model: %w", err)
	}
	e := &encoder{
		vocab:     vocab,
		embedding: t.matrix("embedding", pieces, embeddingSize),
		position:  positions(t.vector("frequency", embeddingSize/2)),
		project:   newLinear(t, "project", embeddingSize, Dimensions),
		layers:    [2]layer{newLayer(t, "0", embeddingSize), newLayer(t, "1", Dimensions)},
		output:    newLinear(t, "output", Dimensions, Dimensions),
	}
	if t.err != nil {
		return nil, fmt.Errorf("read the built-in model: %w", t.err)
	}
	return e, nil
}

// newLayer returns a layer of the transformer from the tensors below a name. width is
// that of its input; its output has Dimensions.
func newLayer(t *tensors, name string, width int) layer {
	return layer{
		attendNorm: newLayerNorm(t, name+".attend.norm", width),
		attendIn:   newLinear(t, name+".attend.in", width, 3*width),
		attendOut:  newLinear(t, name+".attend.out", width, Dimensions),
		feedNorm:   newLayerNorm(t, name+".feed.norm", Dimensions),
		feedIn:     newLinear(t, name+".feed.in", Dimensions, feedSize),
		feedOut:    newLinear(t, name+".feed.out", feedSize, Dimensions),
	}
}

// positions returns the positional encoding, which tells the network the order of its tokens: sines, then cosines.
func positions(frequency []float32) []float32 {
	out := make([]float32, 0, MaxTokens*2*len(frequency))
	for p := range MaxTokens {
		for _, f := range frequency {
			out = append(out, float32(math.Sin(float64(p)*float64(f))))
		}
		for _, f := range frequency {
			out = append(out, float32(math.Cos(float64(p)*float64(f))))
		}
	}
	return out
}

// encode returns the unit vector of each sequence. Together they have at most MaxTokens tokens. Sharing one pass reads the
// weights only once for many short sequences.
func (e *encoder) encode(sequences [][]int32, w *workspace) [][]float32 {
	rows := w.place(sequences)
	for _, s := range w.spans {
		e.embed(w.input[s.start*embeddingSize:], s.tokens)
	}
	e.project.set(w.state, w.input, rows)
	e.layers[0].run(w, w.input, rows)
	e.layers[1].run(w, w.state, rows)
	w.average()
	e.output.set(w.out, w.mean, len(sequences))
	vectors := make([][]float32, len(sequences))
	for i := range vectors {
		vectors[i] = finish(w.out[i*Dimensions : (i+1)*Dimensions])
	}
	return vectors
}

// embed writes the network's input: twice the embedding of each token plus its positional encoding.
func (e *encoder) embed(dst []float32, tokens []int32) {
	for p, id := range tokens {
		out := dst[p*embeddingSize:][:embeddingSize]
		signal := e.position[p*embeddingSize:][:embeddingSize]
		scale := 2 * e.embedding.scale[id]
		for i, q := range e.embedding.row(int(id))[:len(out)] {
			out[i] = scale*float32(int8(q)) + signal[i]
		}
	}
}

// run adds the attention over input and then the feed-forward network to the state.
func (l *layer) run(w *workspace, input []float32, rows int) {
	l.attendNorm.apply(w.scratch, input, w.tokens)
	l.attendIn.set(w.wide, w.scratch, rows)
	for _, s := range w.spans {
		w.attend(s, l.attendIn.weight.cols)
	}
	l.attendOut.add(w.state, w.scratch, rows)

	l.feedNorm.apply(w.scratch, w.state, w.tokens)
	l.feedIn.set(w.wide, w.scratch, rows)
	for i, v := range w.wide[:rows*feedSize] {
		w.wide[i] = max(v, 0)
	}
	l.feedOut.add(w.state, w.wide, rows)
}

// finish applies tanh to the output and normalizes it to a unit vector.
func finish(out []float32) []float32 {
	v := make([]float32, len(out))
	for i, x := range out {
		v[i] = float32(math.Tanh(float64(x)))
	}
	return normalize(v)
}

package builtin

import (
	_ "embed"
	"errors"
	"fmt"
)

// languageFile holds the network that detects languages. convert/language creates it from the published package.
//
//go:embed model/lande.bin
var languageFile []byte

//go:embed model/LICENSE-lande
var languageLicense string

const (
	languageMagic = "SLUICEL1"
	longestNgram  = 4
)

// languageNet is the published network. Its inputs are the frequencies of certain n-grams, its outputs the probabilities
// of the languages, with one hidden layer between.
type languageNet struct {
	codes         []string        // ISO 639-3, as published
	ngrams        []map[ngram]int // by length less one: the input that takes its frequency
	inputs        int             // number of n-grams
	hidden, final dense
}

// ngram is up to four UTF-16 units, as in the published network. A character beyond the Basic Multilingual Plane has two
// units.
type ngram [longestNgram]uint16

// dense is one layer: a row of weights and a bias for each output.
type dense struct {
	columns int
	weights []float32
	biases  []float32
}

// parseLanguages reads the layout that convert/language/convert.mjs documents.
func parseLanguages(file []byte) (*languageNet, error) {
	r := &reader{rest: file}
	if string(r.bytes(len(languageMagic))) != languageMagic {
		return nil, errors.New("not a language model file")
	}
	n := &languageNet{codes: readTexts(r)}
	for range longestNgram {
		known := map[ngram]int{}
		for _, s := range readTexts(r) {
			known[ngramOf(utf16Units(s))] = n.inputs
			n.inputs++
		}
		n.ngrams = append(n.ngrams, known)
	}
	n.hidden, n.final = readDense(r), readDense(r)
	if r.err != nil {
		return nil, r.err
	}
	if n.hidden.columns != n.inputs || n.final.columns != len(n.hidden.biases) || len(n.final.biases) != len(n.codes) {
		return nil, fmt.Errorf("%d n-grams and %d languages do not fit the layers", n.inputs, len(n.codes))
	}
	return n, nil
}

// readTexts reads a list of texts: their number, then each with its length.
func readTexts(r *reader) []string {
	var list []string
	for n := r.uint32(); n > 0 && r.err == nil; n-- {
		list = append(list, r.text())
	}
	return list
}

// readDense reads a fully connected layer. Weights are stored as bytes, with one scale
// for each row and one for all biases.
func readDense(r *reader) dense {
	rows, columns := r.uint32(), r.uint32()
	d := dense{columns: columns, biases: readScaled(r, rows)}
	for ; rows > 0 && r.err == nil; rows-- {
		d.weights = append(d.weights, readScaled(r, columns)...)
	}
	return d
}

// readScaled reads 8-bit numbers with an offset of 127, which are divided by the scale that precedes them.
func readScaled(r *reader, n int) []float32 {
	scale := r.float64()
	data := r.bytes(n)
	values := make([]float32, len(data))
	for i, b := range data {
		values[i] = float32((float64(b) - 127) / scale)
	}
	return values
}

// apply computes the layer without its activation. Sums have double precision, as in the published network.
func (d *dense) apply(input []float32) []float32 {
	output := make([]float32, len(d.biases))
	for i := range output {
		sum := 0.0
		for j, w := range d.weights[i*d.columns : (i+1)*d.columns] {
			sum += float64(input[j]) * float64(w)
		}
		output[i] = float32(sum + float64(d.biases[i]))
	}
	return output
}

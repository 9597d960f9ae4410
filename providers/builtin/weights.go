package builtin

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// packedModel is unpacked when the model is first used, so a process that never uses it never loads these pages.
//
//go:embed model/use-lite.bin.zst
var packedModel []byte

// unpackModel returns the file of the model. The matrices are slices of it.
func unpackModel() ([]byte, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, fmt.Errorf("unpack the model: %w", err)
	}
	defer r.Close()
	file, err := r.DecodeAll(packedModel, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack the model: %w", err)
	}
	return file, nil
}

//go:embed model/NOTICE
var notice string

//go:embed model/LICENSE
var license string

// License returns where the embedded weights come from, what was changed, and their licenses: a program that ships them
// must be able to show it.
func License() string {
	return notice + license + "\nSluice contains the network of the npm package lande 1.0.10, under this license:\n\n" + languageLicense
}

const (
	magic         = "SLUICEQ1"
	kindFloat     = 0
	kindQuantised = 1
)

// matrix holds int8 rows with one scale each: the value at (r, c) is int8(data[r*cols+c]) * scale[r].
type matrix struct {
	rows, cols int
	scale      []float32
	data       []byte
}

// row returns the int8 weights of row r. They are a part of the file, so they must not
// be changed.
func (m *matrix) row(r int) []byte { return m.data[r*m.cols : (r+1)*m.cols] }

// tensors holds the tensors of the file by name. Requesting one that is missing or of another shape sets err.
type tensors struct {
	matrices map[string]matrix
	vectors  map[string][]float32
	err      error
}

// matrix returns a matrix by name. One that is missing or of another shape is recorded
// in err, which is checked once all are taken.
func (t *tensors) matrix(name string, rows, cols int) matrix {
	m := t.matrices[name]
	if m.rows != rows || m.cols != cols {
		t.err = errors.Join(t.err, fmt.Errorf("%s is %d by %d, want %d by %d", name, m.rows, m.cols, rows, cols))
	}
	return m
}

// vector returns a vector by name. One that is missing or of another length is recorded
// in err.
func (t *tensors) vector(name string, n int) []float32 {
	v := t.vectors[name]
	if len(v) != n {
		t.err = errors.Join(t.err, fmt.Errorf("%s holds %d values, want %d", name, len(v), n))
	}
	return v
}

// parseModel reads the layout that convert/convert.mjs documents.
func parseModel(file []byte) (*vocabulary, *tensors, error) {
	r := &reader{rest: file}
	if string(r.bytes(len(magic))) != magic {
		return nil, nil, errors.New("not a model file")
	}
	vocab := readVocabulary(r)
	weights := readTensors(r)
	if r.err != nil {
		return nil, nil, r.err
	}
	return vocab, weights, nil
}

// readVocabulary reads the word pieces with their log probabilities. The ID of a piece
// is its index in the file.
func readVocabulary(r *reader) *vocabulary {
	v := newVocabulary()
	for id, n := 0, r.uint32(); id < n && r.err == nil; id++ {
		v.add(id, r.text(), r.float64())
	}
	return v
}

// readTensors reads all tensors by name: vectors as 32-bit floats, matrices as int8
// with one scale for each row.
func readTensors(r *reader) *tensors {
	t := &tensors{matrices: map[string]matrix{}, vectors: map[string][]float32{}}
	for n := r.uint32(); n > 0 && r.err == nil; n-- {
		name, kind, rows, cols := r.text(), r.uint8(), r.uint32(), r.uint32()
		switch kind {
		case kindFloat:
			t.vectors[name] = r.floats(rows * cols)
		case kindQuantised:
			t.matrices[name] = matrix{rows: rows, cols: cols, scale: r.floats(rows), data: r.bytes(rows * cols)}
		default:
			r.err = fmt.Errorf("%s is of unknown kind %d", name, kind)
		}
	}
	return t
}

package builtin

import (
	"encoding/binary"
	"errors"
	"math"
)

// errTruncated is the error of a reader with fewer bytes left than were requested.
var errTruncated = errors.New("file ends too early")

// reader reads little-endian values from a file. After the first error every read returns zero, so that a parser checks
// err only once, at its end.
type reader struct {
	rest []byte
	err  error
}

// bytes returns the next n bytes of the file itself, not a copy.
func (r *reader) bytes(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.rest) {
		r.err = errTruncated
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// uint8 and the methods below read little-endian values. After an error they return
// zero values, so that a parser needs to check err only once, at its end.
func (r *reader) uint8() int {
	if b := r.bytes(1); b != nil {
		return int(b[0])
	}
	return 0
}

func (r *reader) uint32() int {
	if b := r.bytes(4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (r *reader) float64() float64 {
	if b := r.bytes(8); b != nil {
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
	return 0
}

func (r *reader) text() string { return string(r.bytes(r.uint8())) }

func (r *reader) floats(n int) []float32 {
	b := r.bytes(4 * n)
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return out
}

package knowledge

import (
	"encoding/binary"
	"math"
)

// Vectors are stored as 8-bit numbers with a scale. A block of them has for each passage with a vector its index in the block (2 bytes),
// the scale (4 bytes) and the numbers.

// vectorHead is how many bytes come before the numbers of a vector.
const vectorHead = 6

// VectorSize returns how many bytes a vector takes in a block.
func VectorSize(dimensions int) int { return vectorHead + dimensions }

// MaxDimensions is how many numbers a stored vector has at most.
const MaxDimensions = 1024

// Quantize returns the scale and the numbers of a vector: number times scale is about the original.
func Quantize(v []float32) (scale float32, numbers []byte) {
	var most float32
	for _, f := range v {
		most = max(most, float32(math.Abs(float64(f))))
	}
	numbers = make([]byte, len(v))
	if most == 0 {
		return 0, numbers
	}
	scale = most / 127
	for i, f := range v {
		numbers[i] = byte(int8(math.Round(float64(f / scale))))
	}
	return scale, numbers
}

// AppendVector appends a vector to those of a block. at is the index of its passage.
func AppendVector(data []byte, at int, scale float32, numbers []byte) []byte {
	data = binary.LittleEndian.AppendUint16(data, uint16(at))
	data = binary.LittleEndian.AppendUint32(data, math.Float32bits(scale))
	return append(data, numbers...)
}

// EachVector calls f for each vector of a block. The numbers are those of data.
func EachVector(data []byte, dimensions int, f func(at int, scale float32, numbers []byte)) error {
	size := vectorHead + dimensions
	if len(data)%size != 0 {
		return errBlock
	}
	for ; len(data) > 0; data = data[size:] {
		f(int(binary.LittleEndian.Uint16(data)), math.Float32frombits(binary.LittleEndian.Uint32(data[2:])), data[vectorHead:size])
	}
	return nil
}

// Unit returns a vector of length 1 with the same direction.
func Unit[F float32 | float64](v []F) []float32 {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	unit := make([]float32, len(v))
	if sum == 0 {
		return unit
	}
	length := math.Sqrt(sum)
	for i, f := range v {
		unit[i] = float32(float64(f) / length)
	}
	return unit
}

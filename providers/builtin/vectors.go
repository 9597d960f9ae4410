package builtin

import "math"

// normalize scales v to a unit vector in place. The zero vector, which stands for blank text, is unchanged.
func normalize(v []float32) []float32 {
	length := math.Sqrt(float64(dot(v, v)))
	if length == 0 {
		return v
	}
	return multiply(v, float32(1/length))
}

// multiply scales v by f in place.
func multiply(v []float32, f float32) []float32 {
	for i := range v {
		v[i] *= f
	}
	return v
}

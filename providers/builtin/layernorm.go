package builtin

import "math"

// layerNorm is a layer normalization: each row is normalized to mean 0 and variance 1, then scaled and shifted.
type layerNorm struct {
	scale, bias []float32
}

// newLayerNorm returns a layer normalization from the tensors below a name.
func newLayerNorm(t *tensors, name string, width int) layerNorm {
	return layerNorm{scale: t.vector(name+".scale", width), bias: t.vector(name+".bias", width)}
}

// apply normalizes each row of src on its own and writes it to dst. The rows follow
// each other without gaps.
func (n *layerNorm) apply(dst, src []float32, rows int) {
	width := len(n.scale)
	for r := range rows {
		n.row(dst[r*width:][:width], src[r*width:][:width])
	}
}

// row shifts a row to mean 0 and scales it to variance 1, then applies the trained
// scale and bias. epsilon is that of the training; it prevents a division by zero for
// constant rows.
func (n *layerNorm) row(dst, src []float32) {
	const epsilon = 1e-6
	var sum float32
	for _, v := range src {
		sum += v
	}
	mean := sum / float32(len(src))
	for i, v := range src {
		dst[i] = v - mean
	}
	variance := float64(dot(dst, dst)) / float64(len(dst))
	factor := float32(1 / math.Sqrt(variance+epsilon))
	scale, bias := n.scale[:len(dst)], n.bias[:len(dst)]
	for i, v := range dst {
		dst[i] = scale[i]*factor*v + bias[i]
	}
}

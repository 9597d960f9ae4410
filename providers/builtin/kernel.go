package builtin

const (
	tileRows  = 4  // input rows multiplied at once
	tileCols  = 16 // weight rows a tile multiplies at once; few enough to stay in the first-level cache
	tileUnits = 8  // the fast kernels take multiples of this length: eight floats are one AVX2 register
)

// tile holds the products of four input rows with sixteen weight rows, in the order the fast kernel finds them: weight
// rows two by two, and within such a pair input row by input row. tileAt gives the place.
type tile [tileRows * tileCols]float32

// tileAt returns the index in a tile of the product of an input row and a weight row
// (col). The products of two weight rows alternate, as the vector instructions write
// them.
func tileAt(row, col int) int { return col/2*(2*tileRows) + row*2 + col%2 }

// multiplyFour returns the inner products of w with four consecutive rows of x. The four sums are independent, so that the
// processor can compute them in parallel, and each weight is loaded once.
func multiplyFour(x, w []float32) [tileRows]float32 {
	n := len(w)
	x0, x1, x2, x3 := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
	var s0, s1, s2, s3 float32
	for i, v := range w {
		s0 += v * x0[i]
		s1 += v * x1[i]
		s2 += v * x2[i]
		s3 += v * x3[i]
	}
	return [tileRows]float32{s0, s1, s2, s3}
}

// dot returns the inner product of two vectors of the same length.
func dot(a, b []float32) float32 {
	b = b[:len(a)]
	if accelerated && len(a) > 0 && len(a)%tileUnits == 0 {
		return dotFast(&a[0], &b[0], len(a))
	}
	return dotPlain(a, b)
}

// addScaled adds f times x to y.
func addScaled(y, x []float32, f float32) {
	x = x[:len(y)]
	if accelerated && len(y) > 0 && len(y)%tileUnits == 0 {
		addScaledFast(&y[0], &x[0], f, len(y))
		return
	}
	addScaledPlain(y, x, f)
}

// dotPlain uses four sums, because with a single one every addition would wait for the previous one.
func dotPlain(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// addScaledPlain does in Go what addScaledFast does in assembly, for machines without
// its instructions and as the reference in its test.
func addScaledPlain(y, x []float32, f float32) {
	for i := range y {
		y[i] += f * x[i]
	}
}

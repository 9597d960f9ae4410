package builtin

const (
	tileRows  = 4  // input rows a tile multiplies at once
	tileCols  = 16 // weight rows a tile multiplies at once; few enough to stay in the first-level cache
	tileUnits = 8  // a row's length is a multiple of this: eight floats are one AVX2 register
)

// tile holds the products of four input rows with sixteen weight rows, in the order the kernel finds them: weight rows
// two by two, and within such a pair input row by input row. tileAt gives the place.
type tile [tileRows * tileCols]float32

func tileAt(row, col int) int { return col/2*(2*tileRows) + row*2 + col%2 }

// multiplyTile sets the products of four rows of x with sixteen rows of w, each n long.
func multiplyTile(out *tile, x []float32, w []byte, n int) {
	x, w = x[:tileRows*n], w[:tileCols*n] // the assembly does not check bounds
	if accelerated && n%tileUnits == 0 {
		multiplyTileFast(&out[0], &x[0], &w[0], n, tileCols/2)
		return
	}
	multiplyTilePlain(out, x, w, n)
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

func multiplyTilePlain(out *tile, x []float32, w []byte, n int) {
	for col := 0; col < tileCols; col += 2 {
		sums := out[tileAt(0, col):][:2*tileRows]
		multiplyPair(sums, x, w[col*n:(col+1)*n], w[(col+1)*n:(col+2)*n])
	}
}

// multiplyPair keeps eight sums in registers, so that each converted weight serves four input rows.
func multiplyPair(sums, x []float32, v, w []byte) {
	n := len(v)
	w = w[:n]
	x0, x1, x2, x3 := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
	var a0, a1, a2, a3, b0, b1, b2, b3 float32
	for i := range v {
		a, b := float32(int8(v[i])), float32(int8(w[i]))
		a0 += x0[i] * a
		b0 += x0[i] * b
		a1 += x1[i] * a
		b1 += x1[i] * b
		a2 += x2[i] * a
		b2 += x2[i] * b
		a3 += x3[i] * a
		b3 += x3[i] * b
	}
	copy(sums, []float32{a0, b0, a1, b1, a2, b2, a3, b3})
}

// dotPlain keeps four sums, because a single one would wait for itself at every step.
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

func addScaledPlain(y, x []float32, f float32) {
	for i := range y {
		y[i] += f * x[i]
	}
}

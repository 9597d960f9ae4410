package builtin

import (
	"math"
	"math/rand/v2"
	"testing"
)

func randomFloats(r *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func randomLinear(r *rand.Rand, in, out int) linear {
	m := matrix{rows: out, cols: in, scale: randomFloats(r, out), data: make([]byte, in*out)}
	for i := range m.data {
		m.data[i] = byte(r.IntN(256))
	}
	return linear{weight: m, bias: randomFloats(r, out)}
}

// expectNear allows for another order of adding up.
func expectNear(t *testing.T, what string, got, want []float32, size float64) {
	t.Helper()
	for i := range want {
		if math.Abs(float64(got[i]-want[i])) > 1e-6*size {
			t.Fatalf("%s: value %d is %g, want %g", what, i, got[i], want[i])
		}
	}
}

func skipUnlessAccelerated(t *testing.T) {
	t.Helper()
	if !accelerated {
		t.Skip("this processor has no fast kernels")
	}
}

func TestFastLinearEqualsPlain(t *testing.T) {
	t.Parallel()
	skipUnlessAccelerated(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][3]int{{8, 16, 4}, {24, 32, 8}, {256, 768, 12}, {1536, 512, 4}} {
		in, out, rows := size[0], size[1], size[2]
		l, x := randomLinear(r, in, out), randomFloats(r, rows*in)
		for _, add := range []bool{false, true} {
			fast := randomFloats(r, rows*out)
			plain := append([]float32(nil), fast...)
			l.applyFast(fast, x, rows, add)
			l.applyPlain(plain, x, rows, add)
			expectNear(t, "linear", fast, plain, 128*float64(in))
		}
	}
}

func TestFastVectorKernelsEqualPlain(t *testing.T) {
	t.Parallel()
	skipUnlessAccelerated(t)
	r := rand.New(rand.NewPCG(3, 4))
	for n := tileUnits; n <= 20*tileUnits; n += tileUnits {
		a, b := randomFloats(r, n), randomFloats(r, n)
		expectNear(t, "dot", []float32{dotFast(&a[0], &b[0], n)}, []float32{dotPlain(a, b)}, float64(n))
		fast, plain := append([]float32(nil), a...), append([]float32(nil), a...)
		addScaledFast(&fast[0], &b[0], 0.7, n)
		addScaledPlain(plain, b, 0.7)
		expectNear(t, "addScaled", fast, plain, 10)
	}
}

func TestVectorKernelsTakeAnyLength(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		a, b := randomFloats(r, n), randomFloats(r, n)
		var want float32
		sum := make([]float32, n)
		for i := range a {
			want += a[i] * b[i]
			sum[i] = a[i] + 2*b[i]
		}
		expectNear(t, "dot", []float32{dot(a, b)}, []float32{want}, 100)
		addScaled(a, b, 2)
		expectNear(t, "addScaled", a, sum, 10)
	}
}

// GODEBUG=cpu.avx2=off runs all tests on the plain kernels; this one checks them on every processor.
func TestPlainLinearEqualsDefinition(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	l, x := randomLinear(r, 40, 16), randomFloats(r, 4*40)
	want, got := make([]float32, 4*16), make([]float32, 4*16)
	for row := range 4 {
		for col := range 16 {
			sum := l.bias[col]
			for i, q := range l.weight.row(col) {
				sum += x[row*40+i] * float32(int8(q)) * l.weight.scale[col]
			}
			want[row*16+col] = sum
		}
	}
	l.applyPlain(got, x, 4, false)
	expectNear(t, "linear", got, want, 128*40)
}

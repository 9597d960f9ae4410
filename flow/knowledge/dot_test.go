package knowledge

import (
	"math/rand/v2"
	"testing"
)

// TestDot_is_exact compares the kernel with plain Go, for all lengths up to that of the longest vectors and for the largest numbers.
func TestDot_is_exact(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range MaxDimensions + 1 {
		a, b := make([]byte, n), make([]byte, n)
		var want int32
		for i := range a {
			a[i], b[i] = byte(rng.IntN(256)), byte(rng.IntN(256))
			if n%3 == 0 {
				a[i], b[i] = 128, 128 // -128, the largest products
			}
			want += int32(int8(a[i])) * int32(int8(b[i]))
		}
		if got := Dot(a, b); got != want {
			t.Fatalf("Dot of %d numbers is %d, want %d", n, got, want)
		}
		if got := dotPlain(a, b); got != want {
			t.Fatalf("dotPlain of %d numbers is %d, want %d", n, got, want)
		}
	}
}

func BenchmarkDot(b *testing.B) {
	x, y := make([]byte, 512), make([]byte, 512)
	for i := range x {
		x[i], y[i] = byte(i), byte(3*i)
	}
	for b.Loop() {
		Dot(x, y)
	}
}

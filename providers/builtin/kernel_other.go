//go:build !amd64

package builtin

// accelerated is false: other processors use the plain Go kernels, and the compiler drops the calls below.
const accelerated = false

// multiplyTileFast and the functions below exist in assembly only on amd64. Elsewhere
// accelerated is false, so they are never called.
func multiplyTileFast(out, x *float32, w *byte, n, pairs int) { panic("not on this platform") }

func dotFast(a, b *float32, n int) float32 { panic("not on this platform") }

func addScaledFast(y, x *float32, f float32, n int) { panic("not on this platform") }

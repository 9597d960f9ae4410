package builtin

import "golang.org/x/sys/cpu"

// accelerated is fixed at start. GODEBUG=cpu.avx2=off runs the plain kernels, for tests and measurements.
var accelerated = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// multiplyTileFast multiplies 4 consecutive rows of x with 2*pairs consecutive rows of w, all n long; n is a multiple of
// 8. The products are in the order of tile. It checks no bounds.
//
//go:noescape
func multiplyTileFast(out, x *float32, w *byte, n, pairs int)

// dotFast is dotPlain with AVX2 and FMA; n is a multiple of 8.
//
//go:noescape
func dotFast(a, b *float32, n int) float32

// addScaledFast is addScaledPlain with AVX2 and FMA; n is a multiple of 8.
//
//go:noescape
func addScaledFast(y, x *float32, f float32, n int)
